internal import ISOBoxes
internal import ImageModel

/// The bit fields at the start of a `mini` box.
///
///     version 2, flags 9 · chroma 2, orientation 3 · large 1, width and height 7 or 15 each · depth · colors ·
///     [types 2 x 32] · [gain map, HDR] · sizes of the chunks                  then, from the next byte on, the chunks
///
/// Two drafts exist, which differ in two places. No field identifies the draft of a file, but with the wrong one
/// the sizes seldom fill the box.
///
/// - Source: ISO/IEC 23008-12 annex O (`MinimizedImageBox`).
struct MiniHeader {
    enum Draft: CaseIterable {
        /// The draft with a matrix in every explicit color description; a gain map may declare the size of the image.
        case later
        /// The draft without a matrix for gray images; a gain map always declares a size.
        case earlier
    }

    /// The bytes of each chunk, in the order of the file; 0: missing.
    struct Sizes {
        var configuration = 0
        var alphaConfiguration = 0
        var gainMapConfiguration = 0
        var profile = 0
        var toneMapProfile = 0
        var gainMapMetadata = 0
        var alpha = 0
        var gainMap = 0
        var main = 0
        var exif = 0
        var xmp = 0

        /// At most 12 + 20 + 28 bits each: no overflow.
        var total: Int { front + gainMapMetadata + alpha + gainMap + main + exif + xmp + toneMapProfile }
        /// The bytes before the end of the profile.
        var front: Int { configuration + alphaConfiguration + gainMapConfiguration + profile }
    }

    private(set) var version = 0
    private(set) var isFloat = false
    /// 0: gray, 1: 4:2:0, 2: 4:2:2, 3: 4:4:4.
    private(set) var chroma = 0
    /// The orientation as in Exif, 1…8.
    private(set) var orientation = 1
    /// The size before rotation.
    private(set) var size = PixelSize.zero
    private(set) var depth = 8
    private(set) var isPremultiplied = false
    private(set) var codePoints = CodePoints(primaries: 2, transfer: 2, matrix: 2, isFullRange: false)
    /// Nil if the brand of the file determines them.
    private(set) var types: (item: FourCC, configuration: FourCC)?
    private(set) var isMetadataCompressed = false
    /// The facts of the gain map, if there is one.
    private(set) var gainMap: GainMap?
    private(set) var sizes = Sizes()
    /// The bytes of all these fields.
    private(set) var count = 0

    /// The maximum number of bytes of a header.
    static let longest = 300

    /// Nil if the bytes end within the header.
    init?(_ bytes: [UInt8], draft: Draft) {
        var bits = BitReader(bytes)
        version = bits.read(2)
        let hasTypes = bits.flag()
        isFloat = bits.flag()
        let isFullRange = bits.flag()
        let hasAlpha = bits.flag()
        let hasCodePoints = bits.flag()
        let hasHDR = bits.flag()
        let hasProfile = bits.flag()
        let hasExif = bits.flag()
        let hasXMP = bits.flag()
        chroma = bits.read(2)
        orientation = bits.read(3) + 1
        let sideBits = bits.flag() ? 15 : 7
        size = PixelSize(bits.read(sideBits) + 1, bits.read(sideBits) + 1)
        Self.skipChromaPlace(&bits, chroma)
        depth = Self.depth(&bits, isFloat: isFloat)
        if hasAlpha { isPremultiplied = bits.flag() }
        var primaries = hasProfile ? 2 : 1
        var transfer = hasProfile ? 2 : 13
        var matrix = chroma == 0 ? 2 : 6
        if hasCodePoints {
            primaries = bits.read(8)
            transfer = bits.read(8)
            if chroma != 0 || draft == .later { matrix = bits.read(8) }
        }
        codePoints = CodePoints(
            primaries: UInt8(primaries), transfer: UInt8(transfer), matrix: UInt8(matrix), isFullRange: isFullRange)
        if hasTypes { types = (FourCC(UInt32(bits.read(32))), FourCC(UInt32(bits.read(32)))) }
        gainMap = hasHDR ? Self.dynamicRange(&bits, size, sideBits: sideBits, draft: draft) : nil

        let isLarge = (hasProfile || hasExif || hasXMP || gainMap != nil) && bits.flag()
        let metadataBits = isLarge ? 20 : 10
        let configurationBits = bits.flag() ? 12 : 3
        let dataBits = bits.flag() ? 28 : 15
        if hasProfile { sizes.profile = bits.read(metadataBits) + 1 }
        if let gainMap {
            if gainMap.hasProfile { sizes.toneMapProfile = bits.read(metadataBits) + 1 }
            sizes.gainMapMetadata = bits.read(metadataBits)
            sizes.gainMap = bits.read(dataBits)
            if sizes.gainMap > 0 { sizes.gainMapConfiguration = bits.read(configurationBits) }
        }
        sizes.configuration = bits.read(configurationBits)
        sizes.main = bits.read(dataBits) + 1
        if hasAlpha {
            sizes.alpha = bits.read(dataBits)
            if sizes.alpha > 0 { sizes.alphaConfiguration = bits.read(configurationBits) }
        }
        if hasExif || hasXMP { isMetadataCompressed = bits.flag() }
        if hasExif { sizes.exif = bits.read(metadataBits) + 1 }
        if hasXMP { sizes.xmp = bits.read(metadataBits) + 1 }
        if bits.isExhausted { return nil }
        count = bits.bytesRead
    }

    /// Skips the fields with the positions of color samples.
    private static func skipChromaPlace(_ bits: inout BitReader, _ chroma: Int) {
        bits.skip(chroma == 1 ? 2 : chroma == 2 ? 1 : 0)
    }

    private static func depth(_ bits: inout BitReader, isFloat: Bool) -> Int {
        if isFloat { return 16 << bits.read(2) }
        return bits.flag() ? bits.read(3) + 9 : 8
    }

    // MARK: High dynamic range

    /// Whether a gain map is no larger than its image: the sizes may fill the box in both drafts.
    var hasLikelyGainMap: Bool {
        gainMap.map { $0.size.width <= size.width && $0.size.height <= size.height } ?? true
    }

    struct GainMap {
        /// The size before rotation.
        let size: PixelSize
        let chroma: Int
        let depth: Int
        let codePoints: CodePoints
        /// Whether the image with the gain map applied has a profile.
        let hasProfile: Bool
    }

    /// Reads the fields of the gain map and skips those of the light levels; nil if there is no gain map.
    private static func dynamicRange(
        _ bits: inout BitReader, _ size: PixelSize, sideBits: Int, draft: Draft
    ) -> GainMap? {
        guard bits.flag() else {
            skipLight(&bits)
            return nil
        }
        let isAsLarge = draft == .later && bits.flag()
        let own = isAsLarge ? size : PixelSize(bits.read(sideBits) + 1, bits.read(sideBits) + 1)
        let matrix = UInt8(bits.read(8))
        let isFullRange = bits.flag()
        let chroma = bits.read(2)
        skipChromaPlace(&bits, chroma)
        let isFloat = bits.flag()
        let depth = depth(&bits, isFloat: isFloat)
        let hasProfile = bits.flag()
        if bits.flag() { bits.skip(3 * 8 + 1) }
        skipLight(&bits)
        skipLight(&bits)
        return GainMap(
            size: own, chroma: chroma, depth: depth,
            codePoints: CodePoints(primaries: 2, transfer: 2, matrix: matrix, isFullRange: isFullRange),
            hasProfile: hasProfile)
    }

    /// Skips `clli`, `mdcv`, `cclv`, `amve`, `reve` and `ndwt` without their box headers.
    private static func skipLight(_ bits: inout BitReader) {
        let present = (0..<6).map { _ in bits.flag() }
        if present[0] { bits.skip(2 * 16) }
        if present[1] { bits.skip(8 * 16 + 2 * 32) }
        if present[2] {
            bits.skip(2)
            let primaries = bits.read(1)
            let luminances = (0..<3).reduce(0) { count, _ in count + bits.read(1) }
            bits.skip(2 + 6 * 32 * primaries + 32 * luminances)
        }
        if present[3] { bits.skip(32 + 2 * 16) }
        if present[4] { bits.skip(2 * (32 + 2 * 16)) }
        if present[5] { bits.skip(32) }
    }
}
