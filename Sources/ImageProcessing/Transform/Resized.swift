import ImageModel

/// Returns a part of an image at another size in the same format; the same buffer if nothing changes.
///
/// - Throws: `.invalidArgument`, `.outOfMemory`.
func resized(_ buffer: PixelBuffer, crop: PixelRect?, to size: PixelSize) throws(CoderError) -> PixelBuffer {
    let part = try crop.map { rect throws(CoderError) in try Cropping(rect).transform(buffer) } ?? buffer
    return part.size == size ? part : try Resampler.resample(BufferRows(part), to: size)
}
