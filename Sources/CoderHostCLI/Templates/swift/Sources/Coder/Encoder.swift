import CEntry

/// Pixels to bytes.
final class Encoder: Session {
    private var sink: UnsafePointer<cpi_sink>?
    private var width: UInt32 = 0
    private var height: UInt32 = 0

    func begin(_ info: cpi_image_info, _ sink: UnsafePointer<cpi_sink>) throws(Failure) -> cpi_status {
        guard info.width > 0, info.height > 0 else { throw Failure(CPI_INVALID_ARGUMENT, "there are no pixels") }
        if info.frame_count > 1 { throw Failure(CPI_UNSUPPORTED, "more than one frame") }
        guard info.native.isRGBA else { throw Failure(CPI_MISUSE, "the pixel format was not accepted") }
        try checkSize(info.width, info.height)
        (self.sink, width, height) = (sink, info.width, info.height)
        state = .begun
        return CPI_OK
    }

    private func write(_ bytes: UnsafePointer<UInt8>, _ count: Int) throws(Failure) {
        guard let sink else { throw Failure(CPI_MISUSE, "there is no output") }
        let status = sink.pointee.write(sink.pointee.ctx, bytes, UInt64(count))
        if status >= 0 { return }
        var failure = Failure(status, "the output cannot be written")
        if status == CPI_LIMIT { failure.limit = (CPI_LIMIT_OUTPUT_BYTES, limits.max_output_bytes, 0) }
        throw failure
    }

    func addFrame(_ surface: cpi_surface) throws(Failure) -> cpi_status {
        guard surface.isAgreed(width, height) else { throw Failure(CPI_MISUSE, "the surface format was not agreed") }
        try write(Header(width: width, height: height).bytes, Header.byteCount)
        for y in 0..<height {
            try askToGoOn(y, of: height)
            try write(surface.row(y), Int(width) * bytesPerPixel)
        }
        state = .framed
        return CPI_OK
    }

    /// Write the trailer of your format here, if it has one.
    func finish() -> cpi_status {
        state = .finished
        return CPI_OK
    }
}
