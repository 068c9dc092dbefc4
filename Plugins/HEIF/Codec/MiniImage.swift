internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// The contents of a `mini` box and their positions: the image, its alpha, its gain map, its metadata.
///
///     | header | configurations: main, alpha, gain map | profiles | gain map metadata |
///     | samples: alpha, gain map, main | Exif | XMP |
///
/// - Source: ISO/IEC 23008-12 annex O.
struct MiniImage {
    let header: MiniHeader
    let itemType: FourCC
    let configurationType: FourCC
    let configurations: Configurations
    let profile: [UInt8]
    /// Ranges of the file.
    let main: Range<Int>
    let alpha: Range<Int>
    let gainMap: Range<Int>
    let exif: Range<Int>
    let xmp: Range<Int>

    /// The decoder configurations; alpha and gain map have that of the image if they have none of their own.
    struct Configurations {
        let main, alpha, gainMap: [UInt8]
    }

    /// - Parameters:
    ///   - start: the start of the payload.
    ///   - end: the end of the payload; nil for the end of the file.
    ///   - brandsAt: the start of the payload of the `ftyp` box.
    /// - Throws: `.needsInput` until the header, the configurations and the profile are there.
    init(_ session: DecoderSession, _ start: Int, end: Int?, brandsAt: Int) throws(CoderError) {
        let source = session.source
        // The size of a box up to the end of the file is known only with its last byte.
        guard let end = end ?? (source.isComplete ? source.available : nil) else { throw .needsInput }
        var reader = ByteReader(source, at: start)
        let header = try Self.header(&reader, payload: end - start)
        guard header.version == 0 else { throw .unsupported("a 'mini' box of version \(header.version)") }
        guard !header.isFloat else { throw .unsupported("an image with floating-point samples") }
        self.header = header
        if let types = header.types {
            (itemType, configurationType) = types
        } else {
            (itemType, configurationType) = try Self.types(of: source, brandsAt: brandsAt)
        }

        let sizes = header.sizes
        let own = try reader.bytes(sizes.configuration)
        let ofAlpha = try reader.bytes(sizes.alphaConfiguration)
        let ofGainMap = try reader.bytes(sizes.gainMapConfiguration)
        configurations = Configurations(
            main: own, alpha: ofAlpha.isEmpty ? own : ofAlpha, gainMap: ofGainMap.isEmpty ? own : ofGainMap)
        profile = try reader.bytes(sizes.profile)
        var place = reader.offset + sizes.toneMapProfile + sizes.gainMapMetadata
        func next(_ count: Int) -> Range<Int> {
            defer { place += count }
            return place..<place + count
        }
        alpha = next(sizes.alpha)
        gainMap = next(sizes.gainMap)
        main = next(sizes.main)
        let storedExif = next(sizes.exif)
        xmp = next(sizes.xmp)
        // An Exif item has no field that marks its bytes as deflated.
        exif = header.isMetadataCompressed ? storedExif.lowerBound..<storedExif.lowerBound : storedExif
        if exif != storedExif { session.host.warn("ignored compressed Exif data") }
    }

    /// Reads the header in the draft whose sizes fill the payload, and moves behind it.
    private static func header(_ reader: inout ByteReader, payload: Int) throws(CoderError) -> MiniHeader {
        let start = reader.offset
        // With fewer bytes, the wrong draft may seem to match.
        let bytes = try reader.bytes(min(MiniHeader.longest, payload))
        let found = MiniHeader.Draft.allCases.compactMap { MiniHeader(bytes, draft: $0) }
        func rest(_ header: MiniHeader) -> Int { payload - header.count - header.sizes.total }
        let exact = found.filter { rest($0) == 0 }
        let likely = exact.first { $0.hasLikelyGainMap } ?? exact.first
        guard let header = likely ?? found.first(where: { rest($0) > 0 }) else {
            if !found.isEmpty { throw .corrupt("the 'mini' box is smaller than its contents", at: start) }
            throw .corrupt("the 'mini' box ends in its header", at: start)
        }
        reader.offset = start + header.count
        return header
    }

    /// Returns the types that the brand implies; the brand is in the place of the minor version.
    private static func types(
        of source: ByteSource, brandsAt start: Int
    ) throws(CoderError) -> (item: FourCC, configuration: FourCC) {
        var reader = ByteReader(source, at: start)
        try reader.skip(4)
        let brand = FourCC(try reader.u32BE())
        switch brand {
        case "heic", "heix": return ("hvc1", "hvcC")
        case "avif": return ("av01", "av1C")
        default: throw .unsupported("a 'mini' box of the brand '\(brand)'")
        }
    }
}
