/// The colours of one frame and how pixels find theirs.
struct FramePalette {
    var table: ColorTable
    /// Nil where the table has every colour of the frame.
    var nearest: NearestColors?
    /// Squared error a pixel may have more than at best.
    var tolerance: Int32 = 0
    /// Mean squared error of a pixel, in RGB.
    var meanError: Float = 0
    var isGlobal: Bool

    /// About how far colours are from each other: the step of a uniform scale with the same error.
    var spacing: Int32 { Int32((2 * meanError.squareRoot()).rounded()) }

    /// Bits of an index into this many colours, 1 … 8.
    static func bits(_ count: Int) -> Int { max(1, Int.bitWidth - (max(count, 1) - 1).leadingZeroBitCount) }
}
