internal import CoderPluginKit
internal import ImageModel

/// The chunks to remove, and the positions of new ones.
struct PNGMetadataEdit {
    private struct Insertion {
        var blob: MetadataBlob
        /// A complete chunk.
        var bytes: [UInt8]
        /// The first chunk that it replaces; nil if there is none.
        var place: Int?

        /// Whether it must precede the palette (PNG 3rd edition, table 7).
        var isEarly: Bool { blob.kind == .icc || blob.kind == .raw }
    }

    private let removed: Set<MetadataBlob.Kind>
    private var insertions: [Insertion] = []

    /// - Throws: `.refused` if a PNG cannot store the metadata.
    init(_ request: RewriteRequest) {
        removed = request.removed
        for blob in request.replaced {
            // A file has one blob of each of these kinds: the last one counts.
            if blob.kind != .text, blob.kind != .raw { insertions.removeAll { $0.blob.kind == blob.kind } }
            insertions.append(Insertion(blob: blob, bytes: []))
        }
    }

    /// Records the positions of chunks that are replaced.
    mutating func locate(_ chunk: PNGChunk, in source: ByteSource) {
        if insertions.isEmpty || !chunk.kind.isAncillary { return }
        let meaning = PNGMetadataKind(of: chunk, in: source)
        for index in insertions.indices where insertions[index].place == nil && !insertions[index].isEarly {
            if meaning.isReplaced(by: insertions[index].blob) { insertions[index].place = chunk.offset }
        }
    }

    /// Makes the new chunks.
    ///
    /// - Throws: `.refused` if a PNG cannot store the metadata.
    mutating func prepare(isColor: Bool) throws(CoderError) {
        for index in insertions.indices {
            insertions[index].bytes = try PNGMetadataChunk.bytes(of: insertions[index].blob, isColor: isColor)
        }
    }

    /// Whether a chunk stays.
    func keeps(_ chunk: PNGChunk, in source: ByteSource) -> Bool {
        if !chunk.kind.isAncillary { return true }
        // A profile and sRGB exclude each other (PNG 3rd edition, 11.3.2.5).
        if chunk.kind == .sRGB, insertions.contains(where: { $0.blob.kind == .icc }) { return false }
        let meaning = PNGMetadataKind(of: chunk, in: source)
        guard meaning.kinds.isDisjoint(with: removed) else { return false }
        return !insertions.contains { insertion in
            let blob = insertion.blob
            return blob.kind == .raw ? blob.key == chunk.kind.name : meaning.isReplaced(by: blob)
        }
    }

    /// Whether bytes behind the end of the file stay.
    var keepsTail: Bool { !removed.contains(.raw) }

    /// Whether the output has a profile.
    func leavesProfile(_ isThere: Bool) -> Bool {
        insertions.contains { $0.blob.kind == .icc } || isThere && !removed.contains(.icc)
    }

    /// The new chunks right behind the header.
    var early: [[UInt8]] { insertions.filter(\.isEarly).map(\.bytes) }

    /// The new chunks in front of the pixels, which have no other position.
    var added: [[UInt8]] { insertions.filter { !$0.isEarly && $0.place == nil }.map(\.bytes) }

    /// The chunks that replace the one at `offset`.
    func chunks(at offset: Int) -> [[UInt8]] { insertions.filter { $0.place == offset }.map(\.bytes) }
}
