internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Inflates, unfilters and converts the pixels of one picture after another, straight into a surface.
///
/// Everything in front of the surface has constant size: a few rows and 256 KiB.
@safe package final class PNGEngine {
    /// How far a picture is.
    package struct Progress {
        /// Rows that were touched since the last question.
        package var rows: Range<Int>
        /// Whether every row is there.
        package var isComplete: Bool
        /// Whether the compressed data is over.
        package var isOver: Bool
        /// Whether it holds more than the rows.
        package var hasExtraData: Bool
    }

    private let engine: OpaquePointer
    private let host: HostServices
    private var reserved = 0

    /// An engine for the colours that a reader has found.
    init(_ reader: PNGReader, host: HostServices) throws(CoderError) {
        var opened: OpaquePointer?
        guard unsafe pngshim_engine_open(&opened) == PNGSHIM_OK, let opened = unsafe opened else {
            throw CoderError(.outOfMemory, "there is no memory for the decoder")
        }
        unsafe engine = opened
        self.host = host
        var colors = unsafe reader.colors
        unsafe pngshim_engine_colors(opened, &colors)
    }

    deinit {
        unsafe pngshim_engine_close(engine)
        if reserved > 0 { try? host.reserve(bytes: -reserved) }
    }

    /// Begins a picture of the size of a surface, which must live as long as bytes are pushed in.
    func begin(_ surface: borrowing Surface, isInterlaced: Bool, blocky: Bool) throws(CoderError) {
        let (width, height) = (UInt32(surface.size.width), UInt32(surface.size.height))
        let needed = unsafe Int(
            clamping: pngshim_engine_memory(engine, width, height, UInt64(surface.bytesPerRow)))
        if needed > reserved {
            try host.reserve(bytes: needed - reserved)
            reserved = needed
        }
        var target = unsafe pngshim_target()
        unsafe target.pixels = surface.baseAddress.assumingMemoryBound(to: UInt8.self)
        unsafe target.stride = UInt64(surface.stride)
        unsafe target.row_bytes = UInt64(surface.bytesPerRow)
        unsafe target.channels = UInt8(surface.format.channels.count)
        unsafe target.bits = UInt8(surface.format.bits)
        unsafe target.blocky = blocky ? 1 : 0
        guard unsafe pngshim_engine_begin(engine, width, height, isInterlaced ? 1 : 0, &target) == PNGSHIM_OK else {
            throw CoderError(.outOfMemory, "there is no memory for the rows")
        }
    }

    /// Pushes bytes of the zlib stream in.
    ///
    /// - Throws: `.corrupt`.
    func push(_ range: Range<Int>, of source: ByteSource) throws(CoderError) {
        let status = source.withBytes(range) { bytes in
            unsafe bytes.withUnsafeBytes { piece in
                unsafe pngshim_engine_push(
                    engine, piece.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(piece.count))
            }
        }
        if status == PNGSHIM_OK { return }
        let words = unsafe String(cString: pngshim_engine_message(engine))
        throw .corrupt("the picture is damaged: \(words)", at: range.lowerBound)
    }

    func takeProgress() -> Progress {
        var raw = pngshim_progress()
        unsafe pngshim_engine_progress(engine, &raw)
        return Progress(
            rows: Int(raw.first_row)..<Int(raw.end_row), isComplete: raw.complete != 0, isOver: raw.ended != 0,
            hasExtraData: raw.extra != 0)
    }

    /// An address that tells surfaces apart.
    static func identity(of surface: borrowing Surface) -> Int {
        unsafe Int(bitPattern: surface.baseAddress)
    }
}

/// The checksum of PNG 3rd edition, annex D.
struct CRC32 {
    private(set) var value: UInt32 = 0

    mutating func add(_ bytes: RawSpan) {
        value = unsafe bytes.withUnsafeBytes { piece in
            unsafe pngshim_crc(value, piece.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(piece.count))
        }
    }
}
