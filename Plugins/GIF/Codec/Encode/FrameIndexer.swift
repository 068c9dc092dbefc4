internal import Palettes

/// Assigns indices to the pixels of a frame and finds the rectangle to draw.
enum FrameIndexer {
    /// For a palette that contains the color of every changed pixel.
    static func exact(_ canvas: inout FrameCanvas, in rect: ChangedRect, _ table: ColorTable) {
        let skip = table.transparentIndex
        let (source, prior, width) = (canvas.source, canvas.prior, canvas.width)
        // Access through the canvas would check on every store whether the indices are shared.
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

    /// Assigns the nearest colors; a pixel stays if its shown color is about as good as the nearest color.
    ///
    /// - Parameter keys: nil if the keys equal the colors.
    /// - Returns: the rectangle of the pixels that change; nil if all stay.
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
