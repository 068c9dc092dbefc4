/// The resources that a session may use; 0 means no limit.
///
/// The limits are fixed numbers, so an image that opens on one machine opens on every machine.
public struct DecodeLimits: Sendable, Hashable {
    /// The largest width or height of the canvas, in pixels.
    public var maxSide = 65_535
    /// The largest width × height to decode: of the whole canvas, a part of it, or a smaller size.
    public var maxPixels = 250_000_000
    /// The largest width × height of the canvas if a coder decodes only a part of it or a smaller size.
    public var maxSourcePixels = 1_000_000_000_000
    /// The largest number of frames.
    public var maxFrames = 10_000
    /// The largest product of canvas pixels and frames.
    public var maxTotalPixels = 4_000_000_000
    /// The largest number of input bytes.
    public var maxInputBytes = 1 << 30
    /// The largest number of output bytes of an encoder.
    public var maxOutputBytes = 1 << 32
    /// The largest number of bytes for pixels and the plugin's own memory at one time.
    public var maxDecodedBytes = 2 << 30
    /// The largest number of bytes in one piece of metadata, such as Exif, XMP or ICC.
    public var maxMetadataBytes = 4 << 20
    /// The largest number of bytes in all metadata of one image.
    public var maxTotalMetadataBytes = 16 << 20
    /// The largest number of decoded bytes per input byte, checked only above 64 MiB of decoded bytes.
    public var maxRatio = 2_000
    /// The largest number of progressive scans of one image.
    public var maxScans = 50
    /// The deepest nesting of boxes.
    public var maxNesting = 20
    /// The largest number of threads of one session.
    public var maxThreads = 4
    /// The longest wall time of one session, in milliseconds.
    public var maxMilliseconds = 120_000

    /// Creates the default limits.
    package init() {}

    /// The limits for interactive use.
    public static let `default` = DecodeLimits()

    /// The limits for untrusted input, such as uploads to a service.
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

    /// No limits, for files from a trusted origin.
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
