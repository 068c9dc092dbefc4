import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Downloads the images of one call: an image manager with cache and downloader.
final class Network: Sendable {
    let host: CoderHost
    let manager: ImageManager
    /// The number of parallel downloads.
    let jobs: Int
    /// The disk cache; nil with `--no-cache`.
    private let disk: DiskCache?
    private let recorded: OutcomeRecordingCache?
    private let downloader: Downloader
    private let options: LoadOptions
    private let allowsPrivate: Bool
    /// The value of `--max-bytes`.
    private let maxBytes: Int?

    /// The minimum time between two sweeps of the cache; milliseconds.
    private static let sweepInterval = 30 * 60 * 1000

    init(_ arguments: ParsedArguments, _ host: CoderHost) throws(UsageError) {
        var switches = try NetworkSwitches(arguments)
        let cache = try CacheSwitches(arguments)
        self.host = host
        jobs = try Resources.examine(wanting: switches.downloader.queue.maxConcurrent, for: arguments.operands.count)
        switches.downloader.queue.maxConcurrent = jobs
        // Searches the plugins first, before downloads use up the descriptors.
        _ = host.manager.coders
        (allowsPrivate, maxBytes) = (switches.allowsPrivate, try arguments.byteCount("--max-bytes"))
        disk = arguments.has("--no-cache") ? nil : cache.open()
        recorded = disk.map { OutcomeRecordingCache($0) }
        do throws(CoderError) {
            downloader = try Downloader(switches.downloader)
        } catch {
            throw UsageError(error.message, hint: error.hint)
        }
        let images = ImageCache(disk: recorded, coders: host.manager)
        manager = ImageManager(
            ImageManagerConfiguration(
                coders: host.manager, cache: images, loader: LoadersManager(downloader)))
        var options = LoadOptions()
        options.request.headers = switches.headers
        options.request.retriesFailed = true
        options.cache = arguments.has("--no-cache") ? .disabled : .standard
        // Does not cache decoded images: each one is used once.
        options.cache.results = CachePolicy.disabled.results
        options.cache.usesLoader = !arguments.has("--offline")
        options.cache.freshness = switches.freshness
        self.options = options
    }

    // MARK: Files

    /// Returns the file of a URL, from the cache or from its server.
    ///
    /// - Parameter previews: writes the previews of the download; nil for none.
    func file(
        _ url: String, previews: PreviewWriter.PreviewSeries? = nil,
        onProgress: @escaping @Sendable (_ received: Int, _ expected: Int?) -> Void
    ) async throws(CoderError) -> LoadedFile {
        try examine(url)
        var request = ImageRequest(url, options)
        request.options.previewPolicy = previews == nil ? .none : .paced()
        let (images, sink) = AsyncStream.makeStream(of: LoadedImage.self, bufferingPolicy: .bufferingNewest(16))
        async let writing: Void = Self.write(images, previews)
        let outcome: Result<LoadedFile, CoderError>
        do throws(CoderError) {
            outcome = .success(
                try await manager.file(request) { event in
                    switch event {
                    case .progress(let received, let expected): onProgress(received, expected)
                    case .preview(let image): sink.yield(image)
                    case .cached, .finished: return
                    }
                })
        } catch {
            outcome = .failure(error)
        }
        sink.finish()
        await writing
        do throws(CoderError) {
            return try limited(try outcome.get())
        } catch {
            throw explained(error, url)
        }
    }

    private static func write(_ images: AsyncStream<LoadedImage>, _ previews: PreviewWriter.PreviewSeries?) async {
        for await image in images {
            try? await BlockingWork.run { () throws(CoderError) in previews?.write(image) }
        }
    }

    /// Applies `--max-bytes` to files from the cache as well.
    private func limited(_ file: LoadedFile) throws(CoderError) -> LoadedFile {
        if let maxBytes, file.source.count > maxBytes {
            throw .limit("input", allowed: maxBytes, requested: file.source.count)
        }
        return file
    }

    /// Removes data that is not an image from the cache, so that the next call downloads it again.
    func forget(_ url: String) { disk?.remove(manager.cacheKey(url, options).original) }

    /// Returns the outcome of storing the file of a URL in the cache; nil if nothing was stored.
    func storingOutcome(_ url: String) -> Result<Void, CoderError>? {
        recorded?.outcome(of: manager.cacheKey(url, options).original)
    }

    private func examine(_ url: String) throws(CoderError) {
        // Uses the file loader's own rule for paths.
        guard FileLoader().canLoad(ImageRequest(url)) else { return }
        guard url.prefix(5).lowercased() == "file:" else {
            throw CoderError(
                .invalidURL, "invalid URL: no scheme",
                hint: "for example https://example.org/photo.jpg; for files use coderhost convert")
        }
        if allowsPrivate { return }
        throw CoderError(
            .addressDenied, "a file: URL refers to this machine",
            hint: "use --allow-private, or coderhost convert for files")
    }

    /// Replaces the hint of an error by a hint at the options of this program.
    private func explained(_ error: CoderError, _ url: String) -> CoderError {
        var error = error
        // The URL precedes the message already.
        let shown = redacted(url)
        error.message = error.message.split(separator: " ", omittingEmptySubsequences: false)
            .map { $0 == shown ? "it" : $0 }.joined(separator: " ")
        switch error.code {
        case .notFound where !options.cache.usesLoader:
            error.hint = "omit --offline to ask the server"
        case .invalidURL where error.hint == nil && url.prefix(5).lowercased() == "data:":
            error.hint = "check that the URL is complete: data:image/png;base64,iVBORw0KGgo…"
        case .addressDenied:
            let isPrivate = error.feature == AddressPolicy.privateAddresses
            error.feature = nil
            error.hint =
                (isPrivate ? "--allow-private for this machine and private networks, or " : "")
                + "--allow-host HOST for a trusted host"
        case .transferFailed where error.feature == "trusted certificate":
            error.feature = nil
            error.hint = "name the certificate of its issuer with --ca-file FILE or SSL_CERT_FILE, if you trust it"
        case .limitExceeded where ["input", "download"].contains(error.limit?.name):
            error.hint = "raise it with --max-bytes SIZE, if you trust the source"
        case .invalidURL where error.hint == nil:
            error.hint = "for example https://example.org/photo.jpg"
        case .badStatus where error.httpStatus == 401 || error.httpStatus == 403:
            error.hint = "add --header 'Authorization: …'"
        case .badStatus where error.httpStatus == 404 || error.httpStatus == 410: error.hint = "check the URL"
        case .deadlineExceeded where error.limit?.name == "rate":
            error.hint = "use --min-rate SIZE for a slower server, or try again later"
        case .deadlineExceeded where error.limit?.name == "time":
            error.limit = nil
            error.hint = "use --max-time SECONDS for more time, or try again later"
        case .deadlineExceeded: error.hint = "use --timeout SECONDS to wait longer, or try again later"
        case .transferFailed where error.hint == nil, .badStatus:
            error.hint = "try again later, or use --retries N"
        default: break
        }
        return error
    }

    // MARK: The end

    /// Closes all connections, prunes the cache if due, and reports cache problems.
    func close() async {
        // Revalidations in the background.
        await manager.finishStoring()
        await downloader.shutdown()
        try? await BlockingWork.run { [self] () throws(CoderError) in pruneAndReport() }
    }

    private func pruneAndReport() {
        guard let disk, let recorded else { return }
        let last = FileStatus.of("\(disk.directory)/.janitor")?.identity.modified ?? 0
        if FileStatus.of(disk.directory) != nil, abs(wallMilliseconds() - last / 1_000_000) > Self.sweepInterval {
            disk.prune()
        }
        guard case .degraded(let error) = disk.state else { return }
        let (kept, lost) = recorded.counts
        let what = lost == 0 ? "" : kept == 0 ? "nothing was cached: " : "not everything was cached: "
        Console.error("coderhost: warning: \(what)\(printable(error.message))")
        if let hint = error.hint { Console.error("  try: \(printable(hint))") }
    }
}
