import CoderPluginKit
import ImageModel

/// Which chunks go, and which come where.
struct WebPMetadataEdit {
    private struct Insertion {
        var kind: MetadataBlob.Kind
        var name: WebPChunk.Name
        var payload: [UInt8]
        /// The first chunk whose place it takes; nil where there is none.
        var place: Int?

        /// Whether it has to stand in front of the image (RFC 9649 section 2.7).
        var isEarly: Bool { kind == .icc }
        /// A whole chunk.
        var bytes: [UInt8] {
            name.bytes + little(payload.count, 4) + payload + (payload.count % 2 == 0 ? [] : [0])
        }
    }

    private let removed: Set<MetadataBlob.Kind>
    private var insertions: [Insertion] = []
    /// The kinds that the source has, of those that the extended header announces.
    private var present: Set<MetadataBlob.Kind> = []

    /// - Throws: `.refused` where a WebP cannot hold the metadata.
    init(_ request: RewriteRequest) throws(CoderError) {
        removed = request.removed
        for blob in request.replaced {
            let name = try Self.name(of: blob)
            // Of each name a file has one chunk: the last one counts.
            insertions.removeAll { $0.name == name }
            insertions.append(Insertion(kind: blob.kind, name: name, payload: blob.bytes))
        }
        // In this order they follow the image (RFC 9649 section 2.7).
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

    /// What a chunk holds; nil where decoding needs it.
    private static func kind(of name: WebPChunk.Name) -> MetadataBlob.Kind? {
        switch name {
        case .exif: .exif
        case .xmp: .xmp
        case .profile: .icc
        default: name.isStructure ? nil : .raw
        }
    }

    /// Notes the places of chunks that are replaced, and what there is.
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

    /// Whether the output needs an extended header, whatever the source has.
    var needsExtension: Bool { !insertions.isEmpty }

    /// The chunks that come right behind the extended header.
    var early: [[UInt8]] { insertions.filter(\.isEarly).map(\.bytes) }

    /// The chunks that come behind all others, having no other place.
    var added: [[UInt8]] { insertions.filter { !$0.isEarly && $0.place == nil }.map(\.bytes) }

    /// The chunks that take the place of the one at `offset`.
    func chunks(at offset: Int) -> [[UInt8]] { insertions.filter { $0.place == offset }.map(\.bytes) }

    /// The bits of the extended header for what the output holds.
    ///
    /// - Parameter old: those of the source; nil where it has none.
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

/// A number as it stands in a chunk.
func little(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}
