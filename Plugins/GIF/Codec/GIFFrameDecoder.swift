internal import CoderPluginKit
internal import ImageModel

/// Decodes one frame into the pixels of a surface, as far as its codes have arrived.
final class GIFFrameDecoder {
    /// The frame to decode, and its settings.
    struct Target {
        var frame: GIFFrame
        /// The position of its colors; nil if there is no palette.
        var palette: Range<Int>?
        /// Whether the image cannot be shown without this frame.
        var isFirst: Bool
        /// The fill color of pixels that the compressed data lacks.
        var rest: Rest
        /// Whether rows of an interlaced image fill the rows below them until those arrive.
        var isCoarse: Bool
    }

    /// How to fill missing pixels.
    enum Rest {
        /// Keep the pixels of the surface.
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

    /// Whether this decode began in this surface.
    func isFilling(_ surface: borrowing Surface) -> Bool { painter.isPainting(surface) }

    /// - Parameter end: the end of the frame's data; nil if it may not have arrived.
    /// - Throws: `.corrupt` and `.truncated`, after all readable pixels are in the surface.
    func decode(
        into surface: borrowing Surface, upTo end: Int?, wantsPartial: Bool
    ) throws(CoderError) -> DecodeOutcome {
        // Keep this order: the last bytes may arrive between the two checks.
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
            if target.isFirst { throw .corrupt("the compressed data has an undefined code", at: place) }
            // One damaged image does not make the rest of an animation useless.
            host.warn("a frame has an undefined code; the rest of the frame is not drawn")
            return
        }
        if painter.isUntouched { throw .corrupt("the frame has no pixels", at: place) }
        host.warn("a frame has fewer pixels than declared; the rest is not drawn")
    }

    /// The colors as 0xAABBGGRR, by index.
    ///
    /// An index behind the palette is black. Without a palette: black, white, then grays (section 19 leaves it to the
    /// decoder and requires these two first).
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
