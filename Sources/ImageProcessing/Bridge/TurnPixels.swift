import CPixelKernels
import ImageModel

/// Copies an image pixel by pixel, applying an orientation.
func turnPixels(_ source: PixelBuffer, into target: PixelBuffer, _ orientation: Orientation) {
    precondition(
        target.size == orientation.applied(to: source.size)
            && target.format.bytesPerPixel == source.format.bytesPerPixel)
    unsafe source.withUnsafeMutableBytes { from in
        unsafe target.withUnsafeMutableBytes { to in
            unsafe pixel_turn(
                from.baseAddress, UInt64(source.stride), to.baseAddress, UInt64(target.stride),
                UInt64(source.size.width), UInt64(source.size.height), UInt32(source.format.bytesPerPixel),
                UInt32(orientation.rawValue))
        }
    }
}

/// Copies the pixels of a row in reverse order.
func mirrorPixels(_ source: RawSpan, into target: inout MutableRawSpan, bytesPerPixel: Int) {
    precondition(source.byteCount == target.byteCount && source.byteCount % bytesPerPixel == 0)
    unsafe source.withUnsafeBytes { from in
        unsafe target.withUnsafeMutableBytes { to in
            unsafe pixel_turn(
                from.baseAddress, 0, to.baseAddress, 0, UInt64(from.count / bytesPerPixel), 1, UInt32(bytesPerPixel),
                UInt32(Orientation.upMirrored.rawValue))
        }
    }
}
