import CoderPluginKit
import ImageModel

/// The chunks to remove, and the positions of new ones.
struct WebPMetadataEdit {
    private struct Insertion {
        var kind: MetadataBlob.Kind
        var name: WebPChunk.Name
        var payload: [UInt8]
        /// The first chunk that it replaces; nil if there is none.
        var place: Int?

        /// Whether it must precede the image (RFC 9649 section 2.7).
        var isEarly: Bool { kind == .icc }
        /// A complete chunk.
        var bytes: [UInt8] {
            name.bytes + little(payload.count, 4) + payload + (payload.count % 2 == 0 ? [] : [0])
        }
    }

    private let removed: Set<MetadataBlob.Kind>
    private var insertions: [Insertion] = []
    /// The kinds in the source that the extended header announces.
    private var present: Set<MetadataBlob.Kind> = []

    /// - Throws: `.refused` if a WebP cannot store the metadata.
    init(_ request: RewriteRequest) throws(CoderError) {
        removed = request.removed
        for blob in request.replaced {
            let name = try Self.name(of: blob)
            // A file has one chunk of each name: the last one counts.
            insertions.removeAll { $0.name == name }
            insertions.append(Insertion(kind: blob.kind, name: name, payload: blob.bytes))
        }
        // The order of metadata behind the image (RFC 9649 section 2.7).
        let order: [MetadataBlob.Kind] = [.icc, .exif, .xmp, .raw]
        insertions = order.flatMap { kind in insertions.filter { $0.kind == kind } }
    }

    private static func name(of blob: MetadataBlob) throws(CoderError) -> WebPChunk.Name {
        guard blob.bytes.count < Int(UInt32.max) / 2 else {
            throw .refused("a WebP cannot hold a chunk of \(blob.bytes.count) bytes")
        }
        switch blob.kind {
        case .exif: return .exif
        case .xmp: return .xmp
        case .icc: return .profile
        case .raw:
            let name = WebPChunk.Name(blob.key ?? "")
            guard name.bytes.count == 4, name.bytes.allSatisfy({ (0x20...0x7E).contains($0) }), kind(of: name) == .raw
            else { throw .refused("a WebP cannot hold raw metadata under the name \"\(blob.key ?? "")\"") }
            return name
        case .text: throw .refused("a WebP cannot hold text; write it as XMP")
        case .iptc: throw .refused("a WebP cannot hold IPTC data; write it as XMP")
        }
    }

    /// Returns the metadata kind of a chunk; nil if decoding needs it.
    private static func kind(of name: WebPChunk.Name) -> MetadataBlob.Kind? {
        switch name {
        case .exif: .exif
        case .xmp: .xmp
        case .profile: .icc
        default: name.isStructure ? nil : .raw
        }
    }

    /// Records the positions of replaced chunks, and the kinds present.
    mutating func locate(_ chunk: WebPChunk) {
        guard let kind = Self.kind(of: chunk.name) else { return }
        if kind != .raw { present.insert(kind) }
        for index in insertions.indices where insertions[index].name == chunk.name && !insertions[index].isEarly {
            if insertions[index].place == nil { insertions[index].place = chunk.offset }
        }
    }

    /// Whether a chunk stays.
    func keeps(_ chunk: WebPChunk) -> Bool {
        guard let kind = Self.kind(of: chunk.name) else { return true }
        return !removed.contains(kind) && !insertions.contains { $0.name == chunk.name }
    }

    /// Whether bytes behind the end of the file stay.
    var keepsTail: Bool { !removed.contains(.raw) }

    /// Whether the new metadata needs an extended header.
    var needsExtension: Bool { !insertions.isEmpty }

    /// The new chunks right behind the extended header.
    var early: [[UInt8]] { insertions.filter(\.isEarly).map(\.bytes) }

    /// The new chunks behind all others, which have no other position.
    var added: [[UInt8]] { insertions.filter { !$0.isEarly && $0.place == nil }.map(\.bytes) }

    /// The chunks that replace the one at `offset`.
    func chunks(at offset: Int) -> [[UInt8]] { insertions.filter { $0.place == offset }.map(\.bytes) }

    /// Returns the flags of the extended header for the metadata of the output.
    ///
    /// - Parameter old: the flags of the source; nil if it has none.
    func flags(_ old: UInt8?, hasAlpha: Bool) -> UInt8 {
        var flags = old ?? (hasAlpha ? 0x10 : 0)
        let bits: [(MetadataBlob.Kind, UInt8)] = [(.icc, 0x20), (.exif, 0x08), (.xmp, 0x04)]
        for (kind, bit) in bits {
            if insertions.contains(where: { $0.kind == kind }) {
                flags |= bit
            } else if removed.contains(kind) {
                flags &= ~bit
            } else if old == nil, present.contains(kind) {
                flags |= bit
            }
        }
        return flags
    }
}

/// Returns the bytes of a number in a chunk.
func little(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}
