internal import CoderPluginKit
internal import ImageModel

/// Reads the headers of the shown frames in order, without decoding pixels.
final class FrameWalk {
    private let source: ByteSource
    private let stream: JXLStream
    private let header: JXLHeader
    private var ticks: [UInt32] = []
    /// The duration of a frame whose end has not been read.
    private var pending: UInt32?
    private var isAtEnd = false

    /// The number of frames read so far.
    var count: Int { ticks.count }

    init(_ session: DecoderSession, _ header: JXLHeader) throws(CoderError) {
        source = session.source
        stream = try JXLStream(session.source, session.host, .frames)
        self.header = header
    }

    /// Reads the header of the next frame; false if there is none.
    ///
    /// Frames after the first one count when all of their bytes have arrived.
    ///
    /// - Throws: `.needsInput` if it has not arrived; the call can be repeated.
    func advance() throws(CoderError) -> Bool {
        while !isAtEnd {
            switch try stream.next() {
            case .frame:
                let frame = try stream.frame()
                let ended = pending
                pending = nil
                if let ended { ticks.append(ended) }
                if ticks.isEmpty { ticks.append(frame.ticks) } else { pending = frame.ticks }
                if ended != nil || ticks.count == 1 { return true }
            case .end: isAtEnd = true
            default: continue
            }
        }
        guard let last = pending else { return false }
        // The library does not wait for the bytes of the last frame.
        if !source.isComplete { throw .needsInput }
        pending = nil
        ticks.append(last)
        return true
    }

    /// The duration of a frame that was read.
    func duration(of index: Int) -> FrameDuration { header.duration(ticks[index]) }
}
