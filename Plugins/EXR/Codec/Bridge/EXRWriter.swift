internal import CoderPluginKit
internal import EXRShim
internal import ImageModel

/// A file that OpenEXRCore writes.
@safe final class EXRWriter {
    private let writer: OpaquePointer
    private let output: Output

    /// The bytes of the file, appended or changed.
    private final class Output {
        let sink: ByteSink
        /// The number of bytes so far.
        var count = 0
        /// All bytes, if those that are written cannot be changed.
        var held: [UInt8] = []
        /// The error of the first failed write.
        var failure: CoderError?

        init(_ sink: ByteSink) { self.sink = sink }

        private func append(_ bytes: [UInt8]) throws(CoderError) {
            guard !bytes.isEmpty else { return }
            if sink.isSeekable { try sink.write(bytes) } else { held += bytes }
            count += bytes.count
        }

        func write(_ bytes: UnsafeBufferPointer<UInt8>, at offset: UInt64) -> Int32 {
            do throws(CoderError) {
                // The library leaves room for the table of chunks, which it writes last.
                guard let start = Int(exactly: offset), start <= count + 1 << 32 else {
                    throw CoderError(.misuse, "the library left a gap in the output")
                }
                if start > count { try append([UInt8](repeating: 0, count: start - count)) }
                let over = min(bytes.count, count - start)
                let (old, new) = unsafe (Array(bytes.prefix(over)), Array(bytes.dropFirst(over)))
                if over > 0, sink.isSeekable {
                    try sink.overwrite(old, at: start)
                } else if over > 0 {
                    held.replaceSubrange(start..<start + over, with: old)
                }
                try append(new)
                return 0
            } catch {
                failure = failure ?? error
                return 1
            }
        }
    }

    /// The form of the output.
    struct Form {
        let size: PixelSize
        /// One letter for each sample of a pixel.
        let channels: String
        let isHalf: Bool
        let compression: UInt8
        let chromaticities: [Float]?
        let aspect: Float
    }

    /// Writes the header.
    ///
    /// - Throws: `.inputOutput`, `.limitExceeded`, `.outOfMemory`.
    init(_ form: Form, to sink: ByteSink) throws(CoderError) {
        output = Output(sink)
        let context = unsafe Unmanaged.passUnretained(output).toOpaque()
        let points = form.chromaticities ?? [Float](repeating: 0, count: 8)
        let made = unsafe form.channels.withCString { channels in
            var format = unsafe exr_shim_format(
                width: UInt32(form.size.width), height: UInt32(form.size.height), channels: channels,
                is_half: form.isHalf ? 1 : 0, compression: form.compression,
                has_chromaticities: form.chromaticities == nil ? 0 : 1,
                chromaticities: (
                    points[0], points[1], points[2], points[3], points[4], points[5], points[6], points[7]
                ), pixel_aspect: form.aspect)
            return unsafe exr_shim_writer_open(
                &format,
                { context, offset, bytes, count in
                    let output = unsafe Unmanaged<Output>.fromOpaque(context!).takeUnretainedValue()
                    return unsafe output.write(UnsafeBufferPointer(start: bytes, count: Int(count)), at: offset)
                }, context)
        }
        guard let made = unsafe made else { throw CoderError(.outOfMemory, "there is no memory for the file") }
        unsafe writer = made
        try check(unsafe exr_shim_writer_status(writer))
    }

    deinit { unsafe exr_shim_writer_free(writer) }

    private func check(_ status: Int32) throws(CoderError) {
        if let failure = output.failure { throw failure }
        guard status != 0 else { return }
        var error = CoderError.refused(unsafe String(cString: exr_shim_writer_error(writer)))
        error.domain = EXRFile.library
        throw error
    }

    /// The number of rows of a chunk.
    var rows: Int { unsafe Int(exr_shim_writer_rows(writer)) }

    /// Encodes the chunk that begins at a row: interleaved samples.
    func add(_ samples: [UInt8], row: Int) throws(CoderError) {
        try check(
            unsafe samples.withUnsafeBufferPointer {
                unsafe exr_shim_writer_add(writer, UInt32(row), $0.baseAddress!)
            })
    }

    /// Writes the rest of the file.
    func finish() throws(CoderError) {
        try check(unsafe exr_shim_writer_finish(writer))
        if !output.held.isEmpty { try output.sink.write(output.held) }
    }
}
