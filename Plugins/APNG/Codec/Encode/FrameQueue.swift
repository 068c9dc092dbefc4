internal import CoderPluginKit
internal import ImageModel

/// Compressed frames on their way to the file.
///
/// The latest frame waits for what becomes of it. Before the first one is written, it must be known whether there is
/// a second, and whether all fit one palette; until then they wait together.
final class FrameQueue {
    /// Compressed bytes that may wait for the question of the palette.
    static let window = 8 << 20
    /// What a waiting frame takes beside its bytes, roughly.
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

    /// Adds the latest frame; an open queue writes those before it.
    func append(_ frame: EncodedFrame) throws(CoderError) {
        try hold(frame.data.count + Self.overhead)
        frames.append(frame)
        if isOpen { try write(upTo: frames.count - 1) }
    }

    /// Changes the latest frame.
    func updateLast(_ body: (inout EncodedFrame) -> Void) { body(&frames[frames.count - 1]) }

    /// Replaces the stream of a frame that waits.
    func replace(_ index: Int, data: [UInt8]) throws(CoderError) {
        try hold(data.count - frames[index].data.count)
        frames[index].data = data
    }

    /// Writes what stands in front of the frames, and all of them but the latest.
    ///
    /// - Parameter convert: makes the streams anew of the frames that waited.
    func open(
        _ preamble: [UInt8], plays: UInt32?, converting convert: ((EncodedFrame) throws(CoderError) -> [UInt8])? = nil
    ) throws(CoderError) {
        isOpen = true
        try stream.begin(preamble, plays: plays)
        guard let convert else { return try write(upTo: frames.count - 1) }
        // One at a time: true colour may take several times the bytes of a palette.
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

    /// Counts memory that is taken, or given back.
    private func hold(_ bytes: Int) throws(CoderError) {
        try host.reserve(bytes: bytes)
        heldBytes += bytes
    }
}
