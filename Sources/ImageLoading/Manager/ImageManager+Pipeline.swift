import CoderHost
import ImageModel
import ImageProcessing

/// Processes a request: memory first; then, shared by concurrent requests, the result on disk, the image (see
/// ``stageImage(_:after:_:_:)``) and its storing.
extension ImageManager {
    /// Runs a request.
    ///
    /// - Parameter request: the request after the options processor.
    func run(
        _ request: ImageRequest, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> LoadResult {
        guard !request.url.isEmpty else { throw CoderError(.invalidURL, "the URL is empty") }
        let recipe = Recipe(request, configuration)
        let options = recipe.options
        if let known = try await known(recipe, urgency) {
            let result = try await finished(recipe, known, urgency)
            guard recipe.freshness == .revalidate else { return result }
            send(.cached(result))
        }
        let stage = try await made(recipe, urgency) { event in
            // The caller that started the shared work may want another scale factor.
            guard case .preview(let image) = event else { return send(event) }
            send(.preview(image.withScaleFactor(options.scaleFactor ?? 1)))
        }
        return try await finished(recipe, stage, urgency)
    }

    /// Returns the image in memory; for a request that revalidates, also an image decoded from disk.
    private func known(_ recipe: Recipe, _ urgency: LoadUrgency) async throws(CoderError) -> StageImage? {
        if recipe.options.cache.results.reads.contains(.memory) {
            // A transformed image cannot be derived from another image in memory.
            let image =
                recipe.transformers.isEmpty
                ? await recipe.cache.imageInMemory(recipe.key, recipe.options) : recipe.hit()
            if let image, recipe.freshness == .revalidate || isUsable(image.freshness, recipe) {
                return StageImage(image: image, tier: .memory)
            }
        }
        guard recipe.freshness == .revalidate else { return nil }
        do throws(CoderError) {
            return try await made(recipe.offline, urgency) { _ in }
        } catch {
            // Damaged bytes were removed; request the complete file from the server.
            if error.code == .notFound || Self.isNoImage(error, recipe) { return nil }
            throw error
        }
    }

    /// Returns the image from disk, or creates it and stores it.
    func made(
        _ recipe: Recipe, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StageImage {
        try await results.value(for: recipe.resultKey, urgency, onEvent: send) { [self] node in
            await outcome { () async throws(CoderError) in
                if let stored = await stored(recipe, node.urgency) { return stored }
                let stage = try await stageImage(recipe, after: recipe.transformers.count, node.urgency) {
                    node.send($0)
                }
                await store(stage, recipe, node.urgency)
                return stage
            }
        }
    }

    /// Returns the cached result.
    private func stored(_ recipe: Recipe, _ urgency: LoadUrgency) async -> StageImage? {
        let options = recipe.options
        if recipe.freshness == .revalidate { return nil }
        // Another task may have stored it since the first lookup.
        if options.cache.results.reads.contains(.memory), let image = recipe.hit(), isUsable(image.freshness, recipe) {
            return StageImage(image: image, tier: .memory)
        }
        guard options.cache.results.reads.contains(.disk), !recipe.key.isOriginal,
            let entry = await recipe.cache.data(for: recipe.key.result)
        else { return nil }
        let freshness = HTTPFreshness(entry.attributes)
        guard isUsable(freshness, recipe) else { return nil }
        // The stored image is already reduced and transformed.
        var plain = LoadOptions()
        plain.kind = options.kind
        let source = ImageSource(entry.bytes, name: recipe.url, origin: .network)
        guard let image = try? await decoding.decode(source, plain, urgency) else { return nil }
        let whole = LoadedImage(
            image.content, format: image.format, isTransformed: !recipe.transformers.isEmpty,
            options: options.decode, extendedData: entry.extended
        ).with(freshness)
        if options.cache.results.writes.contains(.memory) { recipe.cache.store(whole, for: recipe.key.result) }
        return StageImage(image: whole, tier: .disk)
    }

    /// Completes a shared image with the options of one caller.
    private func finished(
        _ recipe: Recipe, _ stage: StageImage, _ urgency: LoadUrgency
    ) async throws(CoderError) -> LoadResult {
        let options = recipe.options
        revalidateIfNeeded(stage, recipe)
        if options.animation.preloadsFrames, let animation = stage.image.animation, !animation.areAllFramesLoaded {
            // Errors in later frames are reported when the frames are read.
            try? await decoding.run(urgency) { _ throws(CoderError) in try animation.preloadAllFrames() }
        }
        if options.cache.waitsForStore { await stores.finish(recipe.storeKey, urgency) }
        if Task.isCancelled { throw CoderError(.cancelled, "the load was cancelled") }
        var data: [UInt8]?
        if let source = stage.source {
            // The bytes belong to the result only if it is neither reduced nor transformed.
            if recipe.key.isOriginal { data = source.bytes(0..<source.count) }
        } else if options.cache.returnsDataOfMemoryHits, stage.tier == .memory {
            data = await recipe.resultCache.data(for: recipe.key.result)?.bytes
        }
        return LoadResult(
            image: stage.image.withScaleFactor(options.scaleFactor ?? 1), data: data, tier: stage.tier,
            url: recipe.url, response: stage.response)
    }
}

/// Converts the result or the error of `body`.
func outcome<R>(_ body: () async throws(CoderError) -> R) async -> Result<R, CoderError> {
    do throws(CoderError) {
        return .success(try await body())
    } catch {
        return .failure(error)
    }
}
