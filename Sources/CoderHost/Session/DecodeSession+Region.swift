import ImageModel
import ImageProcessing
import PluginRuntime

extension DecodeSession {
    /// Decodes a part of the stored image at the lowest cost that the coder supports.
    func decode(stored rect: PixelRect) throws(CoderError) -> PixelBuffer {
        if rect == PixelRect(info.size) { return try decodeImage() }
        guard try isWhole() else { return try PixelConverter.cropped(try decodeImage(), to: rect, pool: pool) }
        let format = try pixelFormats()[0]
        if coder.roles.contains(.region), info.regionCost != .whole {
            try LimitCheck.examine(decoded: rect.size, format, source, context.limits)
            let pixels = try pool.take(rect.size, format, clean: false)
            do throws(CoderError) {
                try sequence.stand(at: 0)
                guard try sequence.decode(CanvasPlace(pixels), FrameRequest(region: rect)) == .complete else {
                    throw source.isComplete ? CoderError.truncated() : .needsInput
                }
                return pixels
            } catch {
                // The coder may refuse this or any part; the following code is slower with the same result.
                guard error.code == .refused else { throw error }
            }
        }
        guard info.decodesRows else { return try PixelConverter.cropped(try decodeImage(), to: rect, pool: pool) }
        let rows = try decodedRows(scaledTo: nil)
        let pixels = try pool.take(rect.size, format, clean: false)
        let bytes = rect.x * format.bytesPerPixel..<(rect.x + rect.width) * format.bytesPerPixel
        // Rows below the part are not read.
        for y in 0..<rect.y + rect.height {
            try rows.withRow(y) { row throws(CoderError) in
                if y >= rect.y { pixels.withMutableRow(y - rect.y) { $0.copy(row.extracting(bytes)) } }
            }
        }
        return pixels
    }
}

extension Orientation {
    /// Returns the rectangle in a stored image of `size` that becomes `rect` when upright.
    func source(of rect: PixelRect, in size: PixelSize) -> PixelRect {
        let first = source(x: rect.x, y: rect.y, in: size)
        let last = source(x: rect.x + rect.width - 1, y: rect.y + rect.height - 1, in: size)
        return PixelRect(
            x: min(first.x, last.x), y: min(first.y, last.y), width: abs(last.x - first.x) + 1,
            height: abs(last.y - first.y) + 1)
    }
}
