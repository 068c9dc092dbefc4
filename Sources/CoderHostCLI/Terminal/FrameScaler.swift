import CoderHost
import ImageModel
import ImageProcessing

/// Scales images by area averaging and draws them on a backdrop.
///
/// Alpha weights the colors. The averages use stored values, without color management.
struct FrameScaler {
    let source: PixelSize
    let target: PixelSize
    let backdrop: Backdrop
    /// The side of a checkerboard square in pixels.
    let square: Int
    private var row: [UInt8]
    /// The current target row: color times alpha, and alpha.
    private var sums: [SIMD4<Float>]
    private let columns: [Share]

    /// How a source pixel spreads over the target pixels.
    private struct Share {
        var target: Int
        var weight: Float
        /// How many of the following target pixels the source pixel covers completely, for enlarged images.
        var copies: Int
        var rest: Float
    }

    init(from source: PixelSize, to target: PixelSize, over backdrop: Backdrop, square: Int) {
        self.source = source
        self.target = target
        self.backdrop = backdrop
        self.square = max(1, square)
        row = [UInt8](repeating: 0, count: source.width * 4)
        sums = [SIMD4<Float>](repeating: .zero, count: target.width)
        columns = Self.shares(source.width, target.width)
    }

    /// Maps `count` source pixels to `wanted` target pixels; the weights of a target pixel add up to 1.
    ///
    /// In units of 1/(count × wanted), a source pixel has the length `wanted`, a target pixel the length `count`.
    private static func shares(_ count: Int, _ wanted: Int) -> [Share] {
        (0..<count).map { index in
            let start = index * wanted
            let end = start + wanted
            let first = start / count
            let room = (first + 1) * count - start
            if wanted <= room { return Share(target: first, weight: Float(wanted) / Float(count), copies: 0, rest: 0) }
            let copies = (end - (first + 1) * count) / count
            let rest = (end - (first + 1) * count) % count
            return Share(
                target: first, weight: Float(room) / Float(count), copies: copies, rest: Float(rest) / Float(count))
        }
    }

    /// Returns the scaled raster of an image with the source size.
    ///
    /// - Throws: `.unsupportedFeature` for float samples, `.outOfMemory`.
    mutating func scale(_ pixels: PixelBuffer) throws(CoderError) -> Raster {
        let image = try pixels.display()
        precondition(image.size == source)
        var raster = Raster(width: target.width, height: target.height)
        if source == target {
            for y in 0..<source.height {
                image.copyRow(y, into: &row)
                place(y, &raster)
            }
            return raster
        }
        clearSums()
        let rows = Self.shares(source.height, target.height)
        for y in 0..<source.height {
            image.copyRow(y, into: &row)
            let share = rows[y]
            add(share.weight)
            let isLast = y == source.height - 1
            // The target row is complete when the next source row belongs to a later target row.
            guard isLast || share.copies > 0 || share.rest > 0 || rows[y + 1].target > share.target else { continue }
            emit(share.target, &raster)
            for copy in 0..<share.copies {
                add(1)
                emit(share.target + 1 + copy, &raster)
            }
            if share.rest > 0 { add(share.rest) }
        }
        return raster
    }

    private mutating func clearSums() {
        for x in sums.indices { sums[x] = .zero }
    }

    /// Adds the weighted source row to the sums.
    private mutating func add(_ weight: Float) {
        var at = 0
        for share in columns {
            let alpha = row[at + 3]
            if alpha != 0 {
                var pixel = SIMD4(Float(row[at]), Float(row[at + 1]), Float(row[at + 2]), 1)
                pixel *= weight * (alpha == 255 ? 1 : Float(alpha) * (1 / 255))
                sums[share.target] += pixel * share.weight
                if share.copies > 0 {
                    for copy in 1...share.copies { sums[share.target + copy] += pixel }
                }
                if share.rest > 0 { sums[share.target + share.copies + 1] += pixel * share.rest }
            }
            at += 4
        }
    }

    /// Writes the sums as row `y` and resets them.
    private mutating func emit(_ y: Int, _ raster: inout Raster) {
        var at = y * target.width * 3
        for x in 0..<target.width {
            var pixel = sums[x]
            sums[x] = .zero
            if pixel.w < 0.999 { pixel += backdrop.color(x: x, y: y, square: square) * (1 - pixel.w) }
            // Scalar conversions: the conversion of whole vectors is ten times slower.
            raster.bytes[at] = UInt8(min(255, pixel.x + 0.5))
            raster.bytes[at + 1] = UInt8(min(255, pixel.y + 0.5))
            raster.bytes[at + 2] = UInt8(min(255, pixel.z + 0.5))
            at += 3
        }
    }

    /// Writes the source row as row `y` of a raster of the same width.
    private func place(_ y: Int, _ raster: inout Raster) {
        var at = y * target.width * 3
        var from = 0
        for x in 0..<target.width {
            let alpha = Int(row[from + 3])
            if alpha == 255 {
                for channel in 0..<3 { raster.bytes[at + channel] = row[from + channel] }
            } else {
                let under = backdrop.color(x: x, y: y, square: square)
                for channel in 0..<3 {
                    let sum = Int(row[from + channel]) * alpha + Int(under[channel]) * (255 - alpha)
                    raster.bytes[at + channel] = UInt8(truncatingIfNeeded: (sum + 127) / 255)
                }
            }
            at += 3
            from += 4
        }
    }
}
