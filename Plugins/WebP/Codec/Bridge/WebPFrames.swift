package import CoderPluginKit
package import ImageModel
import WebPShim

/// The pictures of an animation, one after another, and what changes between them.
///
/// Holds the picture that is seen, the next one, and room for a part of it, whatever the number of frames.
@safe package final class WebPFrames {
    /// What the next picture changes.
    package struct Difference {
        /// The smallest rectangle with every pixel that changes; empty where none does.
        package var rect: PixelRect
        package var changed: Int
        /// Whether one that changes is not opaque, so that it cannot be drawn over what is seen.
        package var hasTranslucent: Bool
    }

    private let frames: OpaquePointer
    private let size: PixelSize

    /// Begins with a transparent picture.
    ///
    /// - Parameter isExact: whether the colour of fully transparent pixels matters.
    /// - Parameter tolerance: by how much the channels of a pixel may differ without being a change.
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

    /// The bytes that pictures of this size take here.
    package static func byteCount(_ size: PixelSize) -> Int { (size.area ?? 0) * (3 * 4 + 1) }

    /// Copies the next picture.
    package func load(_ surface: borrowing Surface) throws(CoderError) {
        precondition(surface.size == size)
        let pixels = unsafe surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        let status = unsafe webps_frames_load(
            frames, WebPCompressor.code(surface.format), pixels, surface.stride)
        if status != WEBPS_OK { throw WebPLibrary.error(status) }
    }

    /// What the next picture changes of the one that is seen, once `cleared` was made transparent.
    package func compare(clearing cleared: PixelRect? = nil) -> Difference {
        var rect = Self.raw(cleared)
        var raw = webps_difference()
        unsafe webps_frames_compare(frames, &rect, &raw)
        return Difference(
            rect: PixelRect(
                x: Int(raw.rect.x), y: Int(raw.rect.y), width: Int(raw.rect.width), height: Int(raw.rect.height)),
            changed: Int(raw.changed), hasTranslucent: raw.has_translucent != 0)
    }

    /// How the pixels of a part are cut out that do not change.
    package enum Unchanged {
        case kept
        case transparent
        /// Only whole blocks of them, which lossy data can leave out without a trace.
        case transparentBlocks
    }

    /// Cuts a part out of the next picture for `encode` and `show`; answers how many of its pixels are left out.
    package func cut(_ part: PixelRect, clearing cleared: PixelRect?, unchanged: Unchanged) -> Int {
        precondition(!part.isEmpty && PixelRect(size).contains(part))
        var part = Self.raw(part)
        var cleared = Self.raw(cleared)
        return Int(
            unsafe webps_frames_cut(
                frames, &part, &cleared, unchanged == .kept ? 0 : 1, unchanged == .transparentBlocks ? 1 : 0))
    }

    /// Encodes the part that was cut out; the result goes to the compressor's sink.
    ///
    /// The corresponding C function is `WebPEncode`.
    package func encode(with compressor: WebPCompressor) throws(CoderError) {
        unsafe try compressor.run { encoder in unsafe webps_frames_encode(frames, encoder) }
    }

    /// Makes the part that was cut out what is seen.
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
