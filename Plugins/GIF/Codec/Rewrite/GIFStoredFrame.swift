internal import CoderPluginKit
internal import ImageModel
internal import Palettes

/// A frame as stored in the file, with its indices in the order of the rows.
struct GIFStoredFrame {
    let block: GIFBlock
    let rect: ChangedRect
    let disposal: Disposal
    /// The last graphic control in front of the image, from its first byte; nil without one.
    let control: [UInt8]?
    /// The positions of all graphic controls in front of the image.
    let controls: [Int]
    /// By index; 0 is transparent.
    let colors: [UInt32]
    let indices: [UInt8]

    /// The delay in 1/100 s.
    var delay: Int { control.map { Int($0[4]) | Int($0[5]) << 8 } ?? 0 }

    /// Draws the frame over a canvas.
    func draw(on canvas: inout [UInt32], width: Int) {
        // Access through the array would check on every store whether it is shared.
        var pixels = canvas.mutableSpan
        var number = 0
        for y in rect.rows {
            for place in y * width + rect.left...y * width + rect.right {
                let color = colors[Int(indices[number])]
                if color != ColorTable.transparent { pixels[place] = color }
                number += 1
            }
        }
    }
}

/// Unpacks the frames of a file, one after another.
struct GIFStoredFrameReader {
    private let session: RewriteSession
    private let canvas: PixelSize
    /// The global palette; nil if there is none.
    private let global: [UInt32]?
    private let lzw = LZWDecoder()
    private var control: [UInt8]?
    private var controls: [Int] = []
    private var count = 0

    init(_ session: RewriteSession, canvas: PixelSize, global: [UInt32]?) {
        (self.session, self.canvas, self.global) = (session, canvas, global)
    }

    /// Returns the opaque colors of a palette.
    static func colors(_ palette: Range<Int>, of source: ByteSource) -> [UInt32] {
        let bytes = source.bytes(palette)
        return stride(from: 0, to: bytes.count - 2, by: 3).map { place in
            0xFF00_0000 | UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2]) << 16
        }
    }

    /// Records a graphic control; false for one without delay and disposal.
    mutating func note(_ block: GIFBlock) -> Bool {
        guard block.range.count == 8 else { return false }
        let bytes = session.source.bytes(block.range.lowerBound..<block.range.lowerBound + 8)
        // Viewers differ on the disposals 4 … 7.
        guard bytes[2] == 4, bytes[3] >> 2 & 7 < 4 else { return false }
        control = bytes
        controls.append(block.range.lowerBound)
        return true
    }

    /// Returns the frame in an image block; nil if viewers may show it differently.
    ///
    /// - Throws: `.limitExceeded`.
    mutating func read(_ block: GIFBlock, flags: UInt8, dataOffset: Int) throws(CoderError) -> GIFStoredFrame? {
        defer { (control, controls) = (nil, []) }
        let limits = session.limits
        count += 1
        if limits.maxFrames > 0, count > limits.maxFrames {
            throw .limit("frames", allowed: limits.maxFrames, requested: count)
        }
        let head = session.source.bytes(block.range.lowerBound..<block.range.lowerBound + 10)
        func number(_ place: Int) -> Int { Int(head[place]) | Int(head[place + 1]) << 8 }
        let rect = PixelRect(x: number(1), y: number(3), width: number(5), height: number(7))
        let area = rect.width * rect.height
        if limits.maxPixels > 0, area > limits.maxPixels {
            throw .limit("pixels", allowed: limits.maxPixels, requested: area)
        }
        guard !rect.isEmpty, PixelRect(canvas).contains(rect), var colors = palette(flags, dataOffset),
            let stored = try lzw.indices(
                of: session.source, codeSizeAt: dataOffset, upTo: block.range.upperBound, count: area,
                host: session.host),
            Int(stored.max() ?? 0) < colors.count
        else { return nil }
        if let control, control[3] & 1 != 0, Int(control[6]) < colors.count { colors[Int(control[6])] = 0 }
        let disposal: Disposal = control.map { [.keep, .keep, .background, .previous][Int($0[3] >> 2 & 3)] } ?? .keep
        return GIFStoredFrame(
            block: block,
            rect: ChangedRect(
                left: rect.x, top: rect.y, right: rect.x + rect.width - 1, bottom: rect.y + rect.height - 1),
            disposal: disposal, control: control, controls: controls, colors: colors,
            indices: flags & 0x40 == 0 ? stored : Self.ordered(stored, width: rect.width))
    }

    private func palette(_ flags: UInt8, _ dataOffset: Int) -> [UInt32]? {
        let count = GIFFrame.paletteBytes(flags)
        return count == 0 ? global : Self.colors(dataOffset - count..<dataOffset, of: session.source)
    }

    /// Returns the rows of an interlaced image from top to bottom.
    private static func ordered(_ stored: [UInt8], width: Int) -> [UInt8] {
        let height = stored.count / width
        var result = stored
        var row = 0
        for (first, step) in GIFPainter.passes.map({ ($0.first, $0.step) }) {
            for y in stride(from: first, to: height, by: step) {
                result.replaceSubrange(y * width..<(y + 1) * width, with: stored[row * width..<(row + 1) * width])
                row += 1
            }
        }
        return result
    }
}
