internal import CoderPluginKit
internal import ImageModel

/// Reads the headers of the shown frames in order, without decoding pixels.
final class FrameWalk {
    private let stream: JXLStream
    private let header: JXLHeader
    private var ticks: [UInt32] = []
    private var isAtEnd = false

    /// The number of frames read so far.
    var count: Int { ticks.count }

    init(_ session: DecoderSession, _ header: JXLHeader) throws(CoderError) {
        stream = try JXLStream(session.source, session.host, .frames)
        self.header = header
    }

    /// Reads the header of the next frame; false if there is none.
    ///
    /// - Throws: `.needsInput` if it has not arrived; the call can be repeated.
    func advance() throws(CoderError) -> Bool {
        if isAtEnd { return false }
        while true {
            switch try stream.next() {
            case .frame:
                let frame = try stream.frame()
                ticks.append(frame.ticks)
                isAtEnd = frame.isLast
                return true
            case .end:
                isAtEnd = true
                return false
            default: continue
            }
        }
    }

    /// The duration of a frame that was read.
    func duration(of index: Int) -> FrameDuration { header.duration(ticks[index]) }
}
