import CoderPluginKit
import ImageModel
import WebPShim

/// The code that the parts of the bridge share.
enum WebPLibrary {
    static let name = "libwebp"

    /// Returns the error for a status; `.needsInput` if more bytes would help.
    static func error(_ status: Int32) -> CoderError {
        var error =
            switch status {
            case WEBPS_NEEDS_INPUT: CoderError.needsInput
            case WEBPS_UNSUPPORTED: CoderError.unsupported("this kind of WebP bitstream")
            case WEBPS_NO_MEMORY: CoderError(.outOfMemory, "not enough memory for the WebP library")
            case WEBPS_INVALID: CoderError.invalidArgument("the encoder's settings contradict each other")
            case WEBPS_TOO_COMPLEX:
                CoderError.invalidArgument(
                    "a partition of the image exceeds 512 KiB",
                    hint: "raise webp.partitions or webp.partition-limit, or lower the quality")
            case WEBPS_TOO_LARGE: CoderError(.limitExceeded, "the file would exceed 4 GiB")
            case WEBPS_MISUSE: CoderError(.misuse, "the WebP library refuses its arguments")
            default: CoderError.corrupt("the WebP data is damaged")
            }
        error.domain = name
        return error
    }
}

/// The facts of a file, read without decoding.
enum WebPContainer {
    /// The facts in the first bytes.
    struct Features {
        var canvas: PixelSize
        var hasAlpha: Bool
        var isAnimated: Bool
        var isLossless: Bool
    }

    /// The first image of an animation.
    struct Frame {
        var rect: PixelRect
        var hasAlpha: Bool
        /// Whether its bytes are complete.
        var isComplete: Bool
        /// The range of its chunks in the file.
        var bytes: Range<Int>
    }

    /// The metadata chunks.
    enum Chunk: String {
        case profile = "ICCP"
        case exif = "EXIF"
        case xmp = "XMP "
    }

    /// - Throws: `.needsInput` even if the source is complete.
    ///
    /// The corresponding C function is `WebPGetFeatures`.
    static func features(_ source: ByteSource, in range: Range<Int>? = nil) throws(CoderError) -> Features {
        var raw = webps_features()
        let (bytes, count) = try unsafe view(source, range)
        let status = unsafe webps_read_features(bytes, count, &raw)
        if status != WEBPS_OK { throw WebPLibrary.error(status) }
        return Features(
            canvas: PixelSize(Int(raw.width), Int(raw.height)), hasAlpha: raw.has_alpha != 0,
            isAnimated: raw.has_animation != 0, isLossless: raw.is_lossless != 0)
    }

    /// - Throws: `.needsInput` even if the source is complete.
    ///
    /// The corresponding C function is `WebPDemuxGetFrame`.
    static func firstFrame(_ source: ByteSource) throws(CoderError) -> Frame {
        var raw = webps_frame()
        let (bytes, count) = try unsafe view(source, nil)
        let status = unsafe webps_first_frame(bytes, count, &raw)
        if status != WEBPS_OK { throw WebPLibrary.error(status) }
        let start = min(Int(raw.offset), count)
        let end = min(start + Int(raw.size), count)
        return Frame(
            rect: PixelRect(x: Int(raw.x), y: Int(raw.y), width: Int(raw.width), height: Int(raw.height)),
            hasAlpha: raw.has_alpha != 0, isComplete: raw.is_complete != 0, bytes: start..<end)
    }

    /// Whether the alpha plane of a lossy still is compressed and filtered horizontally. libwebp 1.2.4 undoes this
    /// filter from the first row of a part on, as if there were no row above.
    ///
    /// - Source: WebP container specification, "Alpha": bits 0 and 1 of the first byte are the compression method (1 is
    ///   lossless), bits 2 and 3 the filtering method (1 is horizontal).
    static func filtersAlpha(_ source: ByteSource) -> Bool {
        var reader = ByteReader(source, at: 12)
        while let type = try? reader.bytes(4), let size = try? reader.u32LE() {
            if type.elementsEqual("ALPH".utf8) { return (try? reader.u8()).map { $0 & 0x0F == 0x05 } ?? true }
            if type.starts(with: "VP8 ".utf8) || type.starts(with: "VP8L".utf8) { return false }
            guard (try? reader.skip(Int(size) + Int(size & 1))) != nil else { return false }
        }
        return false
    }

    /// Returns the end of the chunk with a still's pixels, even if its bytes are missing; nil before its header has
    /// arrived.
    ///
    /// - Source: RFC 9649 section 2.3.
    static func imageEnd(_ source: ByteSource) -> Int? {
        var reader = ByteReader(source, at: 12)
        while let name = try? reader.bytes(4), let size = try? reader.u32LE() {
            if name.elementsEqual("VP8 ".utf8) || name.elementsEqual("VP8L".utf8) { return reader.offset + Int(size) }
            guard (try? reader.skip(Int(size) + Int(size & 1))) != nil else { return nil }
        }
        return nil
    }

    /// Returns the range of the first complete chunk of a kind; nil if there is none, or none yet.
    ///
    /// The corresponding C function is `WebPDemuxGetChunk`.
    static func chunk(_ kind: Chunk, of source: ByteSource) -> Range<Int>? {
        var offset: UInt64 = 0
        var size: UInt64 = 0
        guard let (bytes, count) = try? unsafe view(source, nil),
            unsafe webps_find_chunk(bytes, count, kind.rawValue, &offset, &size) != 0,
            offset + size <= UInt64(count)
        else { return nil }
        return Int(offset)..<Int(offset + size)
    }

    private static func view(
        _ source: ByteSource, _ range: Range<Int>?
    ) throws(CoderError) -> (UnsafePointer<UInt8>, Int) {
        let range = range ?? 0..<source.available
        guard range.upperBound <= source.available, let base = unsafe source.baseAddress else { throw .needsInput }
        return unsafe (base + range.lowerBound, range.count)
    }
}
