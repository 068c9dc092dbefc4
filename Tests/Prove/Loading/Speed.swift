import CoderHost
import ImageLoading
import ImageModel
import ImageProcessing

/// Measures the duration of the ways to load an image.
struct Speed {
    private let coders: CodersManager
    private let options: LoadOptions

    /// - Parameters:
    ///   - plugins: the folder of the plugins; they run in this process, so that only loading is measured.
    ///   - side: the size of the thumbnail; 0 for the full image.
    init(plugins: String, side: Int) {
        var configuration = HostConfiguration(
            directories: [.init(plugins, origin: .argument)], administrationDirectories: [], followsChanges: false,
            stateDirectory: nil)
        configuration.isolation = IsolationPolicy(.off)
        coders = CoderHost(configuration: configuration).manager
        var options = LoadOptions()
        if side > 0 { options.decode.size = .box(PixelSize(side, side)) }
        self.options = options
    }

    /// Measures a file on disk, a result on disk, an image in memory, and one decode.
    func hits(_ directory: String, _ bytes: [UInt8]) async throws -> String {
        let url = "https://example.org/photo.jpg"
        var decodes: [Double] = []
        var files: [Double] = []
        var results: [Double] = []
        let names = BytesLoader()
        func hit(_ manager: ImageManager, _ options: LoadOptions, _ tier: CacheTiers) async throws {
            let found = try await manager.image(url, options).tier
            guard found == tier else { fatalError("found in \(found)") }
        }
        func manager(_ namespace: String, _ options: LoadOptions) -> (ImageManager, ImageCache) {
            let cache = ImageCache(namespace, in: directory, coders: coders)
            return (ImageManager(.init(coders: coders, cache: cache, loader: names)), cache)
        }
        var fromFile = options
        fromFile.cache.results.writes = .memory
        let (first, firstCache) = manager("files", fromFile)
        try await firstCache.store(CachedData(bytes), for: url)
        var fromResult = options
        fromResult.cache.waitsForStore = true
        let (second, secondCache) = manager("results", fromResult)
        try await secondCache.store(CachedData(bytes), for: url)
        _ = try await second.image(url, fromResult)
        for _ in 0..<41 {
            decodes.append(try seconds { _ = try coders.decode(ImageSource(bytes), options.decode) })
            await firstCache.clear(.memory)
            files.append(try await seconds { try await hit(first, fromFile, .disk) })
            await secondCache.clear(.memory)
            results.append(try await seconds { try await hit(second, fromResult, .disk) })
        }
        let count = 300_000
        let memory = try await seconds {
            for _ in 0..<count { try await hit(second, fromResult, .memory) }
        }
        return "decode_us \(microseconds(decodes)) file_us \(microseconds(files)) result_us \(microseconds(results)) "
            + "memory_ns \(Int(memory * 1e9 / Double(count)))"
    }

    /// Measures a network load with and without previews.
    func progressive(_ url: String, _ bytes: [UInt8]) async throws -> String {
        var options = options
        (options.cache.results.writes, options.cache.originals.writes) = ([], [])
        func load(_ options: LoadOptions) async throws -> (cost: Double, first: Int, looks: Int, image: LoadedImage) {
            var network = DownloaderConfiguration()
            network.servers.addresses.allowsPrivate = true
            let loader = try Downloader(network)
            let manager = ImageManager(
                .init(coders: coders, cache: ImageCache(disk: nil, coders: coders), loader: loader))
            let busy = processorSeconds()
            let task = manager.load(ImageRequest(url, options))
            var (first, looks, received) = (0, 0, 0)
            for await event in task.events {
                switch event {
                case .progress(let count, _): received = count
                case .preview:
                    looks += 1
                    if first == 0 { first = received }
                default: break
                }
            }
            let image = try await task.value.image
            return (processorSeconds() - busy, first, looks, image)
        }
        // Both loads include the same download, so it cancels out.
        var (plain, watched, decodes): ([Double], [Double], [Double]) = ([], [], [])
        var (first, looks) = (0, 0)
        for _ in 0..<7 {
            options.previewPolicy = .none
            plain.append(try await load(options).cost)
            options.previewPolicy = .paced()
            let outcome = try await load(options)
            watched.append(outcome.cost)
            (first, looks) = (max(first, outcome.first), max(looks, outcome.looks))
            let busy = processorSeconds()
            _ = try coders.decode(ImageSource(bytes), options.decode)
            decodes.append(processorSeconds() - busy)
        }
        let decode = median(decodes)
        return "size \(bytes.count) first \(first) looks \(looks) decode_us \(Int(decode * 1e6)) "
            + "watched_us \(Int((median(watched) - median(plain) + decode) * 1e6))"
    }

    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = monotonicNow()
        try body()
        return Double(monotonicNow() - start) / 1e9
    }

    private func seconds(_ body: () async throws -> Void) async rethrows -> Double {
        let start = monotonicNow()
        try await body()
        return Double(monotonicNow() - start) / 1e9
    }

    private func median(_ times: [Double]) -> Double { times.sorted()[times.count / 2] }
    private func microseconds(_ times: [Double]) -> Int { Int(median(times) * 1e6) }
}
