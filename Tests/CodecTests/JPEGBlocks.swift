import ImageModel

/// Transforms the blocks and samples of an image.
enum JPEGBlocks {
    /// Moves an element to its position in the transformed image.
    static func moved<Element>(_ rows: [[Element]], _ transform: Orientation) -> [[Element]] {
        let size = PixelSize(rows.first?.count ?? 0, rows.count)
        let result = transform.applied(to: size)
        return (0..<result.height).map { y in
            (0..<result.width).map { x in
                let place = transform.source(x: x, y: y, in: size)
                return rows[place.y][place.x]
            }
        }
    }

    /// Moves blocks and transforms each: waves that are odd in a reversed direction change their sign.
    static func turned(_ rows: [[[Int16]]], _ transform: Orientation) -> [[[Int16]]] {
        let corner = transform.source(x: 0, y: 0, in: PixelSize(2, 2))
        let signs = (0..<64).map { place -> Int16 in
            let isNegative = (place % 2 == 1 && corner.x == 1) != (place / 8 % 2 == 1 && corner.y == 1)
            return isNegative ? -1 : 1
        }
        return moved(rows, transform).map { row in
            row.map { block in
                let signed = zip(block, signs).map { $0 * $1 }
                return transform.swapsSides ? transposed(signed) : signed
            }
        }
    }

    /// A block or a table with rows and columns exchanged.
    static func transposed<Element>(_ block: [Element]) -> [Element] { (0..<64).map { block[$0 % 8 * 8 + $0 / 8] } }

    /// The samples of blocks before rounding, row by row.
    ///
    /// - Source: ITU-T T.81 A.3.3, in floating point.
    static func samples(_ rows: [[[Int16]]], _ table: [UInt16]) -> [[Double]] {
        var samples: [[Double]] = []
        for row in rows {
            var lines = [[Double]](repeating: [], count: 8)
            for block in row {
                for (y, line) in self.samples(block, table).enumerated() { lines[y] += line }
            }
            samples += lines
        }
        return samples
    }

    private static func samples(_ block: [Int16], _ table: [UInt16]) -> [[Double]] {
        var samples = [[Double]](repeating: [Double](repeating: 0, count: 8), count: 8)
        for place in 0..<64 where block[place] != 0 {
            let value = Double(block[place]) * Double(table[place])
            for y in 0..<8 {
                let down = value * wave(place / 8, at: y)
                for x in 0..<8 { samples[y][x] += down * wave(place % 8, at: x) }
            }
        }
        return samples
    }

    private static func wave(_ number: Int, at place: Int) -> Double {
        let scale = number == 0 ? 0.353553390593273762 : 0.5
        return scale * cosine((2 * place + 1) * number)
    }

    /// The cosine of a multiple of a sixteenth of a half turn.
    private static func cosine(_ sixteenths: Int) -> Double {
        let place = sixteenths % 32
        let mirrored = place > 16 ? 32 - place : place
        return mirrored > 8 ? -firstQuarter[16 - mirrored] : firstQuarter[mirrored]
    }

    private static let firstQuarter = [
        1, 0.980785280403230449, 0.923879532511286756, 0.831469612302545237, 0.707106781186547524,
        0.555570233019602224, 0.382683432365089771, 0.195090322016128267, 0,
    ]
}
