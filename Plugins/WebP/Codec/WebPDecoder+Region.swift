import CoderPluginKit
import ImageModel

extension WebPDecoder {
    /// Decodes a part of a still at its full size; its pixels equal those of the whole image exactly.
    ///
    /// Rows below the part are not decoded. Rows above it are decoded without color conversion, because every block is
    /// predicted from its neighbors.
    ///
    /// - Throws: `.refused` for a part of an animation, of a scaled image, or of alpha that is filtered horizontally;
    ///   `.needsInput` until the source is complete.
    func decodeRegion(
        _ part: PixelRect, of image: Content, _ request: DecodeRequest, _ surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard image.frame == nil, !image.needsWholeAlpha, request.scaledSize ?? image.canvas == image.canvas
        else {
            throw .refused("only regions of full-size stills without a horizontal alpha filter can be decoded")
        }
        guard !part.isEmpty, PixelRect(image.canvas).contains(part) else {
            throw .invalidArgument("the region \(part) is not inside the image of \(image.canvas) pixels")
        }
        guard surface.size == part.size,
            pixelFormats.contains(where: { $0 == surface.format || Self.isTwin($0, surface.format) })
        else { throw CoderError(.misuse, "WebP is not decoded to \(surface.size) pixels of \(surface.format)") }
        guard session.source.isComplete else { throw .needsInput }

        let wide = image.isLossless ? part : Self.widened(part, within: image.canvas)
        let margin = part.y - wide.y
        let copied = wide == part ? 0 : try PixelBuffer.layout(size: wide.size, format: surface.format).byteCount
        let reserved = Self.bytes(for: image) + copied
        try session.host.reserve(bytes: reserved)
        defer { try? session.host.reserve(bytes: -reserved) }
        let rows: Int
        if wide == part {
            rows = try fill(surface, part, of: image)
        } else {
            let buffer = try PixelBuffer(size: wide.size, format: surface.format)
            let target = Surface(buffer)
            rows = try max(0, min(part.height, fill(target, wide, of: image) - margin))
            WebPDecompressor.copy(
                buffer, PixelRect(x: part.x - wide.x, y: margin, width: part.width, height: rows), into: surface)
        }
        if rows == part.height { return .complete }
        if request.wantsPartial, rows > 0 { return .partial(PixelRect(x: 0, y: 0, width: part.width, height: rows)) }
        throw .truncated("the file ends at row \(rows) of the \(part.height) rows of the region")
    }

    /// Returns the part with the neighbors from which libwebp interpolates chroma, beginning at even coordinates.
    private static func widened(_ part: PixelRect, within size: PixelSize) -> PixelRect {
        let (x, y) = (max(0, part.x - 2) & ~1, max(0, part.y - 2) & ~1)
        let right = min(size.width, part.x + part.width + 2)
        let bottom = min(size.height, part.y + part.height + 2)
        return PixelRect(x: x, y: y, width: right - x, height: bottom - y)
    }

    /// Passes the file in slices until the part is complete; returns the number of complete rows.
    private func fill(_ surface: borrowing Surface, _ part: PixelRect, of image: Content) throws(CoderError) -> Int {
        let decompressor = try WebPDecompressor(
            into: surface, part: part, isOpaque: image.isLossless && !image.hasAlpha, threads: mayThread)
        let count = stillRange.count
        let slices = 1 + (image.canvas.area ?? 0) / Self.pixelsPerSlice
        for slice in 1...slices {
            try session.host.checkCancellation()
            let isDone = try decompressor.update(session.source, 0..<(slice == slices ? count : count / slices * slice))
            if isDone || decompressor.rows >= part.height { break }
            session.host.progress(slice, of: slices)
        }
        return min(decompressor.rows, part.height)
    }
}
