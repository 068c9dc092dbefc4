internal import CoderPluginKit
internal import ImageModel

/// Turns the codes of one frame into the pixels of a surface, as far as they have arrived.
final class GIFFrameDecoder {
    /// What is decoded, and how.
    struct Target {
        var frame: GIFFrame
        /// Where its colours stand; nil when there are none.
        var palette: Range<Int>?
        /// Whether there is nothing to show without this frame.
        var isFirst: Bool
        /// What stands for pixels that the compressed data lacks.
        var rest: Rest
        /// Whether rows of an interlaced picture stand for those below them until these come.
        var isCoarse: Bool
    }

    /// What stands for missing pixels.
    enum Rest {
        /// The pixels that are in the surface already.
        case kept
        case transparent
        /// Black: the header may have declared that the image is opaque.
        case opaque
    }

    private let source: ByteSource
    private let host: HostServices
    private let target: Target
    private let lzw: LZWDecoder
    private let painter: GIFPainter

    private static let black: UInt32 = 0xFF00_0000

    init(
        _ target: Target, source: ByteSource, host: HostServices, lzw: LZWDecoder, _ surface: borrowing Surface
    ) throws(CoderError) {
        self.source = source
        self.host = host
        self.target = target
        self.lzw = lzw
        let frame = target.frame
        painter = GIFPainter(
            Self.colors(target, in: source), on: surface, isInterlaced: frame.isInterlaced, isCoarse: target.isCoarse)
        try lzw.begin(
            minimumCodeSize: source[frame.dataOffset], offset: frame.dataOffset + 1, pixelCount: painter.left,
            host: host)
    }

    /// Whether this decode was begun in this surface.
    func isFilling(_ surface: borrowing Surface) -> Bool { painter.isPainting(surface) }

    /// - Parameter end: behind the data of the frame; nil when it is not known to be there.
    /// - Throws: `.corrupt` and `.truncated` after everything that could be read is in the surface.
    func decode(
        into surface: borrowing Surface, upTo end: Int?, wantsPartial: Bool
    ) throws(CoderError) -> DecodeOutcome {
        // Asked in this order: the last bytes may arrive between the two questions.
        let isComplete = end != nil || source.isComplete
        let end = end ?? source.available
        painter.forgetChanges()
        while painter.left > 0 {
            try host.checkCancellation()
            let outcome = lzw.fill(from: source, upTo: end, wanted: painter.left)
            painter.paint(lzw, into: surface)
            switch outcome {
            case .more: continue
            case .cut:
                if isComplete, target.rest != .kept { painter.clearRest(of: surface, keepsCoarse: true) }
                if wantsPartial, !painter.changed.isEmpty { return .partial(painter.changed) }
                throw isComplete ? .truncated() : .needsInput
            case .ended, .invalid:
                try report(outcome)
                if target.rest != .kept {
                    painter.clearRest(of: surface, to: target.rest == .opaque ? Self.black : 0, keepsCoarse: false)
                }
                return .complete
            }
        }
        return .complete
    }

    private func report(_ outcome: LZWDecoder.Outcome) throws(CoderError) {
        let place = target.frame.dataOffset
        if outcome == .invalid {
            if target.isFirst { throw .corrupt("the compressed data holds a code without meaning", at: place) }
            // One broken picture does not make the others of an animation useless.
            host.warn("a frame holds a code without meaning; the rest of it is not drawn")
            return
        }
        if painter.isUntouched { throw .corrupt("the frame has no pixels", at: place) }
        host.warn("a frame has fewer pixels than it says; the rest is not drawn")
    }

    /// 0xAABBGGRR, by index.
    ///
    /// An index behind the palette is black. Without any palette: black, white, then grays (section 19 leaves it to the
    /// decoder and asks for these two first).
    private static func colors(_ target: Target, in source: ByteSource) -> [UInt32] {
        var colors = [UInt32](repeating: black, count: 256)
        if let palette = target.palette {
            source.withBytes(palette) { bytes in
                for index in 0..<bytes.byteCount / 3 {
                    let (red, green) = (UInt32(bytes.byte(at: 3 * index)), UInt32(bytes.byte(at: 3 * index + 1)))
                    colors[index] = black | red | green << 8 | UInt32(bytes.byte(at: 3 * index + 2)) << 16
                }
            }
        } else {
            for index in 1..<256 { colors[index] = black | 0x01_0101 * UInt32(index == 1 ? 255 : index) }
        }
        if let index = target.frame.control.transparentIndex { colors[Int(index)] = 0 }
        return colors
    }
}
