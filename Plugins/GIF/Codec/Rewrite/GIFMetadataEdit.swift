internal import CoderPluginKit
internal import ImageModel

/// The extensions to remove, and the positions of new ones.
///
/// | kind | extensions |
/// |---|---|
/// | text | comments, under the key "Comment" |
/// | xmp | application "XMP DataXMP" |
/// | icc | application "ICCRGBG1012" |
/// | iptc | applications "MGK8BIM0000" and "MGKIPTC0000" |
/// | raw | every other application except the two that set the loop count; unknown extensions |
struct GIFMetadataEdit {
    private struct Insertion {
        var blob: MetadataBlob
        /// A complete extension.
        var bytes: [UInt8]
        /// The first extension that it replaces; nil if there is none.
        var place: Int?
    }

    private static let xmp = "XMP DataXMP"
    private static let profile = "ICCRGBG1012"

    private let removed: Set<MetadataBlob.Kind>
    private var insertions: [Insertion] = []

    /// - Throws: `.refused` if a GIF cannot hold the metadata.
    init(_ request: RewriteRequest) throws(CoderError) {
        removed = request.removed
        for blob in request.replaced {
            // A file has one blob of each of these kinds: the last one counts.
            if blob.kind != .text, blob.kind != .raw { insertions.removeAll { $0.blob.kind == blob.kind } }
            insertions.append(Insertion(blob: blob, bytes: try Self.bytes(of: blob)))
        }
    }

    /// Returns the metadata kind of a block, with the name of an application if it has one; nil if decoding needs the
    /// block.
    private static func meaning(of block: GIFBlock) -> (kind: MetadataBlob.Kind, key: String?)? {
        switch block.kind {
        case .comment: (.text, GIFMetadata.commentKey)
        case .application(xmp): (.xmp, nil)
        case .application(profile): (.icc, nil)
        case .application("MGK8BIM0000"), .application("MGKIPTC0000"): (.iptc, nil)
        case .application(let name): block.isLooping ? nil : (.raw, name)
        case .otherExtension: (.raw, nil)
        case .control, .plainText, .image, .filler, .trailer: nil
        }
    }

    private static func isReplaced(_ block: GIFBlock, by blob: MetadataBlob) -> Bool {
        guard let meaning = meaning(of: block), meaning.kind == blob.kind else { return false }
        return blob.kind != .raw || meaning.key == blob.key
    }

    /// Records the positions of extensions that are replaced.
    mutating func locate(_ block: GIFBlock) {
        for index in insertions.indices where insertions[index].place == nil {
            if Self.isReplaced(block, by: insertions[index].blob) { insertions[index].place = block.range.lowerBound }
        }
    }

    /// Whether a block stays.
    func keeps(_ block: GIFBlock) -> Bool {
        guard let meaning = Self.meaning(of: block) else { return true }
        return !removed.contains(meaning.kind) && !insertions.contains { Self.isReplaced(block, by: $0.blob) }
    }

    /// Whether bytes behind the trailer stay.
    var keepsTail: Bool { !removed.contains(.raw) }

    var addsExtensions: Bool { !insertions.isEmpty }

    /// Returns the extensions without another position; they come before the first image.
    var added: [[UInt8]] { insertions.filter { $0.place == nil }.map(\.bytes) }

    /// Returns the extensions that replace the one at `offset`.
    func extensions(at offset: Int) -> [[UInt8]] { insertions.filter { $0.place == offset }.map(\.bytes) }

    // MARK: Extensions

    private static func bytes(of blob: MetadataBlob) throws(CoderError) -> [UInt8] {
        switch blob.kind {
        case .text:
            guard blob.key == nil || blob.key == GIFMetadata.commentKey else {
                throw refusal("text with another key than \"\(GIFMetadata.commentKey)\"")
            }
            return [0x21, 0xFE] + GIFWriter.blocks(blob.bytes)
        case .xmp:
            guard !blob.bytes.contains(0), String(validating: blob.bytes, as: UTF8.self) != nil else {
                throw refusal("an XMP packet that is not UTF-8")
            }
            return application(xmp, blob.bytes + GIFMetadata.xmpTrailer)
        case .icc:
            // ICC.1, 7.2: the color space is at byte 16.
            guard blob.bytes.count >= 132, blob.bytes[16..<20].elementsEqual("RGB ".utf8) else {
                throw refusal("an ICC profile that is not for RGB")
            }
            return application(profile, GIFWriter.blocks(blob.bytes))
        case .raw:
            let name = blob.key ?? ""
            let block = GIFBlock(kind: .application(name), range: 0..<0)
            guard name.utf8.count == 11, name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
                meaning(of: block)?.kind == .raw
            else { throw refusal("raw metadata under the name \"\(name)\": use a name of 11 letters") }
            return application(name, GIFWriter.blocks(blob.bytes))
        case .exif: throw refusal("Exif data")
        case .iptc: throw refusal("IPTC data")
        }
    }

    private static func application(_ name: String, _ blocks: [UInt8]) -> [UInt8] {
        [0x21, 0xFF, 11] + Array(name.utf8) + blocks
    }

    private static func refusal(_ what: String) -> CoderError { .refused("a GIF cannot hold \(what)") }
}
