internal import CoderPluginKit
internal import ImageModel

/// Reads comments, XMP packets and ICC profiles from extension blocks.
struct GIFMetadata {
    /// The key of a comment extension (GIF89a specification, section 24).
    static let commentKey = "Comment"
    /// 01 FF FE … 01 00, then the terminator. A walk over blocks ends behind it, whichever byte of the packet it takes
    /// for a length (XMP specification part 3, 1.1.2).
    static let xmpTrailer: [UInt8] = [0x01] + (0...255).reversed().map { UInt8($0) } + [0x00]

    let source: ByteSource
    let limits: DecodeLimits
    let host: HostServices

    func blobs(of scanner: GIFScanner) -> [MetadataBlob] {
        var blobs: [MetadataBlob] = []
        if let range = scanner.extensions.profile, fits(range) {
            let bytes = joined(range)
            if !bytes.isEmpty { blobs.append(MetadataBlob(.icc, bytes)) }
        }
        if let range = scanner.extensions.xmp, fits(range) {
            let bytes = source.bytes(range)
            let packet = hasTrailer(bytes) ? Array(bytes.dropLast(Self.xmpTrailer.count)) : joined(range)
            if !packet.isEmpty { blobs.append(MetadataBlob(.xmp, packet)) }
        }
        // All comments together have the limit of one blob.
        var room = limits.maxMetadataBytes > 0 ? limits.maxMetadataBytes : .max
        for range in scanner.extensions.comments where fits(range) {
            let bytes = joined(range)
            guard bytes.count <= room else {
                host.warn("ignored comments: together they exceed the limit of \(limits.maxMetadataBytes) bytes")
                break
            }
            room -= bytes.count
            // Comments are 7-bit ASCII. Other text counts as UTF-8 if it is valid, else as Latin-1.
            let text =
                String(validating: bytes, as: UTF8.self)
                ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            blobs.append(MetadataBlob(.text, Array(text.utf8), key: Self.commentKey))
        }
        return blobs
    }

    private func hasTrailer(_ bytes: [UInt8]) -> Bool { bytes.suffix(Self.xmpTrailer.count) == Self.xmpTrailer[...] }

    /// Returns the contents of data blocks without their lengths.
    private func joined(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        var position = range.lowerBound
        while position < range.upperBound {
            let size = Int(source[position])
            let end = min(position + 1 + size, range.upperBound)
            bytes += source.bytes(position + 1..<end)
            position = end
        }
        return bytes
    }

    private func fits(_ range: Range<Int>) -> Bool {
        if limits.maxMetadataBytes == 0 || range.count <= limits.maxMetadataBytes { return true }
        host.warn("ignored metadata of \(range.count) bytes: the limit is \(limits.maxMetadataBytes)")
        return false
    }
}
