package import ImageModel

/// Finds the border of one color around an image.
package enum Trim {
    /// Returns the smallest rectangle outside of which all pixels have the color of the top left corner.
    ///
    /// All transparent pixels are equal.
    /// - Parameter tolerance: the largest difference of a channel that counts as equal, 0 … 1.
    /// - Returns: nil if the whole image has this color.
    /// - Throws: `.unsupportedFeature` for float samples.
    package static func content(of buffer: PixelBuffer, tolerance: Double) throws(CoderError) -> PixelRect? {
        try check(tolerance, "a tolerance", in: 0...1)
        let image = try buffer.workable("trimming")
        let (width, height) = (image.size.width, image.size.height)
        let most = Int((tolerance * 65_535).rounded(.down))
        var work = [UInt16](repeating: 0, count: width * 4)
        image.loadWork(0, into: &work)
        let corner = [Int](work[0..<4].map(Int.init))
        func differs(_ x: Int) -> Bool {
            for channel in 0..<4 where abs(Int(work[4 * x + channel]) - corner[channel]) > most { return true }
            return false
        }
        var (left, right, top, bottom) = (width, -1, height, -1)
        for y in 0..<height {
            image.loadWork(y, into: &work)
            var x = 0
            while x < width, !differs(x) { x += 1 }
            if x == width { continue }
            (top, bottom, left) = (min(top, y), y, min(left, x))
            x = width - 1
            while x > right, !differs(x) { x -= 1 }
            right = max(right, x)
        }
        if bottom < 0 { return nil }
        return PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
    }
}
