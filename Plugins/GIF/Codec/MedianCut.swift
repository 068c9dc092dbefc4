/// Finds colours that stand for many: boxes of the colour cube are halved where they hold most of the error.
///
/// - Source: Heckbert, "Color image quantization for frame buffer display", 1982, with the split of the box chosen by
///   the sum of squares.
struct MedianCut {
    /// One of 32 × 32 × 32 cells, with what was counted in it.
    private struct Cell {
        var count = 0
        var sums = (0, 0, 0)

        func mean(_ axis: Int) -> Double {
            Double(axis == 0 ? sums.0 : axis == 1 ? sums.1 : sums.2) / Double(count)
        }
    }

    private struct Box {
        var cells: Range<Int>
        /// The axis along which the cells are spread most, and the squared error along all.
        var axis: Int
        var error: Double
    }

    private var cells = [Cell](repeating: Cell(), count: 1 << 15)

    init() {}

    /// Counts a colour, 0xRRGGBB.
    mutating func add(_ color: UInt32) {
        let (red, green, blue) = (Int(color >> 16 & 0xFF), Int(color >> 8 & 0xFF), Int(color & 0xFF))
        let index = Self.cell(of: color)
        cells[index].count += 1
        cells[index].sums.0 += red
        cells[index].sums.1 += green
        cells[index].sums.2 += blue
    }

    /// The cell of a colour: the upper five bits of each channel.
    static func cell(of color: UInt32) -> Int {
        let red = color >> 9 & 0x7C00
        let green = color >> 6 & 0x3E0
        return Int(red | green | color >> 3 & 0x1F)
    }

    /// At most `limit` colours, 0xRRGGBB.
    func palette(limit: Int) -> [UInt32] {
        var used = cells.filter { $0.count > 0 }
        if used.isEmpty { return [0] }
        var boxes = [Self.box(used[...])]
        while boxes.count < limit {
            guard let worst = boxes.indices.max(by: { boxes[$0].error < boxes[$1].error }), boxes[worst].error > 0
            else { break }
            let box = boxes[worst]
            used[box.cells].sort { $0.mean(box.axis) < $1.mean(box.axis) }
            let middle = Self.middle(used[box.cells], axis: box.axis)
            boxes[worst] = Self.box(used[box.cells.lowerBound..<middle])
            boxes.append(Self.box(used[middle..<box.cells.upperBound]))
        }
        return boxes.map { box in
            let count = used[box.cells].reduce(0) { $0 + $1.count }
            func mean(_ channel: (Cell) -> Int) -> UInt32 {
                UInt32((used[box.cells].reduce(0) { $0 + channel($1) } + count / 2) / count)
            }
            return mean { $0.sums.0 } << 16 | mean { $0.sums.1 } << 8 | mean { $0.sums.2 }
        }
    }

    /// The first cell of the upper half: the first whose colour is above the mean, never the first of all.
    private static func middle(_ cells: ArraySlice<Cell>, axis: Int) -> Int {
        let count = cells.reduce(0) { $0 + $1.count }
        let mean = cells.reduce(0.0) { $0 + $1.mean(axis) * Double($1.count) } / Double(count)
        let split = cells.firstIndex { $0.mean(axis) > mean } ?? cells.endIndex - 1
        return max(split, cells.startIndex + 1)
    }

    private static func box(_ cells: ArraySlice<Cell>) -> Box {
        var box = Box(cells: cells.startIndex..<cells.endIndex, axis: 0, error: 0)
        var largest = -1.0
        for axis in 0..<3 where cells.count > 1 {
            var (count, sum, squares) = (0.0, 0.0, 0.0)
            for cell in cells {
                let value = cell.mean(axis)
                count += Double(cell.count)
                sum += value * Double(cell.count)
                squares += value * value * Double(cell.count)
            }
            let error = max(0, squares - sum * sum / count)
            box.error += error
            if error > largest {
                largest = error
                box.axis = axis
            }
        }
        return box
    }
}
