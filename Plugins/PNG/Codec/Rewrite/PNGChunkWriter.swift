internal import CoderPluginKit
internal import ImageModel

/// Writes chunks, and copies chunks of a source piece by piece.
struct PNGChunkWriter {
    private static let piece = 1 << 16
    /// The number of bytes between two polls.
    private static let patience = 1 << 20

    private static let mostWarnings = 8

    private let source: ByteSource
    private let sink: ByteSink
    private let host: HostServices
    private var warned: Set<PNGChunk.Kind> = []

    init(_ session: RewriteSession) {
        source = session.source
        sink = session.sink
        host = session.host
    }

    func write(_ bytes: [UInt8]) throws(CoderError) { try sink.write(bytes) }

    func write(_ kind: PNGChunk.Kind, _ data: [UInt8]) throws(CoderError) {
        try sink.write(bigEndian(UInt32(data.count)) + kind.bytes)
        try sink.write(data)
        try sink.write(bigEndian(chunkChecksum(data, after: chunkChecksum(kind.bytes))))
    }

    /// Copies a chunk with its checksum.
    ///
    /// - Throws: `.corrupt` for a wrong checksum of a critical chunk; for other chunks it is a warning.
    mutating func copy(_ chunk: PNGChunk) throws(CoderError) {
        var crc = CRC32()
        try copy(chunk.offset..<chunk.data.lowerBound)
        source.withBytes(chunk.offset + 4..<chunk.data.lowerBound) { crc.add($0) }
        try copy(chunk.data, checksum: &crc)
        try check(chunk, crc.value, isStrict: !chunk.kind.isAncillary)
        try copy(chunk.data.upperBound..<chunk.range.upperBound)
    }

    /// Copies the data of a frame with another sequence number.
    ///
    /// - Throws: `.corrupt` for a wrong checksum.
    mutating func copy(_ chunk: PNGChunk, number: UInt32) throws(CoderError) {
        let number = bigEndian(number)
        let rest = chunk.data.dropFirst(number.count)
        var old = CRC32()
        var new = CRC32(chunkChecksum(chunk.kind.bytes + number))
        source.withBytes(chunk.offset + 4..<rest.lowerBound) { old.add($0) }
        try sink.write(source.bytes(chunk.offset..<chunk.data.lowerBound) + number)
        for start in stride(from: rest.lowerBound, to: rest.upperBound, by: Self.piece) {
            if (start - rest.lowerBound) % Self.patience == 0 { try host.checkCancellation() }
            let range = start..<min(start + Self.piece, rest.upperBound)
            try source.withBytes(range) { bytes throws(CoderError) in
                old.add(bytes)
                new.add(bytes)
                try sink.write(bytes)
            }
        }
        try check(chunk, old.value, isStrict: true)
        try sink.write(bigEndian(new.value))
    }

    /// Copies the bytes behind the end chunk.
    func copyTail(from offset: Int) throws(CoderError) {
        if offset < source.available { try copy(offset..<source.available) }
    }

    // MARK: Parts

    private func copy(_ range: Range<Int>) throws(CoderError) {
        var crc = CRC32()
        try copy(range, checksum: &crc)
    }

    private func copy(_ range: Range<Int>, checksum: inout CRC32) throws(CoderError) {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.piece) {
            if (start - range.lowerBound) % Self.patience == 0 { try host.checkCancellation() }
            let part = start..<min(start + Self.piece, range.upperBound)
            try source.withBytes(part) { bytes throws(CoderError) in
                checksum.add(bytes)
                try sink.write(bytes)
            }
        }
    }

    private mutating func check(_ chunk: PNGChunk, _ checksum: UInt32, isStrict: Bool) throws(CoderError) {
        if chunk.storedChecksum(in: source) == checksum { return }
        if isStrict { throw .corrupt("the checksum of the chunk \(chunk.kind.name) is wrong", at: chunk.offset) }
        guard warned.count < Self.mostWarnings, warned.insert(chunk.kind).inserted else { return }
        host.warn("the checksum of the chunk \(chunk.kind.name) is wrong; the chunk is copied unchanged")
    }
}
