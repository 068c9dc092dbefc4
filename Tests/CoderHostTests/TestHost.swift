import ImageModel
import ImageProcessing
import TestSupport

@testable import CoderHost

/// Creates a host that uses only the given folders.
func testHost(
    _ folders: String..., administration: [String] = [], limits: DecodeLimits = .default, follows: Bool = false,
    isolation: IsolationPolicy = IsolationPolicy(.off), policy: TrustPolicy = .owned, trust: [String] = [],
    state: String? = nil
) -> CoderHost {
    var configuration = HostConfiguration(
        directories: folders.map { .init($0, origin: .argument) }, limits: limits,
        administrationDirectories: administration, followsChanges: follows, trustPolicy: policy,
        trustDirectories: trust, stateDirectory: state)
    configuration.isolation = isolation
    return CoderHost(configuration: configuration)
}

/// Plugins that are built once per process and copied on demand.
enum BuiltPlugin {
    private static let built = Mutex<[[String]: [UInt8]]>([:])

    /// Returns the bytes of a plugin below `Tests/ThirdParty/bad`.
    static func bytes(_ source: String, _ flags: [String] = []) throws -> [UInt8] {
        try built.withLock { built in
            if let known = built[[source] + flags] { return known }
            let folder = TemporaryDirectory()
            let path = try PluginBuilder.build("bad/\(source).c", flags: flags, into: folder.path)
            let bytes = readFile(path) ?? []
            built[[source] + flags] = bytes
            return bytes
        }
    }

    /// Copies a plugin below `Tests/ThirdParty/bad` to `folder` as `name`.
    @discardableResult
    static func put(
        _ source: String, _ flags: [String] = [], into folder: TemporaryDirectory, as name: String? = nil
    ) throws -> String {
        folder.write(try bytes(source, flags), to: name ?? "libcoder-\(source).so")
    }
}

/// The input of every plugin below `Tests/ThirdParty/bad`.
let badImage = ImageSource(Array("BAD!".utf8), name: "image.bad")

/// Runs a command that must succeed.
func shell(_ words: String...) throws {
    let result = try run(words)
    if result.status != 0 { throw ShellFailure(description: "\(words): \(result.stderr)") }
}

struct ShellFailure: Error, CustomStringConvertible {
    var description: String
}

/// A coder with scripted results: frames from memory, or an error in the header.
final class ScriptedCoder: ImageCoder {
    typealias Frame = (info: FrameInfo, pixels: [UInt8])

    let descriptor: CoderDescriptor
    private let info: ImageInfo
    private let frames: [Frame]
    private let failure: CoderError?
    private let format: PixelFormat
    private let count = Mutex(0)
    private let decodes = Mutex<[Int]>([])
    private let canSeek: Bool
    private let neverEnds: Bool

    /// The number of created decoders.
    var sessions: Int { count.withLock { $0 } }
    /// The decoded frames, in order.
    var decoded: [Int] { decodes.withLock { $0 } }

    init(
        _ id: String, signature: [UInt8] = Array("BAD!".utf8), priority: Int = 100,
        roles: CoderRoles = [.decode, .encode],
        format: PixelFormat = .rgba8, size: PixelSize = PixelSize(1, 1), frames: [Frame]? = nil,
        failure: CoderError? = nil, loopCount: LoopCount = .unknown, canSeek: Bool = true, claims: Int? = nil,
        neverEnds: Bool = false,
        formats: [(id: ImageFormat, extensions: [String], type: String)] = [("bad", ["bad"], "org.test.bad")]
    ) {
        self.canSeek = canSeek
        self.neverEnds = neverEnds
        let mask = [UInt8](repeating: 0xFF, count: signature.count)
        descriptor = CoderDescriptor(
            id: id, version: "1", tier: .user, roles: roles,
            formats: formats.map { format in
                PluginManifest.Format(
                    id: format.id, name: format.id.id.uppercased(), mimeTypes: [], extensions: format.extensions,
                    typeIdentifiers: [format.type],
                    signatures: [Signature(rules: [.bytes(at: 0, signature, mask: mask)], rank: 0)])
            }, priority: priority)
        self.frames = frames ?? [(FrameInfo(index: 0, rect: PixelRect(size)), [1, 2, 3, 4])]
        info = ImageInfo(
            size: size, nativeFormat: format, frameCount: claims ?? self.frames.count, loopCount: loopCount)
        self.failure = failure
        self.format = format
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        count.withLock { $0 += 1 }
        return Decoder(
            info: info, frames: frames, failure: failure, format: format, canSeek: canSeek, neverEnds: neverEnds
        ) { index in self.decodes.withLock { $0.append(index) } }
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { Encoder() }

    private final class Decoder: FrameDecoder {
        let info: ImageInfo
        let frames: [Frame]
        let failure: CoderError?
        let format: PixelFormat
        let canSeek: Bool
        let neverEnds: Bool
        let onDecode: (Int) -> Void
        var next = 0

        init(
            info: ImageInfo, frames: [Frame], failure: CoderError?, format: PixelFormat, canSeek: Bool,
            neverEnds: Bool, onDecode: @escaping (Int) -> Void
        ) {
            self.canSeek = canSeek
            self.neverEnds = neverEnds
            self.onDecode = onDecode
            self.info = info
            self.frames = frames
            self.failure = failure
            self.format = format
        }

        func readHeader() throws(CoderError) -> ImageInfo {
            if let failure { throw failure }
            return info
        }
        func pixelFormats() throws(CoderError) -> [PixelFormat] { [format] }
        func nextFrame() throws(CoderError) -> FrameInfo? {
            // After the last frame it stays there, as the contract requires.
            if next == frames.count && neverEnds { throw .needsInput }
            guard next < frames.count else { return nil }
            next += 1
            return frames[next - 1].info
        }
        func seek(toFrame index: Int) throws(CoderError) -> Int {
            guard canSeek else { throw .unsupported("seeking") }
            next = index
            return index
        }
        func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
            onDecode(next - 1)
            let pixels = frames[next - 1].pixels
            let width = place.rect.width * format.bytesPerPixel
            for y in 0..<place.rect.height {
                place.withMutableRow(y) { row in
                    for x in 0..<width {
                        row.storeBytes(of: pixels[(y * width + x) % pixels.count], toByteOffset: x, as: UInt8.self)
                    }
                }
            }
            return .complete
        }
    }

    /// Writes "BAD!" and the samples.
    private final class Encoder: FrameEncoder {
        var sink: (any OutputSink)?

        func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] { [.rgba8] }
        func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) {
            self.sink = sink
            try Array("BAD!".utf8).withSpan { span throws(CoderError) in try sink.write(span) }
        }
        func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { false }
        func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {
            guard let sink else { throw CoderError(.misuse, "begin was not called") }
            try pixels.packed.withSpan { span throws(CoderError) in try sink.write(span) }
        }
        func finish() throws(CoderError) {}
    }
}
