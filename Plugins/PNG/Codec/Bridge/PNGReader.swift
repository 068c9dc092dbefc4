internal import CoderPluginKit
internal import Glibc
internal import ImageModel
internal import PNGShim

/// Reads the chunks in front of the pixels, and compressed metadata, with libpng.
@safe final class PNGReader {
    /// The header fields that libpng has read.
    struct Header {
        var size: PixelSize
        var depth: Int
        /// The bits of PNG 3rd edition, table 8: 1 palette, 2 color, 4 alpha.
        var colorType: UInt8
        var isInterlaced: Bool
        var hasPalette: Bool
        var hasTransparency: Bool
    }

    /// One textual entry, as UTF-8.
    struct Text {
        var key: String
        var bytes: [UInt8]
    }

    private let reader: OpaquePointer
    private var warningsTaken: UInt32 = 0

    init(limits: DecodeLimits) throws(CoderError) {
        var opened: OpaquePointer?
        let status = unsafe pngshim_reader_open(
            UInt32(clamping: limits.maxSide), UInt64(clamping: limits.maxMetadataBytes), &opened)
        guard status == PNGSHIM_OK, let opened = unsafe opened else {
            throw CoderError(.outOfMemory, "libpng could not be started", domain: "libpng")
        }
        unsafe reader = opened
    }

    deinit { unsafe pngshim_reader_close(reader) }

    /// Passes bytes of the source to libpng.
    ///
    /// - Throws: `.corrupt` with libpng's message.
    func push(_ range: Range<Int>, of source: ByteSource) throws(CoderError) {
        // Piece by piece, so that a large file need not be in memory.
        let status = source.withBytes(range) { bytes in
            unsafe bytes.withUnsafeBytes { piece in
                unsafe pngshim_reader_push(
                    reader, piece.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(piece.count))
            }
        }
        if status == PNGSHIM_OK { return }
        let words = unsafe String(cString: pngshim_reader_message(reader))
        var error = CoderError.corrupt("the image is damaged: \(words)", at: range.lowerBound)
        error.domain = "libpng"
        throw error
    }

    var header: Header {
        var raw = pngshim_header()
        unsafe pngshim_reader_header(reader, &raw)
        return Header(
            size: PixelSize(Int(raw.width), Int(raw.height)), depth: Int(raw.depth), colorType: raw.color_type,
            isInterlaced: raw.interlaced != 0, hasPalette: raw.has_palette != 0,
            hasTransparency: raw.has_transparency != 0)
    }

    /// The meaning of the samples.
    @unsafe
    var colors: pngshim_colors {
        var raw = pngshim_colors()
        unsafe pngshim_reader_colors(reader, &raw)
        return raw
    }

    /// Returns the profile of iCCP; nil if there is no usable one.
    var profile: [UInt8]? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt64 = 0
        guard unsafe pngshim_reader_profile(reader, &bytes, &count) == PNGSHIM_OK, unsafe bytes != nil else {
            return nil
        }
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Returns text number `index`; nil behind the last.
    func text(at index: Int) -> Text? {
        var raw = unsafe pngshim_text()
        guard unsafe pngshim_reader_text(reader, UInt32(index), &raw) == PNGSHIM_OK, let key = unsafe raw.key else {
            return nil
        }
        // Keywords are Latin-1 (PNG 3rd edition, 11.3.3.1).
        let name = unsafe Array(UnsafeRawBufferPointer(start: key, count: strnlen(key, 80)))
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: raw.bytes, count: Int(raw.length)))
        return unsafe Text(key: latin1(name), bytes: raw.is_utf8 != 0 ? bytes : Array(latin1(bytes).utf8))
    }

    /// Returns libpng's warnings since the last call.
    func takeWarnings() -> [String] {
        var found: [String] = []
        while let text = unsafe pngshim_reader_warning(reader, warningsTaken) {
            unsafe found.append(String(cString: text))
            warningsTaken += 1
        }
        return found
    }
}

/// Converts Latin-1 bytes to text.
func latin1(_ bytes: [UInt8]) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}
