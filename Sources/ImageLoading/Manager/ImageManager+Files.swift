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
        switch file.content {
        case .source(let source): return LoadedFile(source, tier: file.tier, response: file.response)
        case .notModified:
            guard let entry = await recipe.originalCache.data(for: recipe.key.original) else {
                throw CoderError(.badResponse, "the server says 304 of what nobody has")
            }
            let source = ImageSource(entry.bytes, name: recipe.url, origin: .network)
            return LoadedFile(source, tier: .disk, response: file.response)
        case .image:
            throw CoderError(.unsupportedFeature, "what loads \(redacted(recipe.url)) has a picture, but no file")
        }
    }
}
