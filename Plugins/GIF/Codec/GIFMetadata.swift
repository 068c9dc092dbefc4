internal import CoderPluginKit
internal import ImageModel

/// Reads comments, XMP packets and profiles out of extension blocks.
struct GIFMetadata {
    /// The key of a comment extension (GIF89a specification, section 24).
    static let commentKey = "Comment"
    /// 01 FF FE … 01 00, then the terminator: whatever byte of the packet is taken for a length, the walk over blocks
    /// ends behind it (XMP specification part 3, 1.1.2).
    static let xmpTrailer: [UInt8] = [0x01] + (0...255).reversed().map { UInt8($0) } + [0x00]

    let source: ByteSource
    let limits: DecodeLimits
    let host: HostServices

    func blobs(of scanner: GIFScanner) -> [MetadataBlob] {
        var blobs: [MetadataBlob] = []
        if let range = scanner.profile, fits(range) {
            let bytes = joined(range)
            if !bytes.isEmpty { blobs.append(MetadataBlob(.icc, bytes)) }
        }
        if let range = scanner.xmp, fits(range) {
            let bytes = source.bytes(range)
            let packet = hasTrailer(bytes) ? Array(bytes.dropLast(Self.xmpTrailer.count)) : joined(range)
            if !packet.isEmpty { blobs.append(MetadataBlob(.xmp, packet)) }
        }
        // All comments together have the limit of one piece.
        var room = limits.maxMetadataBytes > 0 ? limits.maxMetadataBytes : .max
        for range in scanner.comments where fits(range) {
            let bytes = joined(range)
            guard bytes.count <= room else {
                host.warn("comments are left out: all of them are longer than the limit of \(limits.maxMetadataBytes)")
                break
            }
            room -= bytes.count
            // Seven bits are allowed; what is more and no UTF-8 is taken for Latin-1.
            let text =
                String(validating: bytes, as: UTF8.self)
                ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
            blobs.append(MetadataBlob(.text, Array(text.utf8), key: Self.commentKey))
        }
        return blobs
    }

    private func hasTrailer(_ bytes: [UInt8]) -> Bool { bytes.suffix(Self.xmpTrailer.count) == Self.xmpTrailer[...] }

    /// The contents of data blocks without their lengths.
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
        host.warn("metadata of \(range.count) bytes was left out: the limit is \(limits.maxMetadataBytes)")
        return false
    }
}
