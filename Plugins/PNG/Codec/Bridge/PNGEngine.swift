internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Inflates, unfilters and converts the pixels of one image after another, directly into a surface.
///
/// The working memory has constant size: a few rows and 256 KiB.
@safe package final class PNGEngine {
    /// The progress of an image.
    package struct Progress {
        /// The rows changed since the last report.
        package var rows: Range<Int>
        /// Whether every row is complete.
        package var isComplete: Bool
        /// Whether the compressed data has ended.
        package var isOver: Bool
        /// Whether the compressed data continues after the last row.
        package var hasExtraData: Bool
        /// The number of bytes pushed behind the end of the compressed data.
        package var unusedBytes: Int
    }

    private let engine: OpaquePointer
    private let host: HostServices
    private var reserved = 0

    /// Makes an engine for the colors that a reader has found.
    ///
    /// - Parameter isStored: whether samples stay as stored: indices, and no transparent color.
    init(_ reader: PNGReader, host: HostServices, isStored: Bool = false) throws(CoderError) {
        var opened: OpaquePointer?
        guard unsafe pngshim_engine_open(&opened) == PNGSHIM_OK, let opened = unsafe opened else {
            throw CoderError(.outOfMemory, "not enough memory for the decoder")
        }
        unsafe engine = opened
        self.host = host
        var colors = unsafe reader.colors
        if isStored {
            if colors.color_type == 3 { colors.color_type = 0 }
            colors.has_key = 0
        }
        unsafe pngshim_engine_colors(opened, &colors)
    }

    deinit {
        unsafe pngshim_engine_close(engine)
        if reserved > 0 { try? host.reserve(bytes: -reserved) }
    }

    /// Begins an image, in a surface that must live as long as the caller pushes bytes.
    ///
    /// - Parameter shift: for an interlaced image, decodes only every 2ⁿ-th pixel in every 2ⁿ-th row.
    func begin(
        _ size: PixelSize, in surface: borrowing Surface, isInterlaced: Bool, blocky: Bool, shift: Int = 0
    ) throws(CoderError) {
        let (width, height) = (UInt32(size.width), UInt32(size.height))
        let needed = unsafe Int(
            clamping: pngshim_engine_memory(engine, width, height, UInt64(surface.bytesPerRow)))
        if needed > reserved {
            try host.reserve(bytes: needed - reserved)
            reserved = needed
        }
        var target = unsafe Self.target(surface, blocky: blocky, shift: shift)
        guard unsafe pngshim_engine_begin(engine, width, height, isInterlaced ? 1 : 0, &target) == PNGSHIM_OK else {
            throw CoderError(.outOfMemory, "not enough memory for the rows")
        }
    }

    /// Continues in another surface, up to the row `end`.
    func goOn(in surface: borrowing Surface, upTo end: Int) throws(CoderError) {
        var target = unsafe Self.target(surface, blocky: false, shift: 0)
        guard unsafe pngshim_engine_band(engine, &target, UInt32(end)) == PNGSHIM_OK else {
            throw CoderError(.misuse, "the rows do not continue the last ones")
        }
    }

    @unsafe
    private static func target(_ surface: borrowing Surface, blocky: Bool, shift: Int) -> pngshim_target {
        unsafe pngshim_target(
            pixels: surface.baseAddress.assumingMemoryBound(to: UInt8.self), stride: UInt64(surface.stride),
            row_bytes: UInt64(surface.bytesPerRow), channels: UInt8(surface.format.channels.count),
            bits: UInt8(surface.format.bits), blocky: blocky ? 1 : 0, shift: UInt8(shift))
    }

    /// Decodes bytes of the zlib stream, and returns how many were taken: all, unless the surface is full.
    ///
    /// - Throws: `.corrupt`.
    func push(_ range: Range<Int>, of source: ByteSource) throws(CoderError) -> Int {
        var taken = 0
        let status = source.withBytes(range) { bytes in
            unsafe bytes.withUnsafeBytes { piece in
                var count: UInt64 = 0
                let status = unsafe pngshim_engine_push(
                    engine, piece.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(piece.count), &count)
                taken = Int(count)
                return status
            }
        }
        if status == PNGSHIM_OK { return taken }
        let words = unsafe String(cString: pngshim_engine_message(engine))
        throw .corrupt("the image is damaged: \(words)", at: range.lowerBound)
    }

    /// Whether further bytes are useless now: the surface is full, except for the end of the data.
    var isFull: Bool { unsafe pngshim_engine_is_full(engine) != 0 }

    /// Whether the compressed data has ended: further bytes change nothing.
    var hasEnded: Bool { unsafe pngshim_engine_has_ended(engine) != 0 }

    /// Returns the progress, and counts changed rows from here on.
    func takeProgress() -> Progress {
        var raw = pngshim_progress()
        unsafe pngshim_engine_progress(engine, &raw)
        return Progress(
            rows: Int(raw.first_row)..<Int(raw.end_row), isComplete: raw.complete != 0, isOver: raw.ended != 0,
            hasExtraData: raw.extra != 0, unusedBytes: Int(clamping: raw.unused))
    }

    /// An address that identifies a surface.
    static func identity(of surface: borrowing Surface) -> Int {
        unsafe Int(bitPattern: surface.baseAddress)
    }
}

/// The checksum of PNG 3rd edition, annex D.
struct CRC32 {
    private(set) var value: UInt32

    /// - Parameter value: the checksum of the bytes so far.
    init(_ value: UInt32 = 0) { self.value = value }

    mutating func add(_ bytes: RawSpan) {
        value = unsafe bytes.withUnsafeBytes { piece in
            unsafe pngshim_crc(value, piece.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(piece.count))
        }
    }
}
