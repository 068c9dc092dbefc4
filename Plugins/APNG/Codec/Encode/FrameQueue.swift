internal import CoderPluginKit
internal import ImageModel

/// Compressed frames on their way to the file.
///
/// The latest frame waits for what becomes of it. Before the first one is written, it must be known whether there is
/// a second, and whether all fit one palette; until then they wait together.
final class FrameQueue {
    /// Compressed bytes that may wait for the question of the palette.
    static let window = 16 << 20

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
        try host.reserve(bytes: frame.data.count)
        heldBytes += frame.data.count
        frames.append(frame)
        if isOpen { try write(all: false) }
    }

    /// Changes the latest frame.
    func updateLast(_ body: (inout EncodedFrame) -> Void) { body(&frames[frames.count - 1]) }

    /// Replaces the stream of a frame that waits.
    func replace(_ index: Int, data: [UInt8]) throws(CoderError) {
        let growth = data.count - frames[index].data.count
        try host.reserve(bytes: growth)
        heldBytes += growth
        frames[index].data = data
    }

    /// Writes what stands in front of the frames, and all of them but the latest.
    func open(_ preamble: [UInt8], plays: UInt32?) throws(CoderError) {
        isOpen = true
        try stream.begin(preamble, plays: plays)
        try write(all: false)
    }

    func write(imageData: [UInt8]) throws(CoderError) { try stream.write(imageData: imageData) }

    func finish() throws(CoderError) {
        try write(all: true)
        try stream.finish()
    }

    private func write(all: Bool) throws(CoderError) {
        let count = all ? frames.count : max(0, frames.count - 1)
        for frame in frames[..<count] {
            try stream.write(frame)
            heldBytes -= frame.data.count
            try host.reserve(bytes: -frame.data.count)
        }
        frames.removeFirst(count)
    }
}
