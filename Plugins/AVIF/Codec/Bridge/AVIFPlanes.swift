internal import AVIFShim
internal import CoderPluginKit
internal import ImageModel

/// The decoded samples of an image, before conversion to pixels.
@safe struct AVIFPlanes {
    private let planes: OpaquePointer?
    /// Keeps the samples.
    private let owner: AnyObject

    @unsafe
    init(_ planes: OpaquePointer?, of owner: AnyObject) {
        unsafe self.planes = planes
        self.owner = owner
    }

    var knowsColors: Bool { unsafe avif_shim_knows_colors(planes) != 0 }

    /// Converts stored rows and writes them to their position in the target.
    ///
    /// - Parameters:
    ///   - rows: begin at 0 or at an odd row, and end at an odd row or at the end of the planes.
    ///   - part: the part of the planes that the target shows.
    /// - Concurrency: rows that do not overlap may be converted on several threads.
    func convert(
        _ rows: Range<Int>, _ part: PixelRect, turns: UInt8, mirror: UInt8, into target: SurfaceTarget
    ) throws(CoderError) {
        var layout = avif_shim_layout(
            channels: target.format.channels.rawValue, bits: UInt8(target.format.bits), turns: turns, mirror: mirror,
            x: UInt32(part.x), y: UInt32(part.y), width: UInt32(part.width), height: UInt32(part.height))
        let code = unsafe avif_shim_convert(
            planes, UInt32(rows.lowerBound), UInt32(rows.upperBound), &layout, target.start, UInt64(target.stride))
        if code == avif_shim_memory { throw CoderError(.outOfMemory, "there is not enough memory") }
        if code != 0 { throw .corrupt("the decoded frame does not match the file's header") }
    }
}

/// A part of an image that is put together from tiles.
@safe final class AVIFCanvas {
    private var canvas: OpaquePointer?
    /// The part of the stored image.
    let rect: PixelRect

    /// - Parameter model: has read the boxes of the whole image.
    init(_ rect: PixelRect, like model: AVIFReader, hasAlpha: Bool) throws(CoderError) {
        self.rect = rect
        let code = unsafe avif_shim_canvas_new(
            model.handle, UInt32(rect.x), UInt32(rect.y), UInt32(rect.width), UInt32(rect.height), hasAlpha ? 1 : 0,
            &canvas)
        if code == avif_shim_memory { throw CoderError(.outOfMemory, "there is not enough memory") }
        if code != 0 { throw .corrupt("the image does not match its boxes") }
    }

    deinit { unsafe avif_shim_canvas_free(canvas) }

    var planes: AVIFPlanes { unsafe AVIFPlanes(avif_shim_canvas_planes(canvas), of: self) }

    /// Copies a decoded tile to its position.
    ///
    /// - Returns: false if its samples differ in kind from the canvas or from another tile.
    /// - Concurrency: several threads may copy tiles that do not overlap.
    func put(_ tile: AVIFReader, x: Int, y: Int, isAlpha: Bool) throws(CoderError) -> Bool {
        let code = unsafe avif_shim_canvas_put(canvas, tile.handle, UInt32(x), UInt32(y), isAlpha ? 1 : 0)
        if code == avif_shim_memory { throw CoderError(.outOfMemory, "there is not enough memory") }
        return code == 0
    }
}

/// The pixels of a surface, for converting rows on several threads.
@safe struct SurfaceTarget {
    let size: PixelSize
    let format: PixelFormat
    let stride: Int
    @unsafe let start: UnsafeMutablePointer<UInt8>

    /// - Parameter surface: must outlive the target.
    init(_ surface: borrowing Surface) {
        (size, format, stride) = (surface.size, surface.format, surface.stride)
        unsafe start = surface.baseAddress.assumingMemoryBound(to: UInt8.self)
    }
}
