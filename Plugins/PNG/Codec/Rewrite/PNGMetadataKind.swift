internal import CoderPluginKit
internal import ImageModel

/// The kinds of metadata in a chunk.
///
/// | kind | chunks |
/// |---|---|
/// | exif | eXIf, text with the keyword "Raw profile type exif" or "… APP1" |
/// | xmp | text with the keyword "XML:com.adobe.xmp" or "Raw profile type xmp" |
/// | icc | iCCP, text with the keyword "Raw profile type icc" or "… icm" |
/// | iptc | text with the keyword "Raw profile type iptc" or "… 8bim" |
/// | text | tEXt, zTXt, iTXt, raw profiles among them, but not the packet of XMP in iTXt |
/// | raw | every other ancillary chunk, unless ``PNGMetadataKind/concernsLook(_:)`` |
struct PNGMetadataKind: Equatable {
    var kinds: Set<MetadataBlob.Kind> = []
    /// The keyword of a text, or the name of another chunk.
    var key: String?

    /// The bytes of the longest keyword (PNG 3rd edition, 11.3.3.1).
    private static let longestKeyword = 79

    /// Reads the name and the keyword; the whole chunk must be there.
    init(of chunk: PNGChunk, in source: ByteSource) {
        switch chunk.kind {
        case .eXIf: kinds = [.exif]
        case .iCCP: kinds = [.icc]
        case .tEXt, .zTXt, .iTXt:
            let head = source.bytes(chunk.data.prefix(Self.longestKeyword + 1))
            let keyword = latin1(Array(head.prefix { $0 != 0 }))
            key = keyword
            kinds = Self.kinds(of: keyword, isInternational: chunk.kind == .iTXt)
        case let kind where kind.isAncillary && !Self.concernsLook(kind):
            kinds = [.raw]
            key = kind.name
        default: break
        }
    }

    /// Whether removing the chunk would change how pixels look, or when frames are shown.
    static func concernsLook(_ kind: PNGChunk.Kind) -> Bool {
        switch kind {
        case .tRNS, .gAMA, .cHRM, .sRGB, .cICP, .mDCV, .cLLI, .sBIT, .bKGD, .pHYs, .acTL, .fcTL, .fdAT: true
        // The draft names of the last two color chunks.
        default: kind.name == "mDCv" || kind.name == "cLLi"
        }
    }

    private static func kinds(of keyword: String, isInternational: Bool) -> Set<MetadataBlob.Kind> {
        if keyword == PNGMetadata.xmpKeyword, isInternational { return [.xmp] }
        return Set([.text, MetadataBlob.kind(ofText: keyword) ?? .text])
    }

    /// Whether a blob replaces the chunk.
    func isReplaced(by blob: MetadataBlob) -> Bool {
        switch blob.kind {
        case .text, .raw: kinds.contains(blob.kind) && key == blob.key
        default: kinds.contains(blob.kind)
        }
    }
}
