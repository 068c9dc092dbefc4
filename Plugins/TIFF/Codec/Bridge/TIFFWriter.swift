internal import CoderPluginKit
internal import ImageModel
internal import TIFFShim

/// A file that libtiff writes.
@safe final class TIFFWriter {
    private let writer: OpaquePointer
    private let output: Output
    /// The order of bytes in numbers, and whether positions have 64 bits.
    let isBigEndian: Bool
    let isBig: Bool

    /// The output; libtiff replaces the position of the directory in the header at the end.
    private final class Output {
        let sink: ByteSink
        let isSeekable: Bool
        /// The end of the positions that the file can store.
        let limit: Int
        /// The whole file, for an output that only grows.
        var bytes: [UInt8] = []
        var failure: CoderError?

        init(_ sink: ByteSink, limit: Int, collects: Bool) {
            self.sink = sink
            self.limit = limit
            isSeekable = sink.isSeekable && !collects
        }

        var written = 0

        static var overflow: CoderError {
            // The contract carries no hint of an encoder, so the message names the remedy.
            CoderError(
                .unsupportedFeature,
                "a TIFF with 32-bit positions ends at 4 GiB; tiff.bigtiff=on writes 64-bit positions")
        }

        func write(_ bytes: UnsafeBufferPointer<UInt8>, at offset: Int) throws(CoderError) {
            guard bytes.count <= limit - offset else { throw Self.overflow }
            let inside = max(0, min(bytes.count, written - offset))
            if isSeekable {
                if inside > 0 { try sink.overwrite(unsafe Array(bytes[..<inside]), at: offset) }
                if inside < bytes.count {
                    let rest = unsafe UnsafeBufferPointer(rebasing: bytes[inside...])
                    if let error = unsafe ByteSink.error(sink.write(rest)) { throw error }
                }
            } else {
                unsafe self.bytes.replaceSubrange(offset..<offset + inside, with: bytes[..<inside])
                unsafe self.bytes.append(contentsOf: bytes[inside...])
            }
            written = max(written, offset + bytes.count)
        }
    }

    /// - Parameter collects: whether the file stays in memory until it is arranged by ``finish(_:)``.
    init(_ sink: ByteSink, isBig: Bool, isBigEndian: Bool, collects: Bool = false) throws(CoderError) {
        output = Output(sink, limit: isBig ? .max : 1 << 32, collects: collects)
        self.isBig = isBig
        self.isBigEndian = isBigEndian
        let context = unsafe Unmanaged.passUnretained(output).toOpaque()
        let opened = unsafe tiff_shim_writer_open(
            isBig ? 1 : 0, isBigEndian ? 1 : 0,
            { context, offset, bytes, count in
                let output = unsafe Unmanaged<Output>.fromOpaque(context!).takeUnretainedValue()
                do throws(CoderError) {
                    try unsafe output.write(UnsafeBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
                    return 0
                } catch {
                    output.failure = error
                    return 1
                }
            }, context)
        guard let opened = unsafe opened else {
            throw output.failure ?? CoderError(.outOfMemory, "not enough memory for the TIFF library")
        }
        unsafe writer = opened
    }

    deinit { unsafe tiff_shim_writer_free(writer) }

    private func check(_ status: Int32) throws(CoderError) {
        if let failure = output.failure { throw failure }
        guard status != 0 else { return }
        let text = unsafe String(cString: tiff_shim_writer_error(writer))
        var error = CoderError(.unsupportedFeature, text.isEmpty ? "the image cannot be encoded" : text)
        error.domain = TIFFFile.library
        throw error
    }

    func set(_ tag: Int, _ value: Int) throws(CoderError) {
        try check(unsafe tiff_shim_set_number(writer, UInt32(tag), UInt32(value)))
    }
    func set(_ tag: Int, real value: Double) throws(CoderError) {
        try check(unsafe tiff_shim_set_real(writer, UInt32(tag), value))
    }
    func set(_ tag: Int, offset: Int) throws(CoderError) {
        try check(unsafe tiff_shim_set_offset(writer, UInt32(tag), UInt64(offset)))
    }
    func set(_ tag: Int, text: [UInt8]) throws(CoderError) {
        let bytes = text.prefix { $0 != 0 } + [0]
        try check(
            unsafe Array(bytes).withUnsafeBufferPointer { bytes in
                unsafe bytes.baseAddress!.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                    unsafe tiff_shim_set_text(writer, UInt32(tag), $0)
                }
            })
    }
    /// - Parameter count: the number of values; nil for bytes.
    func set(_ tag: Int, bytes: [UInt8], count: Int? = nil) throws(CoderError) {
        try check(unsafe tiff_shim_set_bytes(writer, UInt32(tag), bytes, UInt32(count ?? bytes.count)))
    }
    func setExtraSample(_ kind: Int) throws(CoderError) {
        try check(unsafe tiff_shim_set_extra_sample(writer, UInt16(kind)))
    }

    /// The position of the next appended bytes.
    var end: Int { unsafe Int(tiff_shim_end(writer)) }

    /// Appends bytes that a field points to.
    func append(_ bytes: [UInt8]) throws(CoderError) {
        var offset: UInt64 = 0
        try check(unsafe tiff_shim_append(writer, bytes, UInt64(bytes.count), &offset))
    }

    /// Encodes a strip or a tile; the library may change the bytes.
    func write(_ bytes: inout [UInt8], count: Int, block: Int, isTile: Bool) throws(CoderError) {
        precondition(count <= bytes.count)
        let status = unsafe bytes.withUnsafeMutableBufferPointer {
            unsafe tiff_shim_write_block(writer, isTile ? 1 : 0, UInt32(block), $0.baseAddress!, UInt64(count))
        }
        // libtiff finds the end before it writes. Codes may be a little longer than the samples.
        if status != 0, output.failure == nil, output.written > output.limit - 2 * count - 1 << 16 {
            throw Output.overflow
        }
        try check(status)
    }

    /// Announces smaller levels of the page, which follow as pages.
    func setLevels(_ count: Int) throws(CoderError) { try check(unsafe tiff_shim_set_levels(writer, UInt16(count))) }

    /// Writes the directory of the page.
    func endPage() throws(CoderError) { try check(unsafe tiff_shim_end_page(writer)) }

    /// Completes the file.
    ///
    /// - Parameter arrange: returns the file in another order, if it is collected.
    func finish(_ arrange: ([UInt8]) throws(CoderError) -> [UInt8] = { $0 }) throws(CoderError) {
        try check(unsafe tiff_shim_finish(writer))
        if !output.isSeekable { try output.sink.write(try arrange(output.bytes)) }
    }
}
