internal import CoderPluginKit
internal import ImageModel

/// Reads the metadata of a file.
///
/// libpng unpacks profiles and texts in a separate reader, one chunk at a time, so that damage and bombs in them never
/// affect the pixels. This file reads the rest.
final class PNGMetadata {
    /// The keyword of an XMP packet in iTXt (XMP specification part 3, 1.1.5).
    static let xmpKeyword = "XML:com.adobe.xmp"

    /// The maximum compression factor of deflate (zlib, "Maximum Compression Factor").
    private static let mostInflation = 1032

    private let source: ByteSource
    private let limits: DecodeLimits
    private let host: HostServices
    private var profile: [UInt8]?
    private var complaints: Set<String> = []

    init(source: ByteSource, limits: DecodeLimits, host: HostServices) {
        self.source = source
        self.limits = limits
        self.host = host
    }

    /// Adds colors, density and orientation to the facts.
    func describe(_ info: inout ImageInfo, chunks: [PNGChunk], before data: Int) throws(CoderError) {
        for chunk in chunks where chunk.kind.concernsMetadata {
            let isEarly = chunk.offset < data
            switch (chunk.kind, isEarly) {
            case (.iCCP, true) where profile == nil:
                profile = try unpackProfile(chunk, header: chunks[0])
                info.color.hasProfile = profile != nil
            case (.sRGB, true):
                // 13 = sRGB; the rendering intent is not kept (PNG 3rd edition, 11.3.2.5).
                if intact(chunk, length: 1), info.color.codePoints == nil { info.color.codePoints = .sRGB }
            case (.cICP, true):
                guard intact(chunk, length: 4) else { continue }
                let fields = source.bytes(chunk.data)
                info.color.codePoints = CodePoints(
                    primaries: fields[0], transfer: fields[1], matrix: fields[2], isFullRange: fields[3] != 0)
                // cICP overrides every other description (PNG 3rd edition, 4.3).
                info.color.prefersCodePoints = true
            case (.gAMA, true):
                if intact(chunk, length: 4) { info.color.gamma = try numbers(chunk, 1)[0] }
            case (.cHRM, true):
                if intact(chunk, length: 32) { info.color.primaries = PrimaryPoints(cHRM: try numbers(chunk, 8)) }
            case (.mDCV, true):
                if intact(chunk, length: 24) {
                    info.color.mastering = try MasteringDisplay(mDCV: source.bytes(chunk.data))
                }
            case (.cLLI, true):
                guard intact(chunk, length: 8) else { continue }
                let levels = try numbers(chunk, 2)
                info.color.contentLight = ContentLight(maximum: levels[0], maximumFrameAverage: levels[1])
            case (.pHYs, true):
                guard intact(chunk, length: 9) else { continue }
                var fields = ByteReader(source, at: chunk.data.lowerBound)
                let (x, y) = (try fields.u32BE(), try fields.u32BE())
                info.density = try fields.u8() == 1 ? .perMeter(x: x, y: y) : .aspect(x: x, y: y)
            case (.eXIf, _):
                if info.orientation == nil, let exif = exif(chunk) { info.orientation = ExifOrientation.read(exif) }
            default: continue
            }
        }
    }

    /// Returns the blobs in file order.
    func blobs(chunks: [PNGChunk], before data: Int) throws(CoderError) -> [MetadataBlob] {
        var blobs: [MetadataBlob] = []
        if let profile { blobs.append(MetadataBlob(.icc, profile)) }
        // Each blob has its limit; all texts together have the same limit, to stop a thousand small bombs.
        var room = limits.maxMetadataBytes > 0 ? limits.maxMetadataBytes : Int.max
        // Data that was inflated but then rejected also costs time.
        var vain = limits.maxMetadataBytes > 0 ? 4 * limits.maxMetadataBytes : Int.max
        var hasExif = false
        // eXIf comes before the older form as text.
        let hasExifChunk = chunks.contains { $0.kind == .eXIf }
        for chunk in chunks {
            switch chunk.kind {
            case .eXIf:
                // Only one is allowed (PNG 3rd edition, 11.3.4.5), and `describe` takes the orientation of the first.
                if hasExif {
                    complain("ignored a second Exif chunk")
                } else if let exif = exif(chunk) {
                    blobs.append(MetadataBlob(.exif, exif))
                    hasExif = true
                }
            case .tEXt, .zTXt, .iTXt:
                guard fits(chunk), intact(chunk) else { continue }
                try host.checkCancellation()
                guard let text = try unpack([chunks[0], chunk], with: { $0.text(at: 0) }) else {
                    vain -= min(limits.maxMetadataBytes, Self.mostInflation * chunk.length)
                    if vain >= 0 { continue }
                    complainOfText()
                    return blobs
                }
                if text.bytes.count > room {
                    complainOfText()
                    return blobs
                }
                room -= text.bytes.count
                if let blob = PNGRawProfile.blob(of: text.key, text.bytes),
                    blob.kind == .xmp || !hasExif && !hasExifChunk
                {
                    hasExif = hasExif || blob.kind == .exif
                    blobs.append(blob)
                    continue
                }
                let isXMP = chunk.kind == .iTXt && text.key == Self.xmpKeyword
                blobs.append(MetadataBlob(isXMP ? .xmp : .text, text.bytes, key: isXMP ? nil : text.key))
            default: continue
            }
        }
        return blobs
    }

    private func numbers(_ chunk: PNGChunk, _ count: Int) throws(CoderError) -> [UInt32] {
        var reader = ByteReader(source, at: chunk.data.lowerBound)
        var result: [UInt32] = []
        for _ in 0..<count { result.append(try reader.u32BE()) }
        return result
    }

    private func complainOfText() {
        complain("ignored some text: all text together exceeds the limit of \(limits.maxMetadataBytes) bytes")
    }

    // MARK: Single chunks

    private func unpackProfile(_ chunk: PNGChunk, header: PNGChunk) throws(CoderError) -> [UInt8]? {
        // libpng would accept a profile with a wrong checksum.
        guard fits(chunk), intact(chunk) else { return nil }
        return try unpack([header, chunk]) { $0.profile }
    }

    /// Makes libpng read only these chunks.
    private func unpack<T>(_ chunks: [PNGChunk], with body: (PNGReader) -> T?) throws(CoderError) -> T? {
        let reader = try PNGReader(limits: limits)
        do throws(CoderError) {
            try reader.push(0..<PNGCursor.signature.count, of: source)
            for chunk in chunks { try reader.push(chunk.range, of: source) }
        } catch {
            complain(error.message)
        }
        for warning in reader.takeWarnings() { complain(warning) }
        return body(reader)
    }

    private func exif(_ chunk: PNGChunk) -> [UInt8]? {
        guard fits(chunk), intact(chunk) else { return nil }
        let bytes = source.bytes(chunk.data)
        // II or MM (PNG 3rd edition, 11.3.4.5); some writers put "Exif\0\0" in front as in JPEG.
        let offset = bytes.starts(with: [0x45, 0x78, 0x69, 0x66, 0, 0]) ? 6 : 0
        guard bytes.count >= offset + 8, bytes[offset] == bytes[offset + 1], [0x49, 0x4D].contains(bytes[offset]) else {
            complain("ignored Exif data that does not begin with a byte order")
            return nil
        }
        return Array(bytes[offset...])
    }

    private func fits(_ chunk: PNGChunk) -> Bool {
        if limits.maxMetadataBytes == 0 || chunk.length <= limits.maxMetadataBytes { return true }
        // Many chunks with different lengths are one warning for the first and one for the others.
        let isFirst = !complaints.contains { $0.hasPrefix(Self.tooLong) }
        complain(
            isFirst
                ? "\(Self.tooLong) of \(chunk.length) bytes: the limit is \(limits.maxMetadataBytes)"
                : "\(Self.tooLong) in further chunks above the limit of \(limits.maxMetadataBytes) bytes")
        return false
    }

    private func intact(_ chunk: PNGChunk, length: Int? = nil) -> Bool {
        if (length ?? chunk.length) == chunk.length, chunk.isIntact(in: source) { return true }
        complain("ignored a damaged metadata chunk")
        return false
    }

    /// The start of the warnings about chunks above the limit.
    private static let tooLong = "ignored metadata"

    /// Warns, once for each cause.
    private func complain(_ message: String) {
        if complaints.insert(message).inserted { host.warn(message) }
    }
}
