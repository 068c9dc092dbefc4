/// What a session may cost; 0 means no limit.
///
/// The numbers are fixed, so that a picture that opens on one machine opens on every machine.
public struct DecodeLimits: Sendable, Hashable {
    /// Pixels, of either side of the canvas.
    public var maxSide = 65_535
    /// Width × height of what is decoded: the whole canvas, a part of it, or a smaller size.
    public var maxPixels = 250_000_000
    /// Width × height of the canvas, where a coder decodes only a part of it or a smaller size.
    public var maxSourcePixels = 1_000_000_000_000
    public var maxFrames = 10_000
    /// Canvas pixels × frames.
    public var maxTotalPixels = 4_000_000_000
    public var maxInputBytes = 1 << 30
    public var maxOutputBytes = 1 << 32
    /// Bytes of pixels and of a plugin's own memory at one time.
    public var maxDecodedBytes = 2 << 30
    /// Each of Exif, XMP, ICC and so on.
    public var maxMetadataBytes = 4 << 20
    /// All metadata of one image together.
    public var maxTotalMetadataBytes = 16 << 20
    /// Decoded bytes per input byte, looked at only above 64 MiB of decoded bytes.
    public var maxRatio = 2_000
    /// Progressive scans of one picture.
    public var maxScans = 50
    /// Boxes in boxes.
    public var maxNesting = 20
    public var maxThreads = 4
    /// Wall time of one session.
    public var maxMilliseconds = 120_000

    public init() {}

    /// For a person at a command line.
    public static let `default` = DecodeLimits()

    /// For bytes from strangers, as a service sees them.
    public static let strict = {
        var limits = DecodeLimits()
        limits.maxSide = 16_384
        limits.maxPixels = 50_000_000
        limits.maxSourcePixels = 10_000_000_000
        limits.maxFrames = 300
        limits.maxTotalPixels = 400_000_000
        limits.maxInputBytes = 32 << 20
        limits.maxOutputBytes = 256 << 20
        limits.maxDecodedBytes = 256 << 20
        limits.maxThreads = 1
        limits.maxMilliseconds = 10_000
        return limits
    }()

    /// No limit at all, for files whose origin is known.
    public static let off = {
        var limits = DecodeLimits()
        limits.maxSide = 0
        limits.maxPixels = 0
        limits.maxSourcePixels = 0
        limits.maxFrames = 0
        limits.maxTotalPixels = 0
        limits.maxInputBytes = 0
        limits.maxOutputBytes = 0
        limits.maxDecodedBytes = 0
        limits.maxMetadataBytes = 0
        limits.maxTotalMetadataBytes = 0
        limits.maxRatio = 0
        limits.maxScans = 0
        limits.maxNesting = 0
        limits.maxThreads = 0
        limits.maxMilliseconds = 0
        return limits
    }()
}
