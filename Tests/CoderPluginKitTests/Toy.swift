import CoderPluginKit
import ImageModel

/// A format for these tests, with every ability of the kit in a few bytes.
///
///     still      T S | w | h | w·h gray samples
///     animation  T A | w | h | n | n times (w·h gray samples)
///
/// The decoder returns its input (options, limits) as metadata, so that tests can see it through the tables.
enum Toy {
    static let still = Coder(
        id: "org.example.still", decoder: StillDecoder.self, encoder: ToyEncoder.self, roles: [.region])
    static let animation = Coder(id: "org.example.animation", decoder: ToyAnimationDecoder.self)
    static let plugin = CoderPlugin(
        id: "org.example.toy-plugin", version: "1.2.3", coders: [still, animation], isSerial: true)

    /// The errors for the option `toy.fail`, by name.
    static let failures: [String: CoderError] = [
        "notMine": .notMine(), "unsupported": .unsupported("arithmetic coding"),
        "corrupt": CoderError(.corrupt, "bad row", domain: "libtoy", inputOffset: 77), "truncated": .truncated(),
        "limit": .limit("metadata bytes", allowed: 10, requested: 20), "argument": .invalidArgument("no"),
        "misuse": CoderError(.misuse, "no"), "cancelled": CoderError(.cancelled, "no"),
        "deadline": CoderError(.deadlineExceeded, "no"), "memory": CoderError(.outOfMemory, "no"),
        "io": CoderError(.inputOutput, "no"), "fault": CoderError(.pluginFault, "no"),
        "long": .corrupt(String(repeating: "ü", count: 200)),
    ]

    static func stillFile(_ width: UInt8, _ height: UInt8) -> [UInt8] {
        Array("TS".utf8) + [width, height] + (0..<Int(width) * Int(height)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    }

    static func animationFile(_ width: UInt8, _ height: UInt8, frames: UInt8) -> [UInt8] {
        let samples = (0..<frames).flatMap { [UInt8](repeating: 10 + $0, count: Int(width) * Int(height)) }
        return Array("TA".utf8) + [width, height, frames] + samples
    }
}

private final class StillDecoder: ThumbnailDecoder {
    private let session: DecoderSession
    private var size = PixelSize.zero

    init(_ session: DecoderSession) throws(CoderError) {
        if session.options.bool("toy.refuse") == true { throw .invalidArgument("refused by the option") }
        self.session = session
    }

    func readHeader() throws(CoderError) -> ImageInfo {
        if let error = session.options.string("toy.fail").flatMap({ Toy.failures[$0] }) { throw error }
        var reader = ByteReader(session.source)
        guard try reader.consume(Array("TS".utf8)) else { throw .notMine() }
        size = PixelSize(Int(try reader.u8()), Int(try reader.u8()))
        if session.limits.maxSide > 0, size.width > session.limits.maxSide {
            throw .limit("width", allowed: session.limits.maxSide, requested: size.width)
        }
        return ImageInfo(
            size: size, nativeFormat: .gray8, orientation: .right, loopCount: .plays(3), isLossy: true,
            color: ColorDescription(codePoints: .sRGB, hasProfile: true, prefersCodePoints: true),
            density: .perMeter(x: 2835, y: 2834), background: RGBAColor(red: 1, green: 2, blue: 3, alpha: 4),
            hasItems: true)
    }

    func metadata() throws(CoderError) -> [MetadataBlob] {
        let options = session.options.values.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        return [
            MetadataBlob(.text, Array(options.utf8), key: "options"),
            MetadataBlob(.text, Array("\(session.limits.maxSide) \(session.limits.maxScans)".utf8), key: "limits"),
            MetadataBlob(.text, Array("\(session.host.threadHint)".utf8), key: "threads"),
            MetadataBlob(.icc, []),
        ]
    }

    func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize {
        PixelSize(max(wanted.width, size.width / 2), max(wanted.height, size.height / 2))
    }

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        try session.host.checkCancellation()
        session.host.warn("decoding")
        session.host.progress(1, of: 2)
        try session.host.reserve(bytes: 100)
        let origin = request.region ?? PixelRect(size)
        var rows = 0
        for y in 0..<surface.size.height {
            let start = 4 + (origin.y + y) * size.width + origin.x
            guard session.source.available >= start + surface.size.width else { break }
            surface.withMutableRow(y) { row in
                for x in 0..<surface.size.width {
                    row.storeBytes(of: session.source[start + x], toByteOffset: x, as: UInt8.self)
                }
            }
            rows += 1
        }
        if rows == surface.size.height { return .complete }
        if request.wantsPartial && rows > 0 {
            return .partial(PixelRect(x: 0, y: 0, width: surface.size.width, height: rows))
        }
        throw .needsInput
    }

    func thumbnail(at index: Int) throws(CoderError) -> ImageInfo? {
        index == 0 ? ImageInfo(size: PixelSize(1, 1), nativeFormat: .gray8) : nil
    }

    func decodeThumbnail(at index: Int, into surface: borrowing Surface) throws(CoderError) {
        surface.withMutableRow(0) { $0.storeBytes(of: 99, as: UInt8.self) }
    }
}

private final class ToyAnimationDecoder: AnimationDecoder {
    private let source: ByteSource
    private var size = PixelSize.zero
    private var frames = 0
    private var next = 0

    init(_ session: DecoderSession) { source = session.source }

    func readHeader() throws(CoderError) -> ImageInfo {
        var reader = ByteReader(source)
        guard try reader.consume(Array("TA".utf8)) else { throw .notMine() }
        size = PixelSize(Int(try reader.u8()), Int(try reader.u8()))
        frames = Int(try reader.u8())
        return ImageInfo(size: size, nativeFormat: .gray8, frameCount: nil, loopCount: .infinite, isAnimated: true)
    }

    var pixelFormats: [PixelFormat] { [.gray8, .rgb8] }

    func nextFrame() throws(CoderError) -> FrameInfo? {
        if next == frames { return nil }
        try ByteReader(source).require(5 + (next + 1) * size.width * size.height)
        next += 1
        return FrameInfo(
            index: next - 1, rect: PixelRect(size), duration: .milliseconds(40), blend: .over, disposal: .previous,
            hasAlpha: true, isIndependent: false)
    }

    func seek(toFrame index: Int) throws(CoderError) -> Int {
        if index >= frames { throw .invalidArgument("there are \(frames) frames") }
        // Simulates a format in which only every second frame is independent.
        next = index / 2 * 2
        return next
    }

    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome {
        let sample = source[5 + (next - 1) * size.width * size.height]
        for y in 0..<surface.size.height {
            surface.withMutableRow(y) { row in
                for x in 0..<surface.bytesPerRow { row.storeBytes(of: sample, toByteOffset: x, as: UInt8.self) }
            }
        }
        return .complete
    }
}

private final class ToyEncoder: ThumbnailEncoder, ItemEncoder {
    private let session: EncoderSession
    private var sink: ByteSink?
    private var info: ImageInfo?
    private var prefix: [UInt8] = []

    init(_ session: EncoderSession) { self.session = session }

    func beginItem(_ item: ItemDescription) throws(CoderError) {
        if item.role == .auxiliary { throw .refused("auxiliary images") }
        // Only begin passes the sink.
        prefix = [UInt8(item.role.rawValue), UInt8(item.owner ?? 9)] + Array((item.name ?? "").utf8)
    }

    func acceptedFormats(for info: ImageInfo) -> [PixelFormat] { [.gray8, .rgb8] }

    func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError) {
        self.info = info
        self.sink = sink
        try sink.write(prefix)
        prefix = []
        try sink.write(Array("TS".utf8) + [UInt8(info.size.width), UInt8(info.size.height)])
    }

    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool {
        if blob.kind == .xmp { throw .refused("XMP") }
        if blob.kind == .exif { throw .corrupt("the Exif block is damaged") }
        return blob.kind == .text && blob.key == "note" && blob.bytes == [1, 2]
    }

    func addThumbnail(pixels surface: borrowing Surface) throws(CoderError) {
        if surface.size.width > 2 { throw .refused("a thumbnail as large as that") }
        if surface.size.width > 1 { throw .corrupt("the thumbnail is damaged") }
        try sink?.write([0xEE])
    }

    func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError) {
        for y in 0..<surface.size.height {
            var row: [UInt8] = []
            surface.withRow(y) { bytes in
                row = (0..<surface.size.width).map { unsafe bytes.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
            }
            if info?.isLossy == true { row = row.map { $0 & 0xF0 } }
            try sink?.write(row)
        }
    }

    func finish() throws(CoderError) { try sink?.write([0xFF]) }
}
