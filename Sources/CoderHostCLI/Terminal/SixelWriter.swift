import ImageModel

/// Writes images in the sixel format: columns of six pixels, color by color.
///
/// - Source: DEC STD 070, 9 (sixel graphics): `#` selects a color, `!` repeats, `$` goes back, `-` goes down.
struct SixelWriter: ImageWriter {
    /// The number of color registers of the terminal.
    let registers: Int

    func draw(_ raster: Raster, column: Int, row: Int, into out: inout [UInt8]) {
        let palette = SixelPalette(raster, count: registers)
        out.addMove(column: column, row: row)
        // Parameters: square pixels; unpainted pixels keep their color.
        out.add("\u{1B}P0;1;0q\"1;1;\(raster.width);\(raster.height)")
        for (index, color) in palette.colors.enumerated() {
            // Sixel colors are percentages.
            func part(_ value: Int32) -> Int { (Int(value) * 100 + 127) / 255 }
            out.add("#\(index);2;\(part(color.x));\(part(color.y));\(part(color.z))")
        }
        var bands = SixelBands(palette.indices, raster.width, raster.height)
        out.reserveCapacity(out.count + raster.width * raster.height * 2)
        for top in stride(from: 0, to: raster.height, by: 6) {
            if top > 0 { out.append(UInt8(ascii: "-")) }
            bands.write(top, &out)
        }
        out.add("\u{1B}\\")
    }

    func erase(into out: inout [UInt8]) {}
}

/// Bands of six pixel rows, sorted by color in one pass.
private struct SixelBands {
    private let indices: [UInt8]
    private let width: Int
    private let height: Int
    /// For each color, the first and last index into `columns`; 0 means none.
    private var first = [Int32](repeating: 0, count: 256)
    private var last = [Int32](repeating: 0, count: 256)
    /// For each entry: x position, six bits, and the next entry of the same color. Indices begin at 1.
    private var columns: [(x: Int32, bits: UInt8, next: Int32)]
    private var used: [UInt8] = []

    init(_ indices: [UInt8], _ width: Int, _ height: Int) {
        self.indices = indices
        self.width = width
        self.height = height
        columns = Array(repeating: (0, 0, 0), count: width * 6 + 1)
    }

    mutating func write(_ top: Int, _ out: inout [UInt8]) {
        sort(top, min(6, height - top))
        for (position, color) in used.enumerated() {
            if position > 0 { out.append(UInt8(ascii: "$")) }
            out.append(UInt8(ascii: "#"))
            out.add(Int(color))
            emit(color, &out)
            first[Int(color)] = 0
        }
        used.removeAll(keepingCapacity: true)
    }

    private mutating func sort(_ top: Int, _ rows: Int) {
        var count: Int32 = 0
        let start = top * width
        let all: UInt8 = (1 << UInt8(rows)) - 1
        for x in 0..<width {
            var left = all
            while left != 0 {
                let row = left.trailingZeroBitCount
                let color = indices[start &+ row &* width &+ x]
                var bits: UInt8 = 1 &<< UInt8(truncatingIfNeeded: row)
                var below = row &+ 1
                while below < rows {
                    if indices[start &+ below &* width &+ x] == color {
                        bits |= 1 &<< UInt8(truncatingIfNeeded: below)
                    }
                    below &+= 1
                }
                left &= ~bits
                count &+= 1
                columns[Int(count)] = (Int32(truncatingIfNeeded: x), bits, 0)
                if first[Int(color)] == 0 {
                    first[Int(color)] = count
                    used.append(color)
                } else {
                    columns[Int(last[Int(color)])].next = count
                }
                last[Int(color)] = count
            }
        }
    }

    /// Writes the columns of one color, with run lengths for gaps and repetitions.
    private func emit(_ color: UInt8, _ out: inout [UInt8]) {
        var at = first[Int(color)]
        var end: Int32 = 0
        while at != 0 {
            let (x, bits, next) = columns[Int(at)]
            if x > end { Self.run(0, Int(x &- end), &out) }
            var length: Int32 = 1
            at = next
            while at != 0, columns[Int(at)].x == x &+ length, columns[Int(at)].bits == bits {
                length &+= 1
                at = columns[Int(at)].next
            }
            Self.run(bits, Int(length), &out)
            end = x &+ length
        }
    }

    private static func run(_ bits: UInt8, _ count: Int, _ out: inout [UInt8]) {
        let letter = bits &+ 63
        // For short runs, the plain characters are shorter than a repeat count.
        if count < 4 {
            for _ in 0..<count { out.append(letter) }
            return
        }
        out.append(UInt8(ascii: "!"))
        out.add(count)
        out.append(letter)
    }
}
