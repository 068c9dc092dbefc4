package import ImageModel

/// The way an image is fitted into a box of another shape.
public enum Fit: String, Sendable, Hashable, CaseIterable {
    /// Scales the whole image into the box and pads the rest of the box.
    case contain
    /// Scales the image to cover the box and crops the excess.
    case cover
    /// Stretches the image to the box.
    case fill
    /// Scales the whole image into the box without padding.
    case inside
    /// Scales the image to cover the box without cropping.
    case outside

    /// Whether small images are enlarged by default: the fits whose result is the box itself need it.
    package var enlarges: Bool {
        switch self {
        case .contain, .cover, .fill: true
        case .inside, .outside: false
        }
    }

    /// The scaled size of an image, and the size of the result after cropping or padding.
    package struct Layout: Sendable, Hashable {
        /// The size to which the image is scaled.
        package var scaled: PixelSize
        /// The size after cropping or padding.
        package var result: PixelSize

        /// Creates a layout.
        package init(scaled: PixelSize, result: PixelSize) {
            self.scaled = scaled
            self.result = result
        }
    }

    /// Returns the sizes for fitting an image of `size` into a box.
    ///
    /// - Parameters:
    ///   - box: a side of 0 is derived from the other side.
    ///   - mayEnlarge: if false, no side becomes longer; `.contain` still pads to the box.
    package func layout(_ size: PixelSize, in box: PixelSize, mayEnlarge: Bool = false) -> Layout {
        if size.isEmpty || box.width <= 0 && box.height <= 0 { return Layout(scaled: size, result: size) }
        if box.width <= 0 || box.height <= 0 {
            // One side is given: the other side follows from the image's shape, and all cases are the same.
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

    /// Returns the smallest size of this shape that covers the box; the deciding side is exact, the other rounded up.
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
