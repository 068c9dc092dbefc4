public import ImageModel

/// How a picture meets a box that has not its shape.
public enum Fit: String, Sendable, Hashable, CaseIterable {
    /// All of it within the box, and the rest of the box filled up.
    case contain
    /// The box is covered, and what stands over is cut off.
    case cover
    /// Stretched to the box.
    case fill
    /// All of it within the box; the result is as large as it then is.
    case inside
    /// The box is covered; the result is as large as it then is.
    case outside

    /// What a picture is scaled to, and what is then cut out or filled up.
    public struct Layout: Sendable, Hashable {
        public var scaled: PixelSize
        public var result: PixelSize

        public init(scaled: PixelSize, result: PixelSize) {
            self.scaled = scaled
            self.result = result
        }
    }

    /// - Parameters:
    ///   - box: a side of 0 follows from the other one.
    ///   - mayEnlarge: without it no side becomes longer than it is; the box of `contain` is filled up all the same.
    public func layout(_ size: PixelSize, in box: PixelSize, mayEnlarge: Bool = false) -> Layout {
        if size.isEmpty || box.width <= 0 && box.height <= 0 { return Layout(scaled: size, result: size) }
        if box.width <= 0 || box.height <= 0 {
            // One side is given: the other one is as long as the picture makes it, and all ways are the same.
            let open = PixelSize(
                box.width > 0 ? box.width : Int(Int32.max), box.height > 0 ? box.height : Int(Int32.max))
            let scaled = size.scaled(to: open, mayEnlarge: mayEnlarge)
            return Layout(scaled: scaled, result: scaled)
        }
        switch self {
        case .fill:
            let scaled = size.scaled(to: box, preservesAspect: false, mayEnlarge: mayEnlarge)
            return Layout(scaled: scaled, result: scaled)
        case .inside:
            let scaled = size.scaled(to: box, mayEnlarge: mayEnlarge)
            return Layout(scaled: scaled, result: scaled)
        case .contain: return Layout(scaled: size.scaled(to: box, mayEnlarge: mayEnlarge), result: box)
        case .outside, .cover:
            let scaled = Self.covering(size, box, mayEnlarge)
            let cut = PixelSize(min(scaled.width, box.width), min(scaled.height, box.height))
            return Layout(scaled: scaled, result: self == .cover ? cut : scaled)
        }
    }

    /// The smallest size of this shape that covers the box; the side that decides is exact, the other one rounded up.
    private static func covering(_ size: PixelSize, _ box: PixelSize, _ mayEnlarge: Bool) -> PixelSize {
        let result: PixelSize
        if size.isWider(than: box) {
            if !mayEnlarge && box.height >= size.height { return size }
            result = size.scaled(to: PixelSize(Int(Int32.max), box.height), mayEnlarge: true)
        } else {
            if !mayEnlarge && box.width >= size.width { return size }
            result = size.scaled(to: PixelSize(box.width, Int(Int32.max)), mayEnlarge: true)
        }
        return PixelSize(
            max(result.width, min(box.width, size.width)), max(result.height, min(box.height, size.height)))
    }
}
