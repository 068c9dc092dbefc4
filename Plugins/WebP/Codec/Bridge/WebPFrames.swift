package import CoderPluginKit
package import ImageModel
import WebPShim

/// The images of an animation, one after another, and the changes between them.
///
/// Holds the current image, the next one, and room for a part of it, for any number of frames.
@safe package final class WebPFrames {
    /// The changes of the next image.
    package struct Difference {
        /// The smallest rectangle with every changed pixel; empty if none changes.
        package var rect: PixelRect
        package var changed: Int
        /// Whether a changed pixel is not opaque, so that it cannot be blended over the current image.
        package var hasTranslucent: Bool
    }

    private let frames: OpaquePointer
    private let size: PixelSize

    /// Begins with a transparent image.
    ///
    /// - Parameter isExact: whether the color of fully transparent pixels matters.
    /// - Parameter tolerance: the maximum difference of a channel that does not count as a change.
    /// - Throws: `.outOfMemory`.
    package init(size: PixelSize, isExact: Bool, tolerance: Int) throws(CoderError) {
        guard
            let frames = unsafe webps_frames_new(
                UInt32(size.width), UInt32(size.height), isExact ? 1 : 0, UInt32(tolerance))
        else { throw WebPLibrary.error(WEBPS_NO_MEMORY) }
        unsafe self.frames = frames
        self.size = size
    }

    deinit { unsafe webps_frames_free(frames) }

    /// The memory for images of this size.
    package static func byteCount(_ size: PixelSize) -> Int { (size.area ?? 0) * (3 * 4 + 1) }

    /// Copies the next image.
    package func load(_ surface: borrowing Surface) throws(CoderError) {
        precondition(surface.size == size)
        let pixels = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        let status = unsafe webps_frames_load(
            frames, WebPCompressor.code(surface.format), pixels, surface.stride)
        if status != WEBPS_OK { throw WebPLibrary.error(status) }
    }

    /// Returns the changes from the current image, with `cleared` made transparent, to the next one.
    package func compare(clearing cleared: PixelRect? = nil) -> Difference {
        var rect = Self.raw(cleared)
        var raw = webps_difference()
        unsafe webps_frames_compare(frames, &rect, &raw)
        return Difference(
            rect: PixelRect(
                x: Int(raw.rect.x), y: Int(raw.rect.y), width: Int(raw.rect.width), height: Int(raw.rect.height)),
            changed: Int(raw.changed), hasTranslucent: raw.has_translucent != 0)
    }

    /// The treatment of unchanged pixels in a part.
    package enum Unchanged {
        case kept
        case transparent
        /// Makes only whole blocks of them transparent, which lossy data can omit without artifacts.
        case transparentBlocks
    }

    /// Cuts a part out of the next image for `encode` and `show`; returns the number of omitted pixels.
    package func cut(_ part: PixelRect, clearing cleared: PixelRect?, unchanged: Unchanged) -> Int {
        precondition(!part.isEmpty && PixelRect(size).contains(part))
        var part = Self.raw(part)
        var cleared = Self.raw(cleared)
        return Int(
            unsafe webps_frames_cut(
                frames, &part, &cleared, unchanged == .kept ? 0 : 1, unchanged == .transparentBlocks ? 1 : 0))
    }

    /// Whether the part of the next image has at most this many colors, up to 256.
    package func hasColors(atMost limit: Int) -> Bool {
        unsafe webps_frames_has_colors(frames, UInt32(limit)) != 0
    }

    /// Encodes the current part; the result goes to the compressor's sink.
    ///
    /// The corresponding C function is `WebPEncode`.
    package func encode(with compressor: WebPCompressor) throws(CoderError) {
        unsafe try compressor.run { encoder in unsafe webps_frames_encode(frames, encoder) }
    }

    /// Draws the current part on the current image.
    package func show(clearing cleared: PixelRect?) {
        var cleared = Self.raw(cleared)
        unsafe webps_frames_show(frames, &cleared)
    }

    private static func raw(_ rect: PixelRect?) -> webps_rect {
        guard let rect else { return webps_rect() }
        return webps_rect(
            x: UInt32(rect.x), y: UInt32(rect.y), width: UInt32(rect.width), height: UInt32(rect.height))
    }
}
