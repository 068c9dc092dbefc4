internal import Palettes

/// Keys of the source and the shown pixels, for the pixels that change.
///
/// Separate from ``FrameCanvas``, since most frames need no keys.
struct FrameKeys {
    private(set) var source: [UInt32]
    private(set) var shown: [UInt32]

    init(_ canvas: FrameCanvas) {
        let empty = [UInt32](repeating: ColorTable.transparent, count: canvas.source.count)
        (source, shown) = (empty, empty)
    }

    /// Computes the keys of the changed pixels in a rectangle; other keys stay.
    mutating func measure(_ canvas: FrameCanvas, in rect: ChangedRect, _ metric: ColorMetric) {
        for y in rect.rows {
            let places = canvas.place(rect.left, y)..<canvas.place(rect.right + 1, y)
            metric.measure(canvas.source, into: &source, in: places) { canvas.source[$0] != canvas.prior[$0] }
            metric.measure(canvas.shown, into: &shown, in: places) { canvas.source[$0] != canvas.prior[$0] }
        }
    }
}
