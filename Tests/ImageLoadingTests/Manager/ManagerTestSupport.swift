import CoderHost
import ImageLoading
import ImageModel
import ImageProcessing
import TestSupport

/// A cache that keeps everything and logs its reads.
final class PlainCache: ImageCaching {
    struct State {
        var images: [String: LoadedImage] = [:]
        var entries: [String: CachedData] = [:]
        var reads: [String] = []
    }

    let state = Mutex(State())

    var imageKeys: [String] { state.withLock { $0.images.keys.sorted() } }
    var entryKeys: [String] { state.withLock { $0.entries.keys.sorted() } }

    func image(for key: String) -> LoadedImage? { state.withLock { $0.images[key] } }
    func data(for key: String) async -> CachedData? {
        state.withLock { state in
            state.reads.append(key)
            return state.entries[key]
        }
    }
    func store(_ image: LoadedImage, for key: String) { state.withLock { $0.images[key] = image } }
    func store(_ data: CachedData, for key: String) async throws(CoderError) {
        state.withLock { $0.entries[key] = data }
    }
    func remove(_ key: String, from tiers: CacheTiers) async {
        state.withLock { state in
            if tiers.contains(.memory) { state.images[key] = nil }
            if tiers.contains(.disk) { state.entries[key] = nil }
        }
    }
    func contains(_ key: String, in tiers: CacheTiers) async -> CacheTiers {
        state.withLock { state in
            var found: CacheTiers = []
            if state.images[key] != nil { found.insert(.memory) }
            if state.entries[key] != nil { found.insert(.disk) }
            return found.intersection(tiers)
        }
    }
    func clear(_ tiers: CacheTiers) async {
        state.withLock { state in
            if tiers.contains(.memory) { state.images = [:] }
            if tiers.contains(.disk) { state.entries = [:] }
        }
    }
}

/// A loader with scripted answers, which it can hold back until the test opens it.
final class ScriptedLoader: ImageLoading {
    enum Answer: Sendable {
        case bytes([UInt8])
        case failure(CoderError)
        /// Bytes in parts; the test releases them one by one.
        case parts([[UInt8]])
        case notModified
    }

    struct State {
        var answers: [String: Answer] = [:]
        var loads: [String] = []
        var cached: [CachedData?] = []
        var open = true
        var cancelled = 0
    }

    let state: Mutex<State>

    init(_ answers: [String: Answer] = [:], isOpen: Bool = true) {
        state = Mutex(State(answers: answers, open: isOpen))
    }

    var loads: [String] { state.withLock { $0.loads } }

    /// Releases all waiting and future answers.
    func open() { state.withLock { $0.open = true } }

    func canLoad(_ request: ImageRequest) -> Bool { state.withLock { $0.answers[request.url] != nil } }

    func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        let answer = state.withLock { state in
            state.loads.append(request.url)
            state.cached.append(cached)
            return state.answers[request.url]
        }
        while !state.withLock({ $0.open }) {
            do {
                try await Task.sleep(for: .milliseconds(2))
            } catch {
                state.withLock { $0.cancelled += 1 }
                throw CoderError(.cancelled, "cancelled")
            }
        }
        let facts = ResponseFacts(url: request.url, status: 200, headers: ["etag": "\"1\""])
        switch answer {
        case .bytes(let bytes):
            let source = ImageSource(bytes, name: request.url)
            onProgress(LoadProgress(source, expected: bytes.count))
            return LoadedData(.source(source), response: facts)
        case .parts(let parts):
            let source = try ImageSource(growingTo: max(1, parts.reduce(0) { $0 + $1.count }), name: request.url)
            for part in parts {
                try source.append(part)
                onProgress(LoadProgress(source, expected: nil))
                do {
                    try await Task.sleep(for: .milliseconds(60))
                } catch {
                    throw CoderError(.cancelled, "cancelled")
                }
            }
            source.finish()
            return LoadedData(.source(source), response: facts)
        case .failure(let error): throw error
        case .notModified:
            return LoadedData(.notModified, response: ResponseFacts(url: request.url, status: 304, headers: [:]))
        case nil: throw CoderError(.notFound, "nothing")
        }
    }
}

/// A PPM image; each pixel contains its position.
func testImage(_ width: Int, _ height: Int) -> [UInt8] {
    var bytes = Array("P6\n\(width) \(height)\n255\n".utf8)
    for y in 0..<height {
        for x in 0..<width { bytes += [UInt8(truncatingIfNeeded: x), UInt8(truncatingIfNeeded: y), 128] }
    }
    return bytes
}

/// A host with the coders of this build.
func builtHost() -> CoderHost {
    var configuration = HostConfiguration(directories: [.init(Repository.products, origin: .argument)])
    configuration.isolation = IsolationPolicy(.off)
    return CoderHost(configuration: configuration)
}

func manager(
    _ loader: any ImageLoading, _ cache: any ImageCaching = PlainCache(),
    _ change: (inout ImageManagerConfiguration) -> Void = { _ in }
) -> ImageManager {
    var configuration = ImageManagerConfiguration(coders: builtHost().manager, cache: cache, loader: loader)
    change(&configuration)
    return ImageManager(configuration)
}

func thumbnail(_ side: Int) -> LoadOptions {
    var options = LoadOptions()
    options.decode.size = .box(PixelSize(side, side))
    return options
}
