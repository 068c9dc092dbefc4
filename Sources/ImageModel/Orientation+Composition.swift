extension Orientation {
    /// The one transform that does `self` first and `next` after it.
    public func followed(by next: Orientation) -> Orientation {
        // Which of the eight it is shows in where three corners of a small image come from.
        let size = PixelSize(2, 3)
        let middle = applied(to: size)
        let end = next.applied(to: middle)
        return Orientation.allCases.first { candidate in
            candidate.applied(to: size) == end
                && [(0, 0), (end.width - 1, 0), (0, end.height - 1)].allSatisfy { x, y in
                    let between = next.source(x: x, y: y, in: middle)
                    return candidate.source(x: x, y: y, in: size) == source(x: between.x, y: between.y, in: size)
                }
        } ?? .up
    }
}
