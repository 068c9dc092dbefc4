import CCoderPlugin
import CIsolationWire
import HostSystem
import ImageModel
import ImageProcessing

/// A rectangle of pixels that a worker can access during one call.
struct BorrowedSurface {
    let surface: iso_surface
    let descriptor: Int32
    private let place: CanvasPlace
    /// The shared copy if the buffer itself is not shared.
    private let copy: PixelBuffer?

    init(_ place: CanvasPlace, _ surfaces: SharedSurfaces, copying: Bool) throws(CoderError) {
        self.place = place
        var buffer = place.buffer
        var rect = place.rect
        var shared = surfaces.block(of: buffer)
        if shared == nil {
            buffer = try surfaces.pool.take(rect.size, buffer.format, clean: !copying)
            shared = surfaces.block(of: buffer)
            rect = PixelRect(rect.size)
            copy = buffer
            if copying { Self.copyRows(place, CanvasPlace(buffer)) }
        } else {
            copy = nil
        }
        guard let shared else { throw CoderError(.outOfMemory, "no memory to share with a worker") }
        let offset = rect.y * buffer.stride + rect.x * buffer.format.bytesPerPixel
        var surface = iso_surface()
        surface.id = shared.id
        surface.map_bytes = UInt64(shared.bytes)
        surface.offset = UInt64(offset)
        surface.byte_count = UInt64(buffer.byteCount - offset)
        surface.stride = UInt64(buffer.stride)
        surface.width = UInt32(rect.width)
        surface.height = UInt32(rect.height)
        surface.format = buffer.format.contract
        self.surface = surface
        descriptor = shared.descriptor
    }

    /// Copies the worker's result to the destination.
    func settle() {
        if let copy { Self.copyRows(CanvasPlace(copy), place) }
    }

    private static func copyRows(_ from: CanvasPlace, _ to: CanvasPlace) {
        let bytes = from.buffer.format.bytesPerPixel
        for y in 0..<from.rect.height {
            from.buffer.withRow(from.rect.y + y) { row in
                let part = row.extracting(from.rect.x * bytes..<(from.rect.x + from.rect.width) * bytes)
                to.withMutableRow(y) { target in target.copy(part) }
            }
        }
    }
}
