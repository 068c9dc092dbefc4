import CoderHost
import ImageModel
import ImageProcessing
import TestSupport

@testable import ImageLoading

/// Shared parts of the cache tests.
enum CacheBench {
    /// A host with the plugins of this build.
    static let coders: CodersManager = {
        var configuration = HostConfiguration(
            directories: [.init(Repository.products, origin: .argument)], administrationDirectories: [],
            followsChanges: false, stateDirectory: nil)
        configuration.isolation = IsolationPolicy(.off)
        return CoderHost(configuration: configuration).manager
    }()

    /// Creates a still of one color.
    static func still(
        _ size: PixelSize = PixelSize(4, 3), _ format: PixelFormat = .rgba8, of origin: ImageFormat = "",
        hasAlpha: Bool = false, _ color: [UInt8] = [10, 20, 30, 255], scaleFactor: Double = 1,
        extended: [UInt8]? = nil
    ) throws -> LoadedImage {
        let info = ImageInfo(size: size, nativeFormat: format, hasAlpha: hasAlpha)
        let pixels = try PixelBuffer.of(size, format, color)
        return LoadedImage(
            .still(DecodedImage(info: info, pixels: pixels, format: origin, coder: "org.test.none")),
            format: origin, scaleFactor: scaleFactor, extendedData: extended)
    }

    /// Loads the animation of a fixture, with its format.
    static func animation(_ name: String, _ options: DecodeOptions = DecodeOptions()) throws -> LoadedImage {
        let source = ImageSource(Fixture.named(name).bytes, name: name)
        let animation = try AnimatedImage(source, manager: coders, options)
        return LoadedImage(.animated(animation), format: animation.format, options: options)
    }

    static func bytes(_ name: String) -> [UInt8] { Fixture.named(name).bytes }

    /// Detects the format of bytes from their content.
    static func format(_ bytes: [UInt8]) -> ImageFormat? {
        coders.candidates(for: ImageSource(bytes)).first?.format
    }
}

/// A disk cache in memory that logs its calls, and that a test can slow down or make fail.
final class ScriptedDisk: DiskCaching {
    private let entries = Mutex<[String: CachedData]>([:])
    private let calls = Mutex<[String]>([])
    private let gate: Turnstile?
    private let failure: CoderError?

    init(gate: Turnstile? = nil, failure: CoderError? = nil) {
        self.gate = gate
        self.failure = failure
    }

    /// The calls in order.
    var log: [String] { calls.withLock { $0 } }
    private func note(_ call: String) { calls.withLock { $0.append(call) } }

    func data(for key: String) -> CachedData? {
        note("data \(key)")
        gate?.pass()
        return entries.withLock { $0[key] }
    }
    func store(_ data: CachedData, for key: String) throws(CoderError) {
        note("store \(key)")
        if let failure { throw failure }
        entries.withLock { $0[key] = data }
    }
    func remove(_ key: String) { entries.withLock { $0[key] = nil } }
    func contains(_ key: String) -> Bool { entries.withLock { $0[key] != nil } }
    func clear() { entries.withLock { $0 = [:] } }
    func deleteOldFiles() { note("deleteOldFiles") }
    func configure(_ configuration: DiskCacheConfiguration) { note("configure \(configuration.maxSize)") }
    var totals: (count: Int, size: Int) {
        entries.withLock { ($0.count, $0.values.reduce(0) { $0 + $1.bytes.count }) }
    }
}
