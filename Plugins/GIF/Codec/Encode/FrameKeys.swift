/// Keys of what is to be seen and of what is shown, of the pixels that change.
///
/// Apart from ``FrameCanvas``, as most frames need none.
struct FrameKeys {
    private(set) var source: [UInt32]
    private(set) var shown: [UInt32]

    init(_ canvas: FrameCanvas) {
        let empty = [UInt32](repeating: ColorTable.transparent, count: canvas.source.count)
        (source, shown) = (empty, empty)
    }

    /// Finds the keys of what changes in a rectangle; others stay what they were.
    mutating func measure(_ canvas: FrameCanvas, in rect: ChangedRect, _ metric: ColorMetric) {
        for y in rect.rows {
            let places = canvas.place(rect.left, y)..<canvas.place(rect.right + 1, y)
            metric.measure(canvas.source, into: &source, in: places) { canvas.source[$0] != canvas.prior[$0] }
            metric.measure(canvas.shown, into: &shown, in: places) { canvas.source[$0] != canvas.prior[$0] }
        }
    }
}
