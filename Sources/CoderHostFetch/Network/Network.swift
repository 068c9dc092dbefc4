import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// What gets the pictures of one call: a manager with its cache and its downloader.
final class Network: Sendable {
    let host: CoderHost
    let manager: ImageManager
    /// Transfers at a time.
    let jobs: Int
    /// Nil with `--no-cache`.
    private let disk: DiskCache?
    private let noted: NotedCache?
    private let downloader: Downloader
    private let options: LoadOptions
    private let allowsPrivate: Bool
    /// What `--max-bytes` says.
    private let maxBytes: Int?

    /// How long a cache is used between two sweeps; milliseconds.
    private static let patience = 30 * 60 * 1000

    init(_ arguments: ParsedArguments, _ host: CoderHost) throws(UsageError) {
        var switches = try NetworkSwitches(arguments)
        let cache = try CacheSwitches(arguments)
        self.host = host
        jobs = try Resources.examine(wanting: switches.downloader.maxConcurrent, for: arguments.operands.count)
        switches.downloader.maxConcurrent = jobs
        // Transfers must not take the descriptors that looking for plugins needs.
        _ = host.manager.coders
        (allowsPrivate, maxBytes) = (switches.allowsPrivate, try arguments.byteCount("--max-bytes"))
        disk = arguments.has("--no-cache") ? nil : cache.open()
        noted = disk.map { NotedCache($0) }
        do throws(CoderError) {
            downloader = try Downloader(switches.downloader)
        } catch {
            throw UsageError(error.message, hint: error.hint)
        }
        let images = ImageCache(disk: noted, coders: host.manager)
        manager = ImageManager(
            ImageManagerConfiguration(
                coders: host.manager, cache: images, loader: LoadersManager(downloader)))
        var options = LoadOptions()
        options.headers = switches.headers
        options.retriesFailed = true
        options.refreshesCached = switches.asksAgain
        // Everybody gets a file of his own; pictures in memory would serve nobody.
        options.stores = []
        options.queries = []
        if arguments.has("--no-cache") { (options.storesOriginal, options.queriesOriginal) = ([], []) }
        if arguments.has("--offline") { options.origin = .cacheOnly }
        self.options = options
    }

    // MARK: Files

    /// The file of a URL, from the cache or from its server.
    func file(
        _ url: String, onProgress: @escaping @Sendable (_ received: Int, _ expected: Int?) -> Void
    ) throws(CoderError) -> LoadedFile {
        try examine(url)
        return try explained(url) { [manager, options] () throws(CoderError) in
            try limited(
                try waiting { () async throws(CoderError) in
                    try await manager.file(ImageRequest(url, options)) { onProgress($0.received, $0.expected) }
                })
        }
    }

    /// The same, with everything that can be seen on its way.
    func file(
        _ url: String, previews: @escaping @Sendable (LoadedImage) -> Void,
        onProgress: @escaping @Sendable (_ received: Int, _ expected: Int?) -> Void
    ) throws(CoderError) -> LoadedFile {
        try examine(url)
        var options = options
        options.isProgressive = true
        let request = ImageRequest(url, options)
        return try explained(url) { [manager] () throws(CoderError) in
            let result = try waiting { () async throws(CoderError) -> LoadResult in
                let task = manager.load(request)
                for await event in task.events {
                    switch event {
                    case .progress(let received, let expected): onProgress(received, expected)
                    case .preview(let image): previews(image)
                    case .cached, .finished: continue
                    }
                }
                return try await task.value
            }
            guard let data = result.data else { throw CoderError(.misuse, "the picture came without its file") }
            return try limited(
                LoadedFile(
                    ImageSource(data, name: url, origin: .network), tier: result.tier, response: result.response))
        }
    }

    /// Holds a file that was not loaded just now against what one may have.
    private func limited(_ file: LoadedFile) throws(CoderError) -> LoadedFile {
        if let maxBytes, file.source.count > maxBytes {
            throw .limit("input", allowed: maxBytes, requested: file.source.count)
        }
        return file
    }

    /// Forgets a file that is no picture: the next call asks for it anew.
    func forget(_ url: String) { disk?.remove(manager.cacheKey(url, options).original) }

    /// What became of keeping the file of a URL; nil where nobody tried.
    func keeping(_ url: String) -> Result<Void, CoderError>? {
        noted?.outcome(of: manager.cacheKey(url, options).original)
    }

    private func examine(_ url: String) throws(CoderError) {
        // Whatever a loader would take for a path is one.
        guard FileLoader().canLoad(ImageRequest(url)) else { return }
        guard url.prefix(5).lowercased() == "file:" else {
            throw CoderError(
                .invalidURL, "it is no URL, for it has no scheme",
                hint: "write it like https://example.org/photo.jpg; for files there is coderhost convert")
        }
        if allowsPrivate { return }
        throw CoderError(
            .addressDenied, "a file: URL leads to this machine itself",
            hint: "--allow-private reads it; for files there is coderhost convert")
    }

    /// With the switches of this program as the remedy.
    private func explained<R>(_ url: String, _ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        do throws(CoderError) {
            return try body()
        } catch {
            throw Self.explained(error, url)
        }
    }

    static func explained(_ error: CoderError, _ url: String) -> CoderError {
        var error = error
        // It stands in front of the message already.
        let shown = redacted(url)
        error.message = error.message.split(separator: " ", omittingEmptySubsequences: false)
            .map { $0 == shown ? "it" : $0 }.joined(separator: " ")
        switch error.code {
        case .notFound where error.message == "it is in no cache that was asked":
            error.hint = "leave out --offline, to ask its server"
        case .invalidURL where error.hint == nil && url.prefix(5).lowercased() == "data:":
            error.hint = "check that it was copied whole: data:image/png;base64,iVBORw0KGgo…"
        case .addressDenied:
            let isNear = error.hint?.contains("private") ?? false
            error.hint =
                (isNear ? "--allow-private for this machine and its networks, or " : "")
                + "--allow-host HOST, if it can be trusted"
        case .limitExceeded where ["input", "download"].contains(error.limit?.name):
            error.hint = "raise it with --max-bytes SIZE if the source is trusted"
        case .invalidURL where error.hint == nil:
            error.hint = "write it like https://example.org/photo.jpg"
        case .badStatus where error.httpStatus == 401 || error.httpStatus == 403:
            error.hint = "--header 'Authorization: …' says who asks"
        case .badStatus where error.httpStatus == 404 || error.httpStatus == 410: error.hint = "check the URL"
        case .deadlineExceeded where error.limit?.name == "rate":
            error.hint = "--min-rate SIZE accepts a slower server; or try again later"
        case .deadlineExceeded where error.message.hasPrefix("the transfer took more than"):
            error.hint = "--max-time SECONDS allows more time; or try again later"
        case .deadlineExceeded: error.hint = "--timeout SECONDS waits longer; or try again later"
        case .transferFailed where error.hint == nil, .badStatus:
            error.hint = "try again later; --retries N asks more often"
        default: break
        }
        return error
    }

    // MARK: The end

    /// Tidies the cache up where that is due, closes all connections, and says what the cache did not do.
    func close() {
        try? waiting { [downloader] () async throws(CoderError) in await downloader.shutdown() }
        guard let disk, let noted else { return }
        let last = FileStatus.of("\(disk.directory)/.janitor")?.identity.modified ?? 0
        if FileStatus.of(disk.directory) != nil, abs(wallMilliseconds() - last / 1_000_000) > Self.patience {
            disk.prune()
        }
        guard case .degraded(let error) = disk.state else { return }
        let (kept, lost) = noted.counts
        let what = lost == 0 ? "" : kept == 0 ? "the cache keeps nothing: " : "the cache does not keep all of it: "
        Console.error("coderhost: warning: \(what)\(printable(error.message))")
        if let hint = error.hint { Console.error("  try: \(printable(hint))") }
    }
}
