public import CoderPluginKit
public import ImageModel

/// Makes all chunks of a PNG in front of its pixels; the APNG plugin also uses it.
public enum PNGPreamble {
    /// Whether a PNG can store this piece of metadata.
    public static func carries(_ blob: MetadataBlob, of info: ImageInfo) -> Bool {
        switch blob.kind {
        case .icc: !blob.bytes.isEmpty
        case .exif: blob.bytes.count >= 8
        case .xmp: isPlainText(blob.bytes)
        case .text: blob.key.map(isKeyword) ?? false && isPlainText(blob.bytes)
        case .raw, .iptc: false
        }
    }

    /// Returns the bytes from the signature up to the last chunk before the pixels.
    ///
    /// - Parameter depth: the bits of a sample, or of an index.
    /// - Parameter colorType: the color type of IHDR.
    /// - Parameter palette: RGBA, four bytes an entry; those that are not opaque should come first.
    /// - Parameter transparent: the number of entries in tRNS; nil: up to the last that is not opaque.
    public static func bytes(
        _ info: ImageInfo, depth: Int, colorType: UInt8, isInterlaced: Bool = false, palette: [UInt8]? = nil,
        transparent: Int? = nil, blobs: [MetadataBlob], host: HostServices
    ) throws(CoderError) -> [UInt8] {
        let sink = ByteSink()
        let writer = try PNGWriter(
            PNGWriter.Layout(
                size: info.size, depth: depth, colorType: colorType, isInterlaced: isInterlaced),
            to: sink)
        if let palette {
            let last = (0..<palette.count / 4).last { palette[4 * $0 + 3] != 0xFF }
            try writer.setPalette(palette, transparent: transparent ?? last.map { $0 + 1 } ?? 0)
        }
        embed(blobs, of: info, into: writer, host: host)
        try writer.finish()
        return sink.written
    }

    /// Passes all data in front of the pixels to libpng.
    static func embed(
        _ blobs: [MetadataBlob], of info: ImageInfo, into writer: PNGWriter, host: HostServices
    ) {
        var hasProfile = false
        for blob in blobs {
            let text = String(decoding: blob.bytes, as: UTF8.self)
            let isTaken =
                switch blob.kind {
                case .icc: writer.setProfile(blob.bytes)
                case .exif: writer.setExif(blob.bytes)
                // Readers scan files for the packet without parsing them, so it stays uncompressed (XMP part 3, 1.1.5).
                case .xmp: writer.addText(PNGMetadata.xmpKeyword, text, isUTF8: true, isCompressed: false)
                case .text:
                    writer.addText(
                        blob.key ?? "", text, isUTF8: !blob.bytes.allSatisfy { $0 < 0x80 },
                        isCompressed: blob.bytes.count > 1024)
                case .raw, .iptc: false
                }
            if blob.kind == .icc { hasProfile = isTaken }
            if !isTaken { host.warn("ignored \(blob.kind) metadata: it does not fit this image") }
        }
        embedColor(info.color, into: writer, hasProfile: hasProfile)
        switch info.density {
        case .perMeter(let x, let y): _ = writer.setDensity(x: x, y: y, isMeter: true)
        case .aspect(let x, let y): _ = writer.setDensity(x: x, y: y, isMeter: false)
        case nil: break
        }
    }

    private static func embedColor(_ color: ColorDescription, into writer: PNGWriter, hasProfile: Bool) {
        if let bytes = color.mastering?.mDCV { _ = writer.addChunk("mDCV", bytes) }
        if let light = color.contentLight { _ = writer.addChunk("cLLI", light.cLLI) }
        // Only one description of the colors: a profile, code points, or numbers.
        guard let points = color.codePoints, !points.isUnspecified else {
            if hasProfile { return }
            if let gamma = color.gamma { _ = writer.addChunk("gAMA", bigEndian(gamma)) }
            if let bytes = color.primaries?.cHRM { _ = writer.addChunk("cHRM", bytes) }
            return
        }
        if hasProfile, !color.prefersCodePoints { return }
        if points.primaries == 1, points.transfer == 13, !hasProfile {
            _ = writer.setSRGB()
            return
        }
        // PNG samples are full-range RGB, whatever the source was (PNG 3rd edition, 11.3.2.6).
        _ = writer.addChunk("cICP", [points.primaries, points.transfer, 0, 1])
    }

    /// Whether it can be a keyword: 1 … 79 printable letters without spaces around (PNG 3rd edition, 11.3.3.1).
    static func isKeyword(_ key: String) -> Bool {
        let bytes = Array(key.utf8)
        return (1...79).contains(bytes.count) && bytes.allSatisfy { (0x20...0x7E).contains($0) }
            && bytes.first != 0x20 && bytes.last != 0x20
    }

    /// Whether it is UTF-8 without NUL.
    static func isPlainText(_ bytes: [UInt8]) -> Bool {
        !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
    }
}
