/// Gives the pixels of a frame their indices and finds the rectangle that has to be drawn.
enum FrameIndexer {
    /// Where every pixel that changed has its own colour.
    static func exact(_ canvas: inout FrameCanvas, in rect: ChangedRect, _ table: ColorTable) {
        let skip = table.transparentIndex
        for y in rect.rows {
            var last: (color: UInt32, index: UInt8) = (ColorTable.transparent, skip ?? 0)
            for place in canvas.place(rect.left, y)..<canvas.place(rect.right + 1, y) {
                if let skip, canvas.source[place] == canvas.prior[place] {
                    canvas.indices[place] = skip
                    continue
                }
                let color = canvas.source[place]
                if color != last.color { last = (color, table.index(of: color) ?? 0) }
                canvas.indices[place] = last.index
            }
        }
    }

    /// The nearest colours; a pixel that is shown about as well as its nearest colour would stays.
    ///
    /// - Returns: the rectangle of those that do not; nil when all do.
    static func nearest(
        _ canvas: inout FrameCanvas, in rect: ChangedRect, _ nearest: NearestColors, skip: UInt8, tolerance: Int32
    ) -> ChangedRect? {
        var drawn: ChangedRect?
        let (wanted, seen) = (canvas.wanted, canvas.seen)
        for y in rect.rows {
            var (first, last) = (-1, -1)
            for x in rect.left...rect.right {
                let place = canvas.place(x, y)
                let color = canvas.source[place]
                if color == canvas.prior[place] {
                    canvas.indices[place] = skip
                    continue
                }
                let (index, distance) = nearest.nearest(wanted[place])
                let shown = seen[place]
                if shown != ColorTable.transparent,
                    NearestColors.distance(shown, wanted[place]) <= distance &+ tolerance
                {
                    canvas.indices[place] = skip
                    continue
                }
                canvas.indices[place] = index
                if first < 0 { first = x }
                last = x
            }
            if first >= 0 {
                drawn = ChangedRect.union(drawn, ChangedRect(left: first, top: y, right: last, bottom: y))
            }
        }
        return drawn
    }
}
