extension Orientation {
    /// Returns the single transform that applies `self` and then `next`.
    package func followed(by next: Orientation) -> Orientation {
        // Three corners of a small image identify the result among the eight orientations.
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
