internal import CoderPluginKit
internal import ImageModel

/// Makes chunks of metadata.
enum PNGMetadataChunk {
    /// The number of bytes above which texts are compressed.
    private static let longestPlainText = 1024

    /// Returns a complete chunk, from its length to its checksum.
    ///
    /// - Parameter isColor: whether the image has colors; the profile has to match.
    /// - Throws: `.refused` if a PNG cannot store the metadata.
    static func bytes(of blob: MetadataBlob, isColor: Bool) throws(CoderError) -> [UInt8] {
        switch blob.kind {
        case .exif:
            guard isTIFF(blob.bytes) else { throw refusal("Exif data without a byte order") }
            return try chunk(.eXIf, blob.bytes)
        case .xmp:
            guard PNGPreamble.isPlainText(blob.bytes) else { throw refusal("an XMP packet that is not UTF-8") }
            // Readers search for the packet without inflating, so it stays uncompressed (XMP part 3, 1.1.5).
            return try international(PNGMetadata.xmpKeyword, blob.bytes, isCompressed: false)
        case .icc:
            try check(profile: blob.bytes, isColor: isColor)
            return try chunk(.iCCP, Array("ICC Profile".utf8) + [0, 0] + deflated(blob.bytes))
        case .iptc:
            return try chunk(.zTXt, Array("Raw profile type iptc".utf8) + [0, 0] + deflated(rawProfile(blob.bytes)))
        case .text: return try text(blob.key ?? "", blob.bytes)
        case .raw: return try raw(blob.key ?? "", blob.bytes)
        }
    }

    // MARK: Kinds

    /// tEXt for ASCII text, else iTXt.
    private static func text(_ key: String, _ bytes: [UInt8]) throws(CoderError) -> [UInt8] {
        guard PNGPreamble.isKeyword(key) else {
            throw refusal("text under the keyword \"\(key)\", which is not 1 to 79 printable characters")
        }
        guard PNGPreamble.isPlainText(bytes) else { throw refusal("text that is not UTF-8") }
        let isLong = bytes.count > longestPlainText
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return try international(key, bytes, isCompressed: isLong) }
        let head = Array(key.utf8) + [0]
        return try isLong ? chunk(.zTXt, head + [0] + deflated(bytes)) : chunk(.tEXt, head + bytes)
    }

    /// keyword | 0 | compressed | method | language | 0 | translated keyword | 0 | text
    private static func international(
        _ key: String, _ bytes: [UInt8], isCompressed: Bool
    ) throws(CoderError) -> [UInt8] {
        let head = Array(key.utf8) + [0, isCompressed ? 1 : 0, 0, 0, 0]
        return try chunk(.iTXt, head + (isCompressed ? deflated(bytes) : bytes))
    }

    private static func raw(_ name: String, _ bytes: [UInt8]) throws(CoderError) -> [UInt8] {
        guard let kind = PNGChunk.Kind(name), kind.isAncillary, !isBound(kind) else {
            throw refusal("raw metadata under the name \"\(name)\"")
        }
        let length: [PNGChunk.Kind: Int] = [.gAMA: 4, .cHRM: 32, .sRGB: 1, .cICP: 4, .pHYs: 9, .mDCV: 24, .cLLI: 8]
        if let length = length[kind], length != bytes.count {
            throw refusal("a chunk \(name) of \(bytes.count) instead of \(length) bytes")
        }
        return try chunk(kind, bytes)
    }

    /// Whether a chunk has its own metadata kind, or is meaningful only with its pixels.
    private static func isBound(_ kind: PNGChunk.Kind) -> Bool {
        switch kind {
        case .eXIf, .iCCP, .tEXt, .zTXt, .iTXt, .tRNS, .sBIT, .bKGD, .hIST, .sPLT, .acTL, .fcTL, .fdAT, .iDOT: true
        default: false
        }
    }

    // MARK: Parts

    static func chunk(_ kind: PNGChunk.Kind, _ data: [UInt8]) throws(CoderError) -> [UInt8] {
        guard data.count < 1 << 31 else { throw refusal("a chunk of \(data.count) bytes") }
        return bigEndian(UInt32(data.count)) + kind.bytes + data
            + bigEndian(chunkChecksum(data, after: chunkChecksum(kind.bytes)))
    }

    /// II or MM, and room for a header (PNG 3rd edition, 11.3.4.5).
    private static func isTIFF(_ bytes: [UInt8]) -> Bool {
        bytes.count >= 8 && (bytes.starts(with: [0x49, 0x49]) || bytes.starts(with: [0x4D, 0x4D]))
    }

    /// - Source: ICC.1, 7.2: the color space stands at byte 16, "acsp" at byte 36.
    private static func check(profile: [UInt8], isColor: Bool) throws(CoderError) {
        guard profile.count >= 132, profile[36..<40].elementsEqual("acsp".utf8) else {
            throw refusal("an ICC profile without a header")
        }
        let space = String(decoding: profile[16..<20], as: UTF8.self)
        guard space == (isColor ? "RGB " : "GRAY") else {
            throw refusal("an ICC profile for \"\(space)\" in an image of \(isColor ? "colors" : "grays")")
        }
    }

    /// The form in which ImageMagick writes profiles: name, length and hexadecimal digits, 72 in a line.
    private static func rawProfile(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        let length = String(bytes.count)
        var text = Array("\niptc\n".utf8) + Array(String(repeating: " ", count: max(0, 8 - length.count)).utf8)
        text += Array(length.utf8)
        for (index, byte) in bytes.enumerated() {
            if index % 36 == 0 { text.append(0x0A) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return text + [0x0A]
    }

    private static func refusal(_ what: String) -> CoderError { .refused("a PNG cannot hold \(what)") }
}
