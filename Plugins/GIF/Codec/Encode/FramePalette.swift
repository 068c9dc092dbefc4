internal import Palettes

/// The colors of one frame, and the search for a pixel's color.
struct FramePalette {
    var table: ColorTable
    /// Nil if the table has every color of the frame.
    var nearest: NearestColors?
    /// The squared error that a pixel may have above its best.
    var tolerance: Int32 = 0
    /// The mean squared error of a pixel, in RGB.
    var meanError: Float = 0
    var isGlobal: Bool

    /// Allows every pixel a squared error above its best, also if the table has its color.
    mutating func allow(_ error: Int32, _ metric: ColorMetric) {
        tolerance = max(tolerance, error)
        if nearest.map({ $0.margin < tolerance }) ?? true {
            nearest = NearestColors(table.colors, margin: tolerance, metric)
        }
    }

    /// The approximate distance between colors: the step of a uniform scale with the same error.
    var spacing: Int32 { Int32((2 * meanError.squareRoot()).rounded()) }

    /// The bits of an index into this many colors, 1 … 8.
    static func bits(_ count: Int) -> Int { max(1, Int.bitWidth - (max(count, 1) - 1).leadingZeroBitCount) }
}
