import HostSystem
package import ImageModel

extension PixelConverter {
    /// Returns a part of the image; the same buffer if the part is the whole image.
    ///
    /// - Parameter rect: within the image.
    package static func cropped(
        _ buffer: PixelBuffer, to rect: PixelRect, pool: PixelBufferPool = .shared
    ) throws(CoderError) -> PixelBuffer {
        precondition(PixelRect(buffer.size).contains(rect))
        if rect.size == buffer.size { return buffer }
        let result = try pool.take(rect.size, buffer.format, clean: false)
        let bytes = buffer.format.bytesPerPixel
        for y in 0..<rect.height {
            buffer.withRow(rect.y + y) { row in
                let part = row.extracting(rect.x * bytes..<(rect.x + rect.width) * bytes)
                result.withMutableRow(y) { $0.copy(part) }
            }
        }
        return result
    }

    /// Returns the image on a larger canvas of one color; its transparent pixels stay unchanged.
    ///
    /// - Parameter rect: the position on the canvas; same size as the image, and within the canvas.
    package static func placed(
        _ buffer: PixelBuffer, in size: PixelSize, at rect: PixelRect, on color: RGBAColor,
        pool: PixelBufferPool = .shared
    ) throws(CoderError) -> PixelBuffer {
        precondition(PixelRect(size).contains(rect) && rect.size == buffer.size)
        // One row of the canvas; all other rows are copies of it.
        let strip = try pool.take(PixelSize(size.width, 1), .rgba8, clean: false)
        strip.withMutableRow(0) { row in
            for x in 0..<size.width {
                for (index, value) in [color.red, color.green, color.blue, color.alpha].enumerated() {
                    row.setByte(4 * x + index, value)
                }
            }
        }
        let empty = try convert(strip, to: buffer.format)
        let bytes = buffer.format.bytesPerPixel
        let result = try pool.take(size, buffer.format, clean: false)
        for y in 0..<size.height {
            empty.withRow(0) { source in result.withMutableRow(y) { $0.copy(source) } }
            guard rect.rows.contains(y) else { continue }
            buffer.withRow(y - rect.y) { source in
                result.withMutableRow(y) { row in
                    var part = row._mutatingExtracting(rect.x * bytes..<(rect.x + rect.width) * bytes)
                    part.copy(source)
                }
            }
        }
        return result
    }
}
