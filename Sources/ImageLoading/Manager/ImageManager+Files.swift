public import CoderHost
public import ImageModel

/// The file of an image and its origin.
public struct LoadedFile: Sendable {
    /// All bytes.
    public var source: ImageSource
    /// The tier that had the file; empty if it was loaded.
    public var tier: CacheTiers
    /// The server's response; nil if no server was asked.
    public var response: ResponseFacts?

    init(_ source: ImageSource, tier: CacheTiers = [], response: ResponseFacts? = nil) {
        self.source = source
        self.tier = tier
        self.response = response
    }
}

extension ImageManager {
    /// Loads the file of an image without decoding it.
    ///
    /// The file is stored on disk according to the options. Concurrent requests for the image share the download.
    /// - Parameter onEvent: receives the progress, and previews if the request is progressive; on any thread.
    /// - Throws: `.invalidURL`, `.failedBefore`, `.notFound` if only caches were queried, errors of the loader,
    ///   `.unsupportedFeature` if the loader provides images without files, `.cancelled`.
    public func file(
        _ request: ImageRequest, onEvent: @escaping @Sendable (LoadEvent) -> Void = { _ in }
    ) async throws(CoderError) -> LoadedFile {
        guard !request.url.isEmpty else { throw CoderError(.invalidURL, "the URL is empty") }
        let recipe = Recipe(prepared(request), configuration)
        let urgency = LoadUrgency(recipe.options.priority)
        let previews = PreviewScheduler(recipe, decoding, configuration.coders, clock.previews)
        defer { previews?.stop() }
        let file = try await file(recipe, urgency) { progress in
            onEvent(.progress(received: progress.received, expected: progress.expected))
            previews?.look(progress, urgency, onEvent)
        }
        revalidateIfNeeded(file, recipe)
        guard case .source(let source) = file.content else {
            throw CoderError(
                .unsupportedFeature, "the loader of \(redacted(recipe.url)) provides an image, but no file")
        }
        return LoadedFile(source, tier: file.tier, response: file.response)
    }

    /// Reads the file from disk or loads it; concurrent callers share one read.
    func file(
        _ recipe: Recipe, _ urgency: LoadUrgency, onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> StageFile {
        let shared = try await file(recipe, recipe.fileKey, urgency, onProgress)
        guard case .image(_, let key) = shared.content, key != recipe.decodedKey else { return shared }
        // A loader made this image for another caller's options, so load it again for these.
        return try await file(recipe, recipe.ownFileKey, urgency, onProgress)
    }

    private func file(
        _ recipe: Recipe, _ key: WorkKey, _ urgency: LoadUrgency,
        _ onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> StageFile {
        try await files.value(for: key, urgency, onEvent: onProgress) { [self] node in
            await outcome { () async throws(CoderError) in try await fetched(recipe, node) }
        }
    }

    private func fetched(
        _ recipe: Recipe, _ node: SharedWork<WorkKey, LoadProgress, StageFile>.Node
    ) async throws(CoderError) -> StageFile {
        let options = recipe.options
        var entry: CachedData?
        if recipe.readsDisk { entry = await recipe.originalCache.data(for: recipe.key.original) }
        let onDisk = entry.map { entry in
            StageFile(
                content: .source(ImageSource(entry.bytes, name: recipe.url, origin: .network)), tier: .disk,
                freshness: HTTPFreshness(entry.attributes))
        }
        if let onDisk, isUsable(onDisk.freshness, recipe) { return onDisk }
        if !options.cache.usesLoader {
            throw CoderError(.notFound, "\(redacted(recipe.url)) is not in the queried caches")
        }
        let loaded: LoadedData
        do throws(CoderError) {
            loaded = try await self.loaded(recipe, entry, node)
        } catch {
            if let onDisk, isUsable(onDisk.freshness, after: error, recipe) { return onDisk }
            throw error
        }
        let freshness = loaded.response.flatMap { HTTPFreshness($0, now: now()) }
        switch loaded.content {
        case .image(let image):
            return StageFile(
                content: .image(image, madeFor: recipe.decodedKey), response: loaded.response, freshness: freshness)
        case .notModified:
            guard var onDisk, let entry else {
                throw CoderError(
                    .badResponse, "the server answered 304 Not Modified, but nothing is cached for this URL")
            }
            onDisk.response = loaded.response
            if let response = loaded.response {
                onDisk.freshness = freshness ?? onDisk.freshness?.confirmed(by: response, now: now())
            }
            await confirm(entry, onDisk, recipe)
            return onDisk
        case .source(let source):
            if loaded.response?.forbidsStoring ?? false {
                // The response forbids storing, so remove an older stored version, too.
                await recipe.originalCache.remove(recipe.key.original, from: .disk)
            } else if loaded.isWorthStoring, recipe.keepsFile, mayBeImage(source, recipe.options) {
                // Store before returning, so that the next request finds it. A failing cache reports its own state; the
                // load succeeds anyway.
                let data = CachedData(
                    source.bytes(0..<source.count), attributes: Self.attributes(recipe, loaded.response, freshness))
                try? await recipe.originalCache.store(data, for: recipe.key.original)
            }
            return StageFile(content: .source(source), response: loaded.response, freshness: freshness)
        }
    }

    /// Stores a confirmed file with its new lifetime, or removes it if it must not be stored any more.
    private func confirm(_ entry: CachedData, _ file: StageFile, _ recipe: Recipe) async {
        if file.response?.forbidsStoring ?? false {
            await recipe.originalCache.remove(recipe.key.original, from: .disk)
        } else if recipe.storesLifetime, let freshness = file.freshness {
            var entry = entry
            entry.attributes.merge(Self.attributes(recipe, file.response, freshness)) { $1 }
            try? await recipe.originalCache.store(entry, for: recipe.key.original)
        }
    }

    /// Calls the loader, unless the URL failed recently or the application refuses it.
    private func loaded(
        _ recipe: Recipe, _ entry: CachedData?, _ node: SharedWork<WorkKey, LoadProgress, StageFile>.Node
    ) async throws(CoderError) -> LoadedData {
        let request = ImageRequest(recipe.url, recipe.options)
        if !recipe.options.request.retriesFailed, failures.contains(recipe.url) {
            throw CoderError(
                .failedBefore, "\(redacted(recipe.url)) failed recently",
                hint: "wait \(configuration.failures.seconds) s, or set retriesFailed")
        }
        guard configuration.requests.shouldLoad(recipe.url) else {
            throw CoderError(.cancelled, "the application refused to load \(redacted(recipe.url))")
        }
        guard recipe.loader.canLoad(request) else {
            throw CoderError(
                .invalidURL, "no loader supports \(redacted(recipe.url))",
                hint: "use an http, https, file or data URL")
        }
        do throws(CoderError) {
            let loaded = try await recipe.loader.load(request, cached: entry, node.urgency) { node.send($0) }
            failures.remove(recipe.url)
            return loaded
        } catch {
            block(recipe, after: error)
            throw error
        }
    }

    /// Whether a coder might decode the bytes; an error page must not replace a valid entry.
    private func mayBeImage(_ source: ImageSource, _ options: LoadOptions) -> Bool {
        options.parts.coder != nil || !options.decode.hint.isEmpty
            || !configuration.coders.candidates(for: source).isEmpty
    }

    // MARK: Failures

    /// Blocks a URL for a while, unless special options of this request may have caused the failure.
    private func block(_ recipe: Recipe, after error: CoderError) {
        guard recipe.isPlain, recipe.options.parts.coder == nil, !recipe.options.request.allowsInvalidCertificates
        else { return }
        if configuration.failures.shouldBlock?(recipe.url, error) ?? recipe.loader.shouldBlock(recipe.url, after: error)
        {
            failures.insert(recipe.url)
        }
    }

    /// Removes stored bytes that are not an image; otherwise an error page would be served from disk forever.
    func forget(_ recipe: Recipe, after error: CoderError) async {
        if recipe.options.cache.usesLoader { block(recipe, after: error) }
        guard Self.isNoImage(error, recipe) else { return }
        await recipe.originalCache.remove(recipe.key.original, from: .disk)
    }

    /// Whether the bytes caused the error; a coder that the caller has forced may be the wrong one.
    static func isNoImage(_ error: CoderError, _ recipe: Recipe) -> Bool {
        recipe.options.parts.coder == nil
            && [.unrecognizedFormat, .notMine, .corrupt, .truncated].contains(error.code)
    }
}
