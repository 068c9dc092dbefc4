internal import ImageModel

/// The disposal of a frame.
struct FrameDisposal {
    var disposal = Disposal.keep
    /// The pixels that the frame's rectangle must include for it.
    var cleared: ChangedRect?
}

extension FrameCanvas {
    /// Chooses the disposal: GIF only draws over pixels, so the disposal must clear pixels that the next frame lacks.
    ///
    /// - Parameter changed: the part of the frame that is drawn.
    /// - Parameter mayRestore: whether the disposal may restore the canvas before the frame.
    func chooseDisposal(_ changed: ChangedRect?, mayRestore: Bool) -> FrameDisposal {
        guard transparency.isInNext, let holes = holes(from: source, to: next) else { return FrameDisposal() }
        guard let cleared = ChangedRect.union(changed, holes) else { return FrameDisposal() }
        if mayRestore, changed != nil, self.holes(from: prior, to: next) == nil {
            // Compares the number of pixels that have to be drawn again.
            let back = difference(next, prior, outside: nil)
            if back < difference(next, source, outside: cleared) + opaque(next, in: cleared) {
                return FrameDisposal(disposal: .previous)
            }
        }
        return FrameDisposal(disposal: .background, cleared: cleared)
    }

    private func difference(_ a: [UInt32], _ b: [UInt32], outside rect: ChangedRect?) -> Int {
        var count = PixelRows.count(a, b, in: 0..<a.count)
        guard let rect else { return count }
        for y in rect.rows { count -= PixelRows.count(a, b, in: place(rect.left, y)..<place(rect.right + 1, y)) }
        return count
    }

    private func opaque(_ image: [UInt32], in rect: ChangedRect) -> Int {
        rect.rows.reduce(0) { count, y in
            count + PixelRows.opaque(image, in: place(rect.left, y)..<place(rect.right + 1, y))
        }
    }
}
