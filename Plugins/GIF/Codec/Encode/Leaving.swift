internal import ImageModel

/// What a viewer does when it leaves a frame.
struct Leaving {
    var disposal = Disposal.keep
    /// What has to be inside the frame's rectangle for that.
    var cleared: ChangedRect?
}

extension FrameCanvas {
    /// How to leave the frame: GIF only draws over, so what the next frame does not show has to go before it.
    ///
    /// - Parameter changed: the part of the frame that is drawn.
    /// - Parameter mayGoBack: whether a viewer may be sent back to what it showed before.
    func leaving(_ changed: ChangedRect?, mayGoBack: Bool) -> Leaving {
        guard nextHasHoles, let holes = holes(from: source, to: next) else { return Leaving() }
        guard let cleared = ChangedRect.union(changed, holes) else { return Leaving() }
        if mayGoBack, changed != nil, self.holes(from: prior, to: next) == nil {
            // By the pixels that have to be drawn again.
            let back = difference(next, prior, outside: nil)
            if back < difference(next, source, outside: cleared) + opaque(next, in: cleared) {
                return Leaving(disposal: .previous)
            }
        }
        return Leaving(disposal: .background, cleared: cleared)
    }

    private func difference(_ a: [UInt32], _ b: [UInt32], outside rect: ChangedRect?) -> Int {
        var count = PixelRows.count(a, b, in: 0..<a.count)
        guard let rect else { return count }
        for y in rect.rows { count -= PixelRows.count(a, b, in: place(rect.left, y)..<place(rect.right + 1, y)) }
        return count
    }

    private func opaque(_ picture: [UInt32], in rect: ChangedRect) -> Int {
        rect.rows.reduce(0) { count, y in
            count + PixelRows.opaque(picture, in: place(rect.left, y)..<place(rect.right + 1, y))
        }
    }
}
