import CoderPluginKit
import ImageModel

/// Reads rows of single channels: all rows of a channel precede those of the next one.
final class CompositePlanes {
    /// How the channels are stored.
    private enum Storage { case raw, runs, zip, zipOfDifferences }

    private let source: ByteSource
    private let host: HostServices
    private let header: PSDHeader
    private let storage: Storage
    /// The position behind the number of the compression.
    private let start: Int
    /// The next row of each channel and its position, for runs.
    private var cursors: [(row: Int, offset: Int)] = []
    /// The rows of all used channels, if they are one compressed stream.
    private var inflated: [UInt8]?
    /// The number of channels that are used.
    private let used: Int

    /// The number of bytes that the length of a row in runs has.
    private var entryBytes: Int { header.isLarge ? 4 : 2 }

    /// - Parameters:
    ///   - used: the number of channels that are read, from the first on.
    ///   - start: the position of the image data.
    init(_ session: DecoderSession, _ header: PSDHeader, used: Int, at start: Int) throws(CoderError) {
        (source, host, self.header, self.used) = (session.source, session.host, header, used)
        var reader = ByteReader(source, at: start)
        switch try reader.u16BE() {
        case 0: storage = .raw
        case 1: storage = .runs
        case 2: storage = .zip
        case 3: storage = .zipOfDifferences
        case let number: throw .corrupt("compression \(number) does not exist", at: start)
        }
        self.start = reader.offset
        if storage == .runs {
            try ByteReader(source, at: self.start).require(header.channels * header.size.height * entryBytes)
        }
    }

    /// Reads row `y` of a channel; returns false if its runs do not fill it.
    ///
    /// - Throws: `.needsInput`, `.truncated`.
    func read(_ y: Int, of channel: Int, into row: inout [UInt8]) throws(CoderError) -> Bool {
        switch storage {
        case .raw:
            let at = start + (channel * header.size.height + y) * header.rowBytes
            try ByteReader(source, at: at).require(header.rowBytes)
            row = source.bytes(at..<at + header.rowBytes)
            return true
        case .runs:
            try move(channel, to: y)
            let (offset, length) = (cursors[channel].offset, length(channel, y))
            try ByteReader(source, at: offset).require(length)
            if row.count != header.rowBytes { row = [UInt8](repeating: 0, count: header.rowBytes) }
            // More bytes than a row can need are not read.
            let end = offset + min(length, 2 * header.rowBytes + 128)
            let isFull = source.withBytes(offset..<end) { PackBits.unpack($0, into: &row) }
            cursors[channel] = (y + 1, offset + length)
            return isFull
        case .zip, .zipOfDifferences:
            let bytes = try inflate()
            let at = (channel * header.size.height + y) * header.rowBytes
            row = Array(bytes[at..<at + header.rowBytes])
            if storage == .zipOfDifferences { RowDifferences.undo(&row, depth: header.depth) }
            return true
        }
    }

    /// Decompresses the used channels, for which the host permits the memory.
    private func inflate() throws(CoderError) -> [UInt8] {
        if let inflated { return inflated }
        guard source.isComplete else { throw .needsInput }
        let total = used * header.size.height * header.rowBytes
        try host.reserve(bytes: total)
        let made = try Inflater.bytes(source, at: start, total: total, host)
        inflated = made
        return made
    }

    // MARK: The table of lengths

    /// Makes `y` the next row of a channel.
    private func move(_ channel: Int, to y: Int) throws(CoderError) {
        while cursors.count <= channel {
            let previous = cursors.count - 1
            let end = header.channels * header.size.height * entryBytes
            let offset =
                previous < 0
                ? start + end : firsts[previous] + (try lengths(previous, rows: 0..<header.size.height))
            firsts.append(offset)
            cursors.append((0, offset))
        }
        let cursor = cursors[channel]
        if cursor.row == y { return }
        if cursor.row < y {
            cursors[channel] = (y, cursor.offset + (try lengths(channel, rows: cursor.row..<y)))
        } else {
            cursors[channel] = (y, firsts[channel] + (try lengths(channel, rows: 0..<y)))
        }
    }

    /// The position of the first row of each channel.
    private var firsts: [Int] = []

    private func length(_ channel: Int, _ y: Int) -> Int {
        let at = start + (channel * header.size.height + y) * entryBytes
        return (at..<at + entryBytes).reduce(0) { $0 << 8 | Int(source[$1]) }
    }

    /// Returns the sum of the lengths of rows.
    private func lengths(_ channel: Int, rows: Range<Int>) throws(CoderError) -> Int {
        var sum = 0
        var y = rows.lowerBound
        while y < rows.upperBound {
            try host.checkCancellation()
            let count = min(rows.upperBound - y, 1 << 14)
            let at = start + (channel * header.size.height + y) * entryBytes
            sum += source.withBytes(at..<at + count * entryBytes) { bytes in
                var part = 0
                for entry in stride(from: 0, to: bytes.byteCount, by: entryBytes) {
                    var length = 0
                    for byte in 0..<entryBytes { length = length << 8 | Int(bytes.byte(at: entry + byte)) }
                    part += length
                }
                return part
            }
            y += count
        }
        return sum
    }
}
