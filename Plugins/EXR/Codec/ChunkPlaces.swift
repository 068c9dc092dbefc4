internal import CoderPluginKit
internal import ImageModel

/// Where the chunks of a file are, to tell the end of a file from damage.
///
/// The headers of all parts are followed by the tables of all parts: eight bytes for each chunk.
struct ChunkPlaces {
    private let source: ByteSource
    private let isMultipart: Bool
    /// The first byte of each part's table.
    private let tables: [Int]

    /// Returns nil if the headers do not end.
    init?(_ source: ByteSource, _ parts: [Part]) {
        self.source = source
        var reader = ByteReader(source, at: 4)
        guard let flags = try? reader.u32LE() else { return nil }
        isMultipart = flags & 0x1000 != 0
        do throws(CoderError) {
            for _ in parts { try Self.skipHeader(&reader) }
            if isMultipart { try reader.skip(1) }
        } catch { return nil }
        var (tables, next) = ([Int](), reader.offset)
        for part in parts {
            tables.append(next)
            next += 8 * part.storage.chunkCount
        }
        self.tables = tables
    }

    private static func skipHeader(_ reader: inout ByteReader) throws(CoderError) {
        while try reader.u8() != 0 {
            // The rest of the name, then the type and the number of bytes.
            for _ in 0..<2 { while try reader.u8() != 0 {} }
            try reader.skip(Int(Int32(truncatingIfNeeded: try reader.u32LE())))
        }
    }

    /// Returns whether a chunk is behind the end of the file, or was never written.
    func isMissing(_ chunk: EXRFile.Chunk, _ part: Part) -> Bool {
        guard let index = index(of: chunk, part) else { return false }
        var reader = ByteReader(source, at: tables[part.index] + 8 * index)
        guard let low = try? reader.u32LE(), let high = try? reader.u32LE() else { return true }
        let place = UInt64(high) << 32 | UInt64(low)
        if place == 0 || place >= UInt64(source.available) { return true }
        reader.offset = Int(place) + (isMultipart ? 4 : 0) + (chunk.isTile ? 16 : 4)
        guard let count = try? reader.u32LE() else { return true }
        return (try? reader.require(Int(count))) == nil
    }

    /// Returns the number of a chunk in its table; nil if it is not known.
    private func index(of chunk: EXRFile.Chunk, _ part: Part) -> Int? {
        guard let tile = part.storage.tile else { return (chunk.y - part.data.y) / max(1, part.storage.rows) }
        guard !part.storage.hasRipLevels || chunk.level == 0 else { return nil }
        func across(_ level: Int) -> Int { (part.storage.levels[level].width - 1) / tile.width + 1 }
        var index = 0
        for level in 0..<chunk.level {
            index += across(level) * ((part.storage.levels[level].height - 1) / tile.height + 1)
        }
        return index + chunk.y * across(chunk.level) + chunk.x
    }
}
