import CoderPluginKit
import ImageModel

/// Images that the library does not decode: lossless ones, and those of 12 bits.
extension JPEGDecoder {
    /// Returns the facts of such an image, or throws the error of the library again.
    func extendedFacts(_ failure: CoderError) throws(CoderError) -> ImageInfo {
        guard let image = try ExtendedImage(session) else { throw failure }
        let header = image.header
        extended = image
        return try describe(
            ImageInfo(
                size: header.frame.size, nativeFormat: header.format, bitDepth: header.frame.precision,
                isLossy: header.frame.process != .lossless, density: header.density, regionCost: image.regionCost))
    }

    /// Decodes the image, or a part of it; there is no reduced size.
    func decode(
        _ image: ExtendedImage, _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        let size = image.header.frame.size
        guard surface.format == image.header.format else {
            throw CoderError(.misuse, "this JPEG is not decoded to \(surface.format)")
        }
        guard request.scaledSize ?? size == size else {
            throw CoderError(.misuse, "this JPEG is not decoded at a reduced size")
        }
        let part = try self.part(request.region, of: size) ?? PixelRect(size)
        guard surface.size == part.size else {
            throw CoderError(.misuse, "the surface has \(surface.size) pixels, not \(part.size)")
        }
        return try image.decode(part, request, into: surface)
    }
}
