internal import CoderPluginKit
internal import ImageModel

/// Turns the codes of one frame into the pixels of a surface.
struct GIFFrameDecoder {
    private let source: ByteSource
    private let host: HostServices
    private let frame: GIFFrame
    private let isFirst: Bool
    /// RGBA in memory order, by index.
    private let colors: [UInt32]

    private static let black = UInt32(0xFF00_0000).littleEndian

    /// - Parameter isFirst: whether there is nothing to show without this frame.
    init(source: ByteSource, host: HostServices, frame: GIFFrame, isFirst: Bool) {
        self.isFirst = isFirst
        self.source = source
        self.host = host
        self.frame = frame
        colors = Self.colors(of: frame, in: source)
    }

    /// - Throws: `.corrupt` and `.truncated` after everything that could be read is in the surface.
    func decode(into surface: borrowing Surface) throws(CoderError) {
        let end = frame.dataEnd ?? source.available
        guard var lzw = LZWDecoder(minimumCodeSize: source[frame.dataOffset]) else {
            throw .corrupt("the code size of the frame is none", at: frame.dataOffset)
        }
        let (width, height) = (surface.size.width, surface.size.height)
        let rowsAtOnce = min(height, max(1, min(64, (1 << 16) / width)))
        let wanted = rowsAtOnce * width
        var pixels = [UInt8](repeating: 0, count: wanted + LZWDecoder.longestString)
        var count = 0
        var row = 0
        var outcome = LZWDecoder.Outcome.filled
        while row < height, outcome == .filled {
            try host.checkCancellation()
            let goal = min(wanted, (height - row) * width)
            outcome = source.withBytes(frame.dataOffset + 1..<end) { blocks in
                lzw.fill(&pixels, count: &count, wanted: goal, from: blocks)
            }
            var used = 0
            while used + width <= count, row < height {
                write(pixels.span.extracting(used..<used + width), toRow: row, of: surface)
                used += width
                row += 1
            }
            if outcome != .filled, row < height {
                write(pixels.span.extracting(used..<count), toRow: row, of: surface)
                for missing in row + 1..<max(row + 1, height) {
                    write(pixels.span.extracting(0..<0), toRow: missing, of: surface)
                }
                try report(outcome, isEmpty: row == 0 && used == count)
                return
            }
            let rest = count - used
            for index in 0..<rest { pixels[index] = pixels[used + index] }
            count = rest
        }
    }

    private func report(_ outcome: LZWDecoder.Outcome, isEmpty: Bool) throws(CoderError) {
        switch outcome {
        case .cut: throw .truncated()
        case .invalid where isFirst:
            throw .corrupt("the compressed data holds a code without meaning", at: frame.dataOffset)
        case .ended where isEmpty: throw .corrupt("the frame has no pixels", at: frame.dataOffset)
        // One broken picture does not make the others of an animation useless.
        case .invalid: host.warn("a frame holds a code without meaning; the rest of it is transparent")
        case .ended, .filled: host.warn("a frame has fewer pixels than it says; the rest is transparent")
        }
    }

    /// Writes indices as colours to the row that comes `order`-th; where indices are missing, nothing.
    private func write(_ indices: Span<UInt8>, toRow order: Int, of surface: borrowing Surface) {
        let isRGB = surface.format == .rgb8
        let width = surface.size.width
        surface.withMutableRow(place(ofRow: order)) { row in
            let colors = colors.span
            if isRGB {
                for x in 0..<width {
                    let color = x < indices.count ? colors[Int(indices[x])] : Self.black
                    let value = UInt32(littleEndian: color)
                    row.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: 3 * x, as: UInt8.self)
                    row.storeBytes(of: UInt8(truncatingIfNeeded: value >> 8), toByteOffset: 3 * x + 1, as: UInt8.self)
                    row.storeBytes(of: UInt8(truncatingIfNeeded: value >> 16), toByteOffset: 3 * x + 2, as: UInt8.self)
                }
                return
            }
            for x in 0..<indices.count {
                row.storeBytes(of: colors[Int(indices[x])], toByteOffset: 4 * x, as: UInt32.self)
            }
            for x in indices.count..<width { row.storeBytes(of: 0, toByteOffset: 4 * x, as: UInt32.self) }
        }
    }

    /// Where the row stands that comes `order`-th in the data: every 8th from 0, every 8th from 4, every 4th from 2,
    /// every 2nd from 1 (appendix E).
    private func place(ofRow order: Int) -> Int {
        guard frame.isInterlaced else { return order }
        let height = frame.rect.height
        var order = order
        for (first, step) in [(0, 8), (4, 8), (2, 4)] {
            let count = (height - first + step - 1) / step
            if order < count { return first + order * step }
            order -= max(0, count)
        }
        return 1 + order * 2
    }

    private static func colors(of frame: GIFFrame, in source: ByteSource) -> [UInt32] {
        // An index behind the palette is black. Without any palette: black, white, then grays (section 19 leaves it
        // to the decoder and asks for these two first).
        var colors = [UInt32](repeating: black, count: 256)
        if let palette = frame.palette {
            for (index, place) in stride(from: palette.lowerBound, to: palette.upperBound, by: 3).enumerated() {
                colors[index] = color(source[place], source[place + 1], source[place + 2])
            }
        } else {
            for index in 1..<256 { colors[index] = color(gray: index == 1 ? 255 : UInt8(index)) }
        }
        if let index = frame.transparentIndex { colors[Int(index)] = 0 }
        return colors
    }

    private static func color(gray: UInt8) -> UInt32 { color(gray, gray, gray) }

    private static func color(_ red: UInt8, _ green: UInt8, _ blue: UInt8) -> UInt32 {
        (UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | 0xFF00_0000).littleEndian
    }
}
