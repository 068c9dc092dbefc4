internal import CoderPluginKit
internal import ImageModel

/// The changes of a rewrite that a container of boxes can hold.
struct MetadataChange {
    let removed: Set<MetadataBlob.Kind>
    /// The bytes of new items, by kind: Exif and XMP.
    let payloads: [(kind: MetadataBlob.Kind, bytes: [UInt8])]
    let transform: Orientation
    let removesThumbnails: Bool

    /// - Throws: `.refused` for a change that needs a decoder, or that the format cannot hold.
    init(_ request: RewriteRequest) throws(CoderError) {
        guard request.crop == nil else {
            throw .refused("a HEIF file cannot be cropped without decoding it; use coderhost convert")
        }
        guard !request.optimizes else {
            throw .refused("the pixels of a HEIF file cannot be recompressed; use coderhost convert")
        }
        var payloads: [(kind: MetadataBlob.Kind, bytes: [UInt8])] = []
        for blob in request.replaced {
            let bytes = try Self.payload(of: blob)
            payloads.removeAll { $0.kind == blob.kind }
            payloads.append((blob.kind, bytes))
        }
        (removed, transform, self.payloads) = (request.removed, request.transform, payloads)
        removesThumbnails = request.removesThumbnails
    }

    var isEmpty: Bool { removed.isEmpty && payloads.isEmpty && transform == .up && !removesThumbnails }

    /// Returns the bytes of the item that holds a blob.
    ///
    /// - Source: ISO/IEC 23008-12 sections A.2.1 (Exif: the offset of the TIFF header comes first) and A.3.
    private static func payload(of blob: MetadataBlob) throws(CoderError) -> [UInt8] {
        switch blob.kind {
        case .exif:
            if let stored = ExifOrientation.read(blob.bytes), stored != .up {
                throw .refused(
                    "Exif does not turn a HEIF image, its properties irot and imir do; use --rotate or --flip")
            }
            return [0, 0, 0, 0] + blob.bytes
        case .xmp: return blob.bytes
        case .icc: throw .refused("the color profile of a HEIF file cannot be replaced; use coderhost convert")
        case .iptc: throw .refused("a HEIF file cannot hold IPTC data; write it as XMP")
        case .text: throw .refused("a HEIF file cannot hold text; write it as XMP")
        case .raw: throw .refused("a HEIF file cannot hold raw metadata under the name \"\(blob.key ?? "")\"")
        }
    }
}

/// The positions of a file's bytes after a rewrite.
struct NewPlaces {
    /// Returns the new position of a range; nil if its bytes do not stay together.
    let moved: (Range<Int>) -> Range<Int>?
    /// The positions of new items.
    let payloads: [MetadataBlob.Kind: Range<Int>]
    /// Whether positions take 8 bytes instead of 4.
    let isWide: Bool
}
