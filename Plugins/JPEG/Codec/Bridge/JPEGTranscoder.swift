import CoderPluginKit
import ImageModel
import JPEGShim

/// Copies the coefficients of an image from one file to another.
@safe final class JPEGTranscoder {
    /// The order in which the coefficients are written.
    enum Process {
        /// Sequential or progressive, with restart markers, as in the source.
        case asItIs
        case sequential
        case progressive
    }

    private let decompressor: JPEGDecompressor
    private let host: HostServices
    private let poll: CancellationPoll
    let header: JPEGDecompressor.Header

    /// Reads the header.
    ///
    /// - Throws: `.corrupt`, `.truncated`, `.limitExceeded`; `.refused` if the library has no coefficients.
    init(_ source: ByteSource, _ host: HostServices) throws(CoderError) {
        decompressor = try JPEGDecompressor(source, needsWhole: false)
        do throws(CoderError) {
            header = try decompressor.readHeader()
        } catch {
            throw Self.refusal(error)
        }
        self.host = host
        poll = CancellationPoll(host)
    }

    /// Reads all coefficients; damage is an error.
    ///
    /// The corresponding C function is `jpeg_read_coefficients`.
    func read(maxScans: Int) throws(CoderError) {
        var watch = unsafe jpegs_watch()
        unsafe watch.poll = poll.callback
        unsafe watch.context = poll.context
        unsafe watch.most_scans = UInt32(clamping: maxScans)
        decompressor.lend()
        let status = unsafe jpegs_decoder_coefficients(decompressor.decoder, &watch)
        if status == JPEGS_SCANS { throw .limit("scans", allowed: maxScans, requested: maxScans + 1) }
        try check(status)
    }

    /// Crops and rotates the coefficients; may be called once.
    func turn(_ cut: JPEGCut) throws(CoderError) {
        var raw = jpegs_cut()
        raw.x = UInt32(cut.kept.x)
        raw.y = UInt32(cut.kept.y)
        raw.width = UInt32(cut.kept.width)
        raw.height = UInt32(cut.kept.height)
        raw.mirrored = cut.isMirrored ? 1 : 0
        raw.flipped = cut.isFlipped ? 1 : 0
        raw.transposed = cut.isTransposed ? 1 : 0
        try check(unsafe jpegs_decoder_turn(decompressor.decoder, &raw))
    }

    /// Returns the bytes of the data and the codes of a sequential file, to a thousandth.
    func sequentialBytes() throws(CoderError) -> Int {
        var bytes: UInt64 = 0
        try check(unsafe jpegs_decoder_measure(decompressor.decoder, &bytes))
        return Int(clamping: bytes)
    }

    /// Writes a file without metadata piece by piece.
    ///
    /// The corresponding C function is `jpeg_finish_compress`.
    func write(_ process: Process, _ output: @escaping ([UInt8]) throws(CoderError) -> Void) throws(CoderError) {
        let compressor = unsafe try JPEGCompressor(host) { bytes in
            do throws(CoderError) {
                try output(unsafe Array(bytes))
                return nil
            } catch {
                return error
            }
        }
        let code =
            switch process {
            case .asItIs: JPEGS_AS_IT_IS
            case .sequential: JPEGS_SEQUENTIAL
            case .progressive: JPEGS_PROGRESSIVE
            }
        do throws(CoderError) {
            try compressor.start(decompressor, process: code)
            try compressor.finish()
        } catch {
            throw Self.refusal(error)
        }
    }

    private func check(_ status: Int32) throws(CoderError) {
        if let error = poll.error { throw error }
        do throws(CoderError) {
            guard case .done = try decompressor.step(status) else {
                throw CoderError(.misuse, "a complete file asked for more input")
            }
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Converts an error: a file that the library does not rewrite may still be valid.
    private static func refusal(_ error: CoderError) -> CoderError {
        guard error.code == .unsupportedFeature else { return error }
        var refusal = CoderError.refused("the image cannot be rewritten without decoding it: \(error.message)")
        refusal.domain = error.domain
        return refusal
    }
}
