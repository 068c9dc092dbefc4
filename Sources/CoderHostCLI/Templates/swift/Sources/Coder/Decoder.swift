import CEntry

/// Bytes to pixels.
final class Decoder: Session {
    private var source: UnsafePointer<cpi_source>?
    private var width: UInt32 = 0
    private var height: UInt32 = 0
    /// The next row to decode; earlier rows are in the surface.
    private var row: UInt32 = 0
    private(set) var dirty = cpi_rect()

    func setSource(_ source: UnsafePointer<cpi_source>) -> cpi_status {
        self.source = source
        state = .sourced
        return CPI_OK
    }

    /// Reads up to `count` bytes. If the input ends earlier, returns fewer, and whether the input can grow.
    private func read(
        _ offset: UInt64, _ buffer: UnsafeMutablePointer<UInt8>, _ count: UInt64
    ) throws(Failure) -> (count: UInt64, mayGrow: Bool) {
        guard let source else { throw Failure(CPI_MISUSE, "there is no input") }
        var copied: UInt64 = 0
        let status = source.pointee.read_at(source.pointee.ctx, offset, buffer, count, &copied)
        if status < 0 { throw Failure(status, "the input cannot be read", at: offset) }
        return (min(copied, count), status == CPI_NEED_INPUT)
    }

    /// Treat every number in a file as hostile until it is validated with arithmetic that cannot overflow.
    func readHeader(_ info: UnsafeMutablePointer<cpi_image_info>) throws(Failure) -> cpi_status {
        var bytes = [UInt8](repeating: 0, count: Header.byteCount)
        let (count, mayGrow) = try read(0, &bytes, UInt64(bytes.count))
        guard let header = Header(bytes, count: Int(count)) else {
            throw Failure(CPI_NOT_MINE, "this is another format")
        }
        if count < UInt64(bytes.count) {
            if mayGrow { return CPI_NEED_INPUT }
            throw Failure(CPI_TRUNCATED, "the data ends in the header", at: count)
        }
        let place = UInt64(Header.magic.count)
        guard header.width > 0, header.height > 0 else { throw Failure(CPI_CORRUPT, "there are no pixels", at: place) }
        guard UInt64(header.width) * UInt64(header.height) <= UInt64(Int.max / bytesPerPixel - bytes.count) else {
            throw Failure(CPI_CORRUPT, "no data can be as large as the header says", at: place)
        }
        try checkSize(header.width, header.height)
        (width, height) = (header.width, header.height)
        state = .header

        var mine = cpi_image_info()
        mine.size = UInt32(MemoryLayout<cpi_image_info>.size)
        mine.flags = CPI_IMAGE_HAS_ALPHA
        (mine.width, mine.height, mine.bit_depth, mine.frame_count) = (width, height, 8, 1)
        mine.native = rgba
        // No color flags: the format has no color description.
        give(mine, to: info)
        return CPI_OK
    }

    func nextFrame(_ frame: UnsafeMutablePointer<cpi_frame_info>) -> cpi_status {
        if state != .header { return CPI_END }
        var mine = cpi_frame_info()
        mine.size = UInt32(MemoryLayout<cpi_frame_info>.size)
        mine.flags = CPI_FRAME_INDEPENDENT | CPI_FRAME_HAS_ALPHA
        mine.rect = cpi_rect(x: 0, y: 0, width: width, height: height)
        give(mine, to: frame)
        state = .frame
        return CPI_OK
    }

    func seekFrame(_ index: UInt32) throws(Failure) -> cpi_status {
        if index != 0 { throw Failure(CPI_INVALID_ARGUMENT, "there is only frame 0") }
        row = 0
        state = .header
        return CPI_OK
    }

    func decode(_ request: cpi_decode_request) throws(Failure) -> cpi_status {
        let (part, surface) = (request.region, request.surface.pointee)
        if part.width != 0 || request.scaled_width != 0 { throw Failure(CPI_REFUSED, "only whole images are decoded") }
        guard surface.isAgreed(width, height) else { throw Failure(CPI_MISUSE, "the surface format was not agreed") }

        if state == .decoded { row = 0 }
        state = .frame
        let first = row
        let rowBytes = UInt64(width) * UInt64(bytesPerPixel)
        while row < height {
            try askToGoOn(row, of: height)
            let offset = UInt64(Header.byteCount) + UInt64(row) * rowBytes
            // Writes directly into the surface. Bytes after the end of a row belong to the host.
            let (count, mayGrow) = try read(offset, surface.row(row), rowBytes)
            if count < rowBytes {
                return try runDry(first, offset, mayGrow, request.flags & CPI_DECODE_WANT_PARTIAL != 0)
            }
            row += 1
        }
        dirty = cpi_rect(x: 0, y: Int32(first), width: width, height: height - first)
        state = .decoded
        return CPI_OK
    }

    /// The input ended before the image; rows from `first` on are new.
    private func runDry(
        _ first: UInt32, _ offset: UInt64, _ mayGrow: Bool, _ wantsPartial: Bool
    ) throws(Failure) -> cpi_status {
        dirty = cpi_rect(x: 0, y: Int32(first), width: row > first ? width : 0, height: row - first)
        if wantsPartial && row > (mayGrow ? first : 0) { return CPI_PARTIAL }
        if mayGrow { return CPI_NEED_INPUT }
        throw Failure(CPI_TRUNCATED, "the data ends before the last row", at: offset)
    }
}
