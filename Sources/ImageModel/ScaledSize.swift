/// Sizes that pictures are reduced to.
extension PixelSize {
    /// The size of this picture inside a box.
    ///
    /// - Parameters:
    ///   - preservesAspect: without it the result is the box itself.
    ///   - mayEnlarge: without it no side becomes longer than it is.
    /// - Returns: with the aspect kept, the limiting side exact and the other one rounded up; an empty picture or box
    ///   leaves the size as it is.
    public func scaled(to box: PixelSize, preservesAspect: Bool = true, mayEnlarge: Bool = false) -> PixelSize {
        if isEmpty || box.isEmpty { return self }
        var result = box
        if preservesAspect {
            // The wider of the two is limited by the width.
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

    /// Whether the width is longer for its height; exact in integers, with enough room for 2³² a side.
    package func isWider(than other: PixelSize) -> Bool {
        let (ours, theirs) = (width.multipliedFullWidth(by: other.height), other.width.multipliedFullWidth(by: height))
        return ours.high != theirs.high ? ours.high > theirs.high : ours.low > theirs.low
    }

    private static func dividedUp(_ side: Int, by other: Int, times length: Int) -> Int {
        let (product, overflow) = side.multipliedReportingOverflow(by: length)
        if overflow { return Int.max }
        return max(1, (product + other - 1) / other)
    }

    /// The largest size with this aspect of which `frameCount` pictures fit into so many bytes.
    ///
    /// - Returns: at least 1x1; may be larger than the picture itself, so compare.
    public func limited(toBytes limit: Int, bytesPerPixel: Int, frameCount: Int = 1) -> PixelSize {
        if isEmpty || bytesPerPixel <= 0 { return PixelSize(1, 1) }
        let pixels = max(0, limit) / bytesPerPixel / max(1, frameCount)
        let ratio = Double(width) / Double(height)
        let width = (Double(pixels) * ratio).squareRoot()
        return PixelSize(max(1, Int(width.rounded(.down))), max(1, Int((width / ratio).rounded(.down))))
    }
}
