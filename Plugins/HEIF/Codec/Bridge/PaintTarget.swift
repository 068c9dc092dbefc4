internal import CoderPluginKit
internal import ImageModel

/// The pixels of a surface, for painting tiles on several threads.
@safe struct PaintTarget {
    let size: PixelSize
    let format: PixelFormat
    let stride: Int
    private let start: UnsafeMutablePointer<UInt8>

    /// - Parameter surface: must outlive the target.
    init(_ surface: borrowing Surface) {
        (size, format, stride) = (surface.size, surface.format, surface.stride)
        unsafe start = surface.baseAddress.assumingMemoryBound(to: UInt8.self)
    }

    /// The first byte of a pixel.
    @unsafe
    func pixel(_ x: Int, _ y: Int) -> UnsafeMutablePointer<UInt8> {
        precondition(x >= 0 && x < size.width && y >= 0 && y < size.height)
        return unsafe start + (y * stride + x * format.bytesPerPixel)
    }
}

/// The findings of several tiles.
// Sendable because: every index has its own element, and only the thread that decodes the tile writes it.
@safe final class TileNotes: @unchecked Sendable {
    private let places: UnsafeMutableBufferPointer<HEIFPlanes.Decoded?>

    init(_ count: Int) {
        unsafe places = .allocate(capacity: count)
        unsafe places.initialize(repeating: nil)
    }

    deinit { unsafe places.deinitialize().deallocate() }

    func note(_ decoded: HEIFPlanes.Decoded, at index: Int) { unsafe places[index] = decoded }
    var all: [HEIFPlanes.Decoded] { unsafe places.compactMap { $0 } }
}
