public import CoderHost
public import ImageModel

/// The file of a picture, and how it was come by.
public struct LoadedFile: Sendable {
    /// All of its bytes.
    public var source: ImageSource
    /// Where it was found; empty when it was loaded.
    public var tier: CacheTiers
    /// What the server said; nil where none was asked.
    public var response: ResponseFacts?

    public init(_ source: ImageSource, tier: CacheTiers = [], response: ResponseFacts? = nil) {
        self.source = source
        self.tier = tier
        self.response = response
    }
}

extension ImageManager {
    /// Gets the file of a picture, and decodes nothing.
    ///
    /// It is kept on disk as the options say. Whoever wants the picture at the same time shares the transfer.
    /// - Parameter onProgress: told whenever bytes have arrived; on any thread, one call after the other.
    /// - Throws: `.invalidURL`, `.failedBefore`, `.notFound` where only caches were asked, what the loader says,
    ///   `.unsupportedFeature` from a loader that has pictures and no files, `.cancelled`.
    public func file(
        _ request: ImageRequest, onProgress: @escaping @Sendable (LoadProgress) -> Void = { _ in }
    ) async throws(CoderError) -> LoadedFile {
        guard !request.url.isEmpty else { throw CoderError(.invalidURL, "the URL is empty") }
        let recipe = Recipe(prepared(request), configuration)
        let urgency = LoadUrgency(recipe.options.priority)
        let file = try await file(recipe, urgency, onProgress: onProgress)
        guard case .source(let source) = file.content else {
            throw CoderError(.unsupportedFeature, "what loads \(redacted(recipe.url)) has a picture, but no file")
        }
        return LoadedFile(source, tier: file.tier, response: file.response)
    }

    /// The file, from disk or from the loader; got once for all who want it at the same time.
    func file(
        _ recipe: Recipe, _ urgency: LoadUrgency, onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> StageFile {
        let shared = try await file(recipe, recipe.fileKey, urgency, onProgress)
        guard case .image(_, let key) = shared.content, key != recipe.decodedKey else { return shared }
        // A picture that a loader made for somebody else's options is no answer to these.
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
        let onDisk = entry.map { ImageSource($0.bytes, name: recipe.url, origin: .network) }
        if let onDisk, !options.refreshesCached { return StageFile(content: .source(onDisk), tier: .disk) }
        if options.origin == .cacheOnly {
            throw CoderError(.notFound, "\(redacted(recipe.url)) is in no cache that was asked")
        }
        let loaded = try await loaded(recipe, entry, node)
        switch loaded.content {
        case .image(let image):
            return StageFile(content: .image(image, madeFor: recipe.decodedKey), response: loaded.response)
        case .notModified:
            guard let onDisk else { throw CoderError(.badResponse, "the server says 304 of what nobody has") }
            if loaded.response?.forbidsStoring ?? false {
                await recipe.originalCache.remove(recipe.key.original, from: .disk)
            }
            return StageFile(content: .source(onDisk), tier: .disk, response: loaded.response)
        case .source(let source):
            if loaded.response?.forbidsStoring ?? false {
                // Neither is what was kept when it was still allowed.
                await recipe.originalCache.remove(recipe.key.original, from: .disk)
            } else if loaded.isWorthStoring, recipe.keepsFile, mayBePicture(source, recipe.options) {
                // Before anybody is told of it: the next one who asks finds it. A cache that cannot store has said so by
                // itself; the picture is there all the same.
                let data = CachedData(
                    source.bytes(0..<source.count), attributes: Self.attributes(recipe, loaded.response))
                try? await recipe.originalCache.store(data, for: recipe.key.original)
            }
            return StageFile(content: .source(source), response: loaded.response)
        }
    }

    /// Asks the loader, unless the application or an earlier failure is against it.
    private func loaded(
        _ recipe: Recipe, _ entry: CachedData?, _ node: SharedWork<WorkKey, LoadProgress, StageFile>.Node
    ) async throws(CoderError) -> LoadedData {
        let request = ImageRequest(recipe.url, recipe.options)
        if !recipe.options.retriesFailed, failures.contains(recipe.url) {
            throw CoderError(
                .failedBefore, "\(redacted(recipe.url)) failed a short while ago",
                hint: "wait \(configuration.failureSeconds) s, or ask for it with retriesFailed")
        }
        guard configuration.shouldLoad(recipe.url) else {
            throw CoderError(.cancelled, "the application does not want \(redacted(recipe.url)) to be loaded")
        }
        guard recipe.loader.canLoad(request) else {
            throw CoderError(.invalidURL, "nothing loads \(redacted(recipe.url))", hint: "http, https, file or data")
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

    /// Whether a coder might know it: a page of a server in trouble takes no good entry's place.
    private func mayBePicture(_ source: ImageSource, _ options: LoadOptions) -> Bool {
        options.coder != nil || options.decode.typeHint != nil || options.decode.fileExtensionHint != nil
            || !configuration.coders.candidates(for: source).isEmpty
    }

    // MARK: What failed

    /// Leaves a URL alone for a while, unless the failure may be the fault of this one request.
    private func block(_ recipe: Recipe, after error: CoderError) {
        guard recipe.isPlain, recipe.options.coder == nil, !recipe.options.allowsInvalidCertificates else { return }
        if configuration.shouldBlock?(recipe.url, error) ?? recipe.loader.shouldBlock(recipe.url, after: error) {
            failures.insert(recipe.url)
        }
    }

    /// Takes back what was kept and is no picture: a page of a server in trouble would be served from disk ever after.
    func forget(_ recipe: Recipe, after error: CoderError) async {
        if recipe.options.origin != .cacheOnly { block(recipe, after: error) }
        guard Self.isNoPicture(error, recipe) else { return }
        await recipe.originalCache.remove(recipe.key.original, from: .disk)
    }

    /// Whether the bytes are to blame; a coder that the caller insists on may be the wrong one.
    static func isNoPicture(_ error: CoderError, _ recipe: Recipe) -> Bool {
        recipe.options.coder == nil
            && [.unrecognizedFormat, .notMine, .corrupt, .truncated].contains(error.code)
    }
}
