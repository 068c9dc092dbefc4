internal import CoderPluginKit
internal import ImageModel

/// Arranges a tiled TIFF so that a reader gets all directories with its first request: the directories come first, from
/// the largest level to the smallest, then the tiles, from the smallest level to the largest.
///
/// - Source: OGC 21-026 (Cloud Optimized GeoTIFF) section 7, and the layout of GDAL's driver COG.
struct CloudLayout {
    private let reader: DirectoryReader
    private let writer: DirectoryWriter
    private let directories: [Directory]

    private static let (tileOffsets, tileCounts) = (324, 325)

    /// - Throws: `.notMine` for other bytes.
    init(_ file: [UInt8]) throws(CoderError) {
        reader = try DirectoryReader(ByteSource(file))
        writer = DirectoryWriter(isBigEndian: reader.isBigEndian, isBig: reader.isBig)
        var (directories, next) = ([Directory](), reader.first)
        while let place = next, let directory = reader.directory(at: place), directories.count < 64 {
            directories.append(directory)
            next = directory.next
        }
        self.directories = directories
    }

    /// The file with the new order.
    var bytes: [UInt8] {
        let head = reader.source.bytes(0..<(reader.isBig ? 8 : 4))
        let wide = reader.isBig ? 8 : 4
        let tiles = directories.map { directory in
            zip(numbers(directory[Self.tileOffsets]), numbers(directory[Self.tileCounts])).map { $0..<$0 + $1 }
        }
        // The lengths do not depend on the positions.
        var places: [Int] = []
        var end = head.count + wide
        for (directory, tiles) in zip(directories, tiles) {
            places.append(end)
            end += even(writer.bytes(of: fields(directory, tiles.map { _ in 0 }), at: end).count)
        }
        var data: [UInt8] = []
        var offsets = tiles.map { $0.map { _ in 0 } }
        for level in tiles.indices.reversed() {
            for (index, tile) in tiles[level].enumerated() where !tile.isEmpty {
                offsets[level][index] = end + data.count
                data += reader.source.bytes(tile)
                if data.count % 2 == 1 { data.append(0) }
            }
        }
        var result = head + writer.number(places.first ?? 0, wide)
        for (level, directory) in directories.enumerated() {
            let next = level + 1 < places.count ? places[level + 1] : 0
            result += writer.bytes(of: fields(directory, offsets[level]), at: places[level], next: next)
            if result.count % 2 == 1 { result.append(0) }
        }
        return result + data
    }

    private func even(_ count: Int) -> Int { count + count % 2 }

    private func numbers(_ entry: Directory.Entry?) -> [Int] { reader.numbers(entry, limit: entry?.count ?? 0) }

    /// Returns the fields of a page with new positions of tiles.
    private func fields(_ directory: Directory, _ offsets: [Int]) -> [DirectoryWriter.Field] {
        directory.entries.map { entry in
            if entry.tag == Self.tileOffsets {
                let (type, width) = reader.isBig ? (16, 8) : (4, 4)
                return DirectoryWriter.Field(entry.tag, type: type, offsets.flatMap { writer.number($0, width) })
            }
            let isPointer = [ExifBuilder.exif, ExifBuilder.gps, ExifBuilder.interoperability].contains(entry.tag)
            if isPointer, let below = reader.numbers(entry).first.flatMap(reader.directory) {
                return DirectoryWriter.Field(entry.tag, fields(below, []))
            }
            return DirectoryWriter.Field(entry.tag, type: entry.type, reader.source.bytes(entry.value))
        }
    }
}
