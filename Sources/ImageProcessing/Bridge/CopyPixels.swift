import ImageModel

/// Copies a rectangle of one image to a position in another image of the same format.
///
/// The rectangle must lie inside both images.
func copyPixels(_ rect: PixelRect, of source: PixelBuffer, into target: PixelBuffer, x: Int, y: Int) {
    precondition(!rect.isEmpty && PixelRect(source.size).contains(rect))
    precondition(
        PixelRect(target.size).contains(PixelRect(x: x, y: y, width: rect.width, height: rect.height)))
    precondition(source.format.bytesPerPixel == target.format.bytesPerPixel)
    let bytes = source.format.bytesPerPixel
    unsafe source.withUnsafeMutableBytes { from in
        unsafe target.withUnsafeMutableBytes { to in
            guard let from = from.baseAddress, let to = to.baseAddress else { return }
            for row in 0..<rect.height {
                unsafe (to + (y + row) * target.stride + x * bytes).copyMemory(
                    from: from + (rect.y + row) * source.stride + rect.x * bytes, byteCount: rect.width * bytes)
            }
        }
    }
}
