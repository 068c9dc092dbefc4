internal import CoderPluginKit
internal import ImageModel

/// Compressed frames that wait to be written.
///
/// The latest frame waits until its disposal is known. The first frame also waits until two facts are known: whether
/// there is a second frame, and whether one palette fits all frames.
final class FrameQueue {
    /// The limit of compressed bytes that may wait for the palette decision.
    static let window = 8 << 20
    /// The approximate memory of a waiting frame besides its bytes.
    private static let overhead = 128

    private let stream: APNGStream
    private let host: HostServices
    private(set) var frames: [EncodedFrame] = []
    private(set) var isOpen = false
    private(set) var heldBytes = 0

    init(_ sink: ByteSink, host: HostServices) {
        stream = APNGStream(sink)
        self.host = host
    }

    /// Adds the latest frame; an open queue writes the frames before it.
    func append(_ frame: EncodedFrame) throws(CoderError) {
        try hold(frame.data.count + Self.overhead)
        frames.append(frame)
        if isOpen { try write(upTo: frames.count - 1) }
    }

    /// Changes the latest frame.
    func updateLast(_ body: (inout EncodedFrame) -> Void) { body(&frames[frames.count - 1]) }

    /// Replaces the stream of a waiting frame.
    func replace(_ index: Int, data: [UInt8]) throws(CoderError) {
        try hold(data.count - frames[index].data.count)
        frames[index].data = data
    }

    /// Writes the chunks in front of the frames, and all frames except the latest.
    ///
    /// - Parameter convert: creates new streams for the waiting frames.
    func open(
        _ preamble: [UInt8], plays: UInt32?, converting convert: ((EncodedFrame) throws(CoderError) -> [UInt8])? = nil
    ) throws(CoderError) {
        isOpen = true
        try stream.begin(preamble, plays: plays)
        guard let convert else { return try write(upTo: frames.count - 1) }
        // One at a time: true color may take several times the bytes of a palette.
        for index in frames.indices {
            try replace(index, data: convert(frames[index]))
            if index == frames.count - 1 { break }
            try stream.write(frames[index])
            try replace(index, data: [])
        }
        let written = frames.count - 1
        try hold(-written * Self.overhead)
        frames.removeFirst(written)
    }

    func write(imageData: [UInt8]) throws(CoderError) { try stream.write(imageData: imageData) }

    func finish() throws(CoderError) {
        try write(upTo: frames.count)
        try stream.finish()
    }

    private func write(upTo end: Int) throws(CoderError) {
        guard end > 0 else { return }
        for frame in frames[..<end] {
            try stream.write(frame)
            try hold(-frame.data.count - Self.overhead)
        }
        frames.removeFirst(end)
    }

    /// Counts memory that the queue takes or frees.
    private func hold(_ bytes: Int) throws(CoderError) {
        try host.reserve(bytes: bytes)
        heldBytes += bytes
    }
}
