import ImageModel

/// Decodes frames in rising order although they are written in falling order.
///
/// Stepping back costs a replay from the last key frame. A block of frames is therefore decoded with one replay.
package struct FrameBlocks {
    /// The memory for the frames of a block.
    private static let bytes = 64 << 20

    private let frames: [FrameSelection.Frame]
    private let count: Int

    /// - Parameter bytesPerFrame: the memory of a decoded frame.
    package init(_ frames: [FrameSelection.Frame], bytesPerFrame: Int) {
        self.frames = frames
        let isFalling = zip(frames, frames.dropFirst()).contains { $0.index > $1.index }
        count = isFalling ? max(1, Self.bytes / max(1, bytesPerFrame)) : 1
    }

    /// Passes on every frame in the order of the selection.
    package func each<Image>(
        _ decode: (Int) throws(CoderError) -> Image,
        _ body: (Image, FrameSelection.Frame) throws(CoderError) -> Void
    ) throws(CoderError) {
        var rest = frames[...]
        while !rest.isEmpty {
            let block = rest.prefix(count)
            rest = rest.dropFirst(block.count)
            var images: [Image] = []
            for frame in block.reversed() { images.append(try decode(frame.index)) }
            for frame in block { try body(images.removeLast(), frame) }
        }
    }
}
