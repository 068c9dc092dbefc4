import Glibc
import HostSystem
package import ImageModel

/// The part of an image that a crop keeps.
public enum CropPosition: String, Sendable, Hashable, CaseIterable {
    /// The middle.
    case center
    /// The part with the strongest edges and colors, and with skin tones.
    case attention
    /// The part with the most distinct shades.
    case entropy
    /// The middle of the top edge.
    case north
    /// The top right corner.
    case northeast
    /// The middle of the right edge.
    case east
    /// The bottom right corner.
    case southeast
    /// The middle of the bottom edge.
    case south
    /// The bottom left corner.
    case southwest
    /// The middle of the left edge.
    case west
    /// The top left corner.
    case northwest

    /// Creates the position at an edge, at a corner or in the middle.
    package init(_ gravity: Gravity) { self = CropPosition(rawValue: gravity.rawValue) ?? .center }

    /// The edge or corner; nil for a position that depends on the content.
    package var gravity: Gravity? { Gravity(rawValue: rawValue) }

    /// Returns the part to keep when an image is cropped to `size`.
    ///
    /// The analysis uses 8-bit gray or RGB; other formats are converted first.
    /// - Throws: `.unsupportedFeature` for float samples, `.outOfMemory`.
    package func window(in buffer: PixelBuffer, size: PixelSize) throws(CoderError) -> PixelRect {
        let size = PixelSize(min(size.width, buffer.size.width), min(size.height, buffer.size.height))
        let room = PixelSize(buffer.size.width - size.width, buffer.size.height - size.height)
        let middle = (gravity ?? .center).place(size, in: buffer.size)
        if gravity != nil || room == .zero { return middle }
        let map = InterestMap(try PixelConverter.convert(buffer, to: .rgba8), of: self)
        // One side at a time: after scaling to cover a box, only one side exceeds it.
        let x = map.best(map.columns, keeping: size.width) ?? middle.x
        let y = map.best(map.rows, keeping: size.height) ?? middle.y
        return PixelRect(x: x, y: y, width: size.width, height: size.height)
    }
}

/// A measure of detail for every column and row.
private struct InterestMap {
    var columns: [Double]
    var rows: [Double]

    init(_ pixels: PixelBuffer, of kind: CropPosition) {
        let size = pixels.size
        columns = [Double](repeating: 0, count: size.width)
        rows = [Double](repeating: 0, count: size.height)
        if kind == .entropy { measureShades(pixels) } else { measureAttention(pixels) }
    }

    /// Returns the start of the part with the most detail, the closest to the middle if tied; nil if all parts are
    /// equal.
    func best(_ interest: [Double], keeping length: Int) -> Int? {
        let room = interest.count - length
        if room <= 0 { return 0 }
        var sum = interest[..<length].reduce(0, +)
        var best = (start: 0, sum: sum)
        var least = sum
        for start in 1...room {
            sum += interest[start + length - 1] - interest[start - 1]
            least = min(least, sum)
            let isNearer = abs(2 * start - room) < abs(2 * best.start - room)
            if sum > best.sum * 1.000001 || sum >= best.sum * 0.999999 && isNearer { best = (start, sum) }
        }
        return best.sum - least <= best.sum * 0.000001 ? nil : best.start
    }

    /// Records the distinct shades of each row and column as bit sets.
    private mutating func measureShades(_ pixels: PixelBuffer) {
        let size = pixels.size
        var columnCounts = [UInt32](repeating: 0, count: size.width * 32)
        for y in 0..<size.height {
            pixels.withRow(y) { row in
                var counts = [UInt32](repeating: 0, count: 32)
                for x in 0..<size.width {
                    let shade = Int(Self.luma(row, x)) >> 3
                    counts[shade] += 1
                    columnCounts[x * 32 + shade] += 1
                }
                rows[y] = Self.entropy(counts[...], size.width)
            }
        }
        for x in 0..<size.width { columns[x] = Self.entropy(columnCounts[x * 32..<x * 32 + 32], size.height) }
    }

    private static func entropy(_ counts: ArraySlice<UInt32>, _ total: Int) -> Double {
        counts.reduce(0) { sum, count in
            if count == 0 { return sum }
            let share = Double(count) / Double(total)
            return sum - share * log(share)
        }
    }

    private mutating func measureAttention(_ pixels: PixelBuffer) {
        let size = pixels.size
        var above = [Int](repeating: 0, count: size.width)
        var current = above
        for y in 0..<size.height {
            pixels.withRow(y) { row in
                for x in 0..<size.width { current[x] = Int(Self.luma(row, x)) }
                if y == 0 { above = current }
                for x in 0..<size.width {
                    let left = x > 0 ? current[x - 1] : current[x]
                    let edge = Double(abs(current[x] - left) + abs(current[x] - above[x]))
                    let interest = edge + Self.colorfulness(row, x)
                    columns[x] += interest
                    rows[y] += interest
                }
                swap(&above, &current)
            }
        }
    }

    /// Returns the saturation, increased for skin hues.
    private static func colorfulness(_ row: RawSpan, _ x: Int) -> Double {
        let (red, green, blue) = (
            Double(row.byte(at: 4 * x)), Double(row.byte(at: 4 * x + 1)), Double(row.byte(at: 4 * x + 2))
        )
        let most = max(red, green, blue)
        if most < 40 || row.byte(at: 4 * x + 3) < 32 { return 0 }
        let saturation = (most - min(red, green, blue)) / most
        // The color shares of skin, light or dark, are close to these values.
        let sum = red + green + blue
        let (r, g) = (red / sum - 0.44, green / sum - 0.32)
        let skin = max(0, 1 - (r * r + g * g) / 0.005)
        return 24 * saturation + 40 * skin
    }

    private static func luma(_ row: RawSpan, _ x: Int) -> UInt32 {
        let (red, green, blue) = (
            UInt32(row.byte(at: 4 * x)), UInt32(row.byte(at: 4 * x + 1)), UInt32(row.byte(at: 4 * x + 2))
        )
        return (red * 54 + green * 183 + blue * 19) >> 8
    }
}
