/// Gives the pixels of a frame their indices and finds the rectangle that has to be drawn.
enum FrameIndexer {
    /// Where every pixel that changed has its own colour.
    static func exact(_ canvas: inout FrameCanvas, in rect: ChangedRect, _ table: ColorTable) {
        let skip = table.transparentIndex
        let (source, prior, width) = (canvas.source, canvas.prior, canvas.width)
        // Through the canvas every store would ask whether the indices are shared.
        var indices = canvas.indices.mutableSpan
        for y in rect.rows {
            var last: (color: UInt32, index: UInt8) = (ColorTable.transparent, skip ?? 0)
            for place in y * width + rect.left...y * width + rect.right {
                let color = source[place]
                if let skip, color == prior[place] {
                    indices[place] = skip
                    continue
                }
                if color != last.color { last = (color, table.index(of: color) ?? 0) }
                indices[place] = last.index
            }
        }
    }

    /// The nearest colours; a pixel that is shown about as well as its nearest colour would stays.
    ///
    /// - Parameter keys: nil where they are the colours.
    /// - Returns: the rectangle of those that do not; nil when all do.
    static func nearest(
        _ canvas: inout FrameCanvas, in rect: ChangedRect, _ nearest: NearestColors, _ keys: FrameKeys?, skip: UInt8,
        tolerance: Int32
    ) -> ChangedRect? {
        var drawn: ChangedRect?
        let (wanted, seen) = (keys?.source ?? canvas.source, keys?.shown ?? canvas.shown)
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
