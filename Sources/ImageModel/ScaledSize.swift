/// Sizes for reduced images.
extension PixelSize {
    /// Returns the size of this image fitted into a box.
    ///
    /// - Parameters:
    ///   - preservesAspect: if false, the result is the box itself.
    ///   - mayEnlarge: if false, no side becomes longer.
    /// - Returns: with the aspect preserved, the limiting side exact and the other side rounded up; the unchanged size
    ///   if the image or the box is empty.
    package func scaled(to box: PixelSize, preservesAspect: Bool = true, mayEnlarge: Bool = false) -> PixelSize {
        if isEmpty || box.isEmpty { return self }
        var result = box
        if preservesAspect {
            // The wider of the two shapes is limited by the width.
            if isWider(than: box) {
                result.height = Self.dividedUp(height, by: width, times: box.width)
            } else {
                result.width = Self.dividedUp(width, by: height, times: box.height)
            }
        }
        if !mayEnlarge {
            result.width = min(result.width, width)
            result.height = min(result.height, height)
        }
        return result
    }

    /// Returns whether the shape is wider than the other one; exact in integers up to 2³² per side.
    package func isWider(than other: PixelSize) -> Bool {
        let (ours, theirs) = (width.multipliedFullWidth(by: other.height), other.width.multipliedFullWidth(by: height))
        return ours.high != theirs.high ? ours.high > theirs.high : ours.low > theirs.low
    }

    private static func dividedUp(_ side: Int, by other: Int, times length: Int) -> Int {
        let (product, overflow) = side.multipliedReportingOverflow(by: length)
        if overflow { return Int.max }
        return max(1, (product + other - 1) / other)
    }

    /// Returns the largest size with this aspect at which `frameCount` images fit into `limit` bytes.
    ///
    /// - Returns: at least 1x1; may exceed the image's own size, so callers compare.
    package func limited(toBytes limit: Int, bytesPerPixel: Int, frameCount: Int = 1) -> PixelSize {
        if isEmpty || bytesPerPixel <= 0 { return PixelSize(1, 1) }
        let pixels = max(0, limit) / bytesPerPixel / max(1, frameCount)
        let ratio = Double(width) / Double(height)
        let width = (Double(pixels) * ratio).squareRoot()
        return PixelSize(max(1, Int(width.rounded(.down))), max(1, Int((width / ratio).rounded(.down))))
    }
}
