import CoderPluginKit
import ImageModel

/// A bitmap behind its headers: palette, profile and the place of the pixels.
struct BMPImage {
    let header: BMPHeader
    let info: ImageInfo
    private let session: DecoderSession
    private let unpacker: BMPRowUnpacker
    private let palette: BMPPalette?
    /// The position of the first stored row.
    private let pixels: Int

    /// Reads the palette between header and pixels.
    ///
    /// - Parameter pixels: the position of the pixels by the file's header; nil if they follow the palette.
    init(
        _ session: DecoderSession, _ header: BMPHeader, _ reader: inout ByteReader, pixels start: Int?
    ) throws(CoderError) {
        self.session = session
        self.header = header
        if header.depth <= 8 {
            palette = try BMPPalette(header, &reader, end: start)
        } else {
            palette = nil
        }
        // Some writers state no position, or one within the headers.
        let stated = start ?? 0
        pixels = stated >= header.end ? stated : reader.offset
        unpacker = BMPRowUnpacker(header, palette: palette)
        var format = unpacker.format
        switch header.storage {
        case .runs4, .runs8, .runs24:
            guard session.source.isComplete else { throw .needsInput }
            let result = try Self.runs(header, session, pixels).walk(session.host) { _, _, _, _ in }
            // Pixels without a value are transparent.
            if result.pixels < header.size.width * header.size.height { format = .rgba8 }
        case .huffman:
            guard session.source.isComplete else { throw .needsInput }
        default: break
        }
        let isPlain = header.storage == .plain || header.storage == .masks
        info = ImageInfo(
            size: header.size, nativeFormat: format, bitDepth: unpacker.bitDepth, color: unpacker.color,
            density: header.density, decodesRows: isPlain, regionCost: isPlain ? .above : .whole)
        if header.color.isLinked { session.host.warn("the color profile is in another file, which is not opened") }
    }

    private static func runs(_ header: BMPHeader, _ session: DecoderSession, _ pixels: Int) -> BMPRuns {
        BMPRuns(storage: header.storage, size: header.size, source: session.source, start: pixels)
    }

    /// Returns the embedded profile.
    func metadata() throws(CoderError) -> [MetadataBlob] {
        guard let range = header.color.profile else { return [] }
        guard range.count <= session.limits.maxMetadataBytes else {
            session.host.warn("the color profile of \(range.count) bytes is above the limit and is ignored")
            return []
        }
        guard session.source.available >= range.upperBound else {
            if !session.source.isComplete { throw .needsInput }
            session.host.warn("the color profile is behind the end of the file and is ignored")
            return []
        }
        return [MetadataBlob(.icc, session.source.bytes(range))]
    }

    /// The number of complete rows within the first `available` bytes.
    func rowsThere(_ available: Int) -> Int {
        min(header.size.height, max(0, available - pixels) / header.rowBytes)
    }

    /// Converts the columns of the stored row `row` to row `y` of the surface; returns whether samples were cut off.
    func unpack(_ row: Int, columns: Range<Int>, into surface: borrowing Surface, at y: Int) -> Bool {
        let start = pixels + row * header.rowBytes
        return session.source.withBytes(start..<start + header.rowBytes) { bytes in
            surface.withMutableRow(y) { unpacker.unpack(bytes, columns: columns, into: &$0) }
        }
    }

    // MARK: Runs and codes

    /// Decodes runs or Huffman codes into a surface of the whole image.
    func decodePacked(into surface: borrowing Surface) throws(CoderError) {
        guard surface.size == header.size else { throw .refused("runs are decoded as a whole") }
        if header.storage == .huffman { return try decodeCodes(into: surface) }
        for y in 0..<surface.size.height {
            surface.withMutableRow(y) { row in
                for offset in row.byteOffsets { row.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self) }
            }
        }
        let bytes = surface.format.bytesPerPixel
        let source = session.source
        let storage = header.storage
        let result = try Self.runs(header, session, pixels).walk(session.host) {
            y, x, count, piece throws(CoderError) in
            surface.withMutableRow(y) { row in
                for number in 0..<count {
                    let place = (x + number) * bytes
                    switch piece {
                    case .run(let even, let odd):
                        let value = number % 2 == 0 ? even : odd
                        if storage == .runs24 {
                            put(source, value, place, &row)
                        } else {
                            unpacker.put(value, at: place, into: &row)
                        }
                    case .stored(let start):
                        switch storage {
                        case .runs24: put(source, start + 3 * number, place, &row)
                        case .runs4:
                            let pair = Int(source[start + number / 2])
                            unpacker.put(number % 2 == 0 ? pair >> 4 : pair & 15, at: place, into: &row)
                        default: unpacker.put(Int(source[start + number]), at: place, into: &row)
                        }
                    }
                    if bytes == 4 { row.storeBytes(of: 255, toByteOffset: place + 3, as: UInt8.self) }
                }
            }
        }
        if result.isCut { throw .truncated("the runs end before the image does") }
    }

    private func put(_ source: ByteSource, _ color: Int, _ place: Int, _ row: inout MutableRawSpan) {
        for channel in 0..<3 {
            row.storeBytes(of: source[color + 2 - channel], toByteOffset: place + channel, as: UInt8.self)
        }
    }

    private func decodeCodes(into surface: borrowing Surface) throws(CoderError) {
        let available = session.source.available
        var codes = HuffmanRows(session.source.window(min(pixels, available)..<available))
        for row in 0..<header.size.height {
            if row % 64 == 0 { try session.host.checkCancellation() }
            let runs = try codes.nextRow(width: header.size.width)
            surface.withMutableRow(header.size.height - 1 - row) { target in
                var (x, index) = (0, 0)
                for run in runs {
                    for column in x..<x + run { unpacker.put(index, at: 3 * column, into: &target) }
                    (x, index) = (x + run, 1 - index)
                }
                // The pixels behind the last run are white.
                for column in x..<header.size.width { unpacker.put(0, at: 3 * column, into: &target) }
            }
        }
    }
}
