import CoderHost
import ImageModel
import ImageProcessing

/// The way of a request: memory; then, done once for all who want the same, the result on disk, the picture (see
/// ``picture(_:after:_:_:)``) and its store.
extension ImageManager {
    /// - Parameter request: with what the options processor makes of it.
    func run(
        _ request: ImageRequest, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> LoadResult {
        guard !request.url.isEmpty else { throw CoderError(.invalidURL, "the URL is empty") }
        let recipe = Recipe(request, configuration)
        let options = recipe.options
        if options.origin != .loaderOnly, let known = try await known(recipe, urgency) {
            let result = try await finished(recipe, known, urgency)
            guard recipe.asksAgain, configuration.shouldLoad(recipe.url) else { return result }
            send(.cached(result))
        }
        let picture = try await made(recipe, urgency) { event in
            // Whoever began it may want another density.
            guard case .preview(let image) = event else { return send(event) }
            send(.preview(image.withScaleFactor(options.scaleFactor ?? 1)))
        }
        return try await finished(recipe, picture, urgency)
    }

    /// What is in memory; for whoever asks the server again also what can be made of the disk.
    private func known(_ recipe: Recipe, _ urgency: LoadUrgency) async throws(CoderError) -> StagePicture? {
        if recipe.options.queries.contains(.memory) {
            // Of what is transformed nothing else will do.
            let image =
                recipe.transformers.isEmpty
                ? await recipe.cache.imageInMemory(recipe.key, recipe.options) : recipe.hit()
            if let image { return StagePicture(image: image, tier: .memory) }
        }
        guard recipe.asksAgain else { return nil }
        do throws(CoderError) {
            return try await made(recipe.offline, urgency) { _ in }
        } catch {
            // What is damaged was forgotten, and the server is asked for all of it.
            if error.code == .notFound || Self.isNoPicture(error, recipe) { return nil }
            throw error
        }
    }

    /// The picture, from disk or made anew, and stored.
    private func made(
        _ recipe: Recipe, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StagePicture {
        try await results.value(for: recipe.resultKey, urgency, onEvent: send) { [self] node in
            await outcome { () async throws(CoderError) in
                if let stored = await stored(recipe, node.urgency) { return stored }
                let picture = try await picture(recipe, after: recipe.transformers.count, node.urgency) {
                    node.send($0)
                }
                await store(picture, recipe, node.urgency)
                return picture
            }
        }
    }

    /// The result as caches have it.
    private func stored(_ recipe: Recipe, _ urgency: LoadUrgency) async -> StagePicture? {
        let options = recipe.options
        guard options.origin != .loaderOnly, !options.refreshesCached else { return nil }
        // Somebody may have stored it since this one looked.
        if options.queries.contains(.memory), let image = recipe.hit() {
            return StagePicture(image: image, tier: .memory)
        }
        guard options.queries.contains(.disk), !recipe.key.isOriginal,
            let entry = await recipe.cache.data(for: recipe.key.result)
        else { return nil }
        // It was made smaller and transformed before it was stored.
        var plain = LoadOptions()
        plain.kind = options.kind
        let source = ImageSource(entry.bytes, name: recipe.url, origin: .network)
        guard let image = try? await decoding.decode(source, plain, urgency) else { return nil }
        let whole = LoadedImage(
            image.content, format: image.format, isTransformed: !recipe.transformers.isEmpty,
            options: options.decode, extendedData: entry.extended)
        if options.stores.contains(.memory) { recipe.cache.store(whole, for: recipe.key.result) }
        return StagePicture(image: whole, tier: .disk)
    }

    /// The picture as one caller wants it: those who share it may want other things beside it.
    private func finished(
        _ recipe: Recipe, _ picture: StagePicture, _ urgency: LoadUrgency
    ) async throws(CoderError) -> LoadResult {
        let options = recipe.options
        if options.preloadsAllFrames, let animation = picture.image.animation, !animation.areAllFramesLoaded {
            // Damage in a late frame is met by whoever shows it.
            try? await decoding.run(urgency) { _ throws(CoderError) in try animation.preloadAllFrames() }
        }
        if options.waitsForStore { await stores.finish(recipe.storeKey, urgency) }
        if Task.isCancelled { throw CoderError(.cancelled, "the load was cancelled") }
        var data: [UInt8]?
        if let source = picture.source {
            // A file that was reduced or transformed is not what the result was made of.
            if recipe.key.isOriginal { data = source.bytes(0..<source.count) }
        } else if options.queriesDataOfMemoryHits, picture.tier == .memory {
            data = await recipe.resultCache.data(for: recipe.key.result)?.bytes
        }
        return LoadResult(
            image: picture.image.withScaleFactor(options.scaleFactor ?? 1), data: data, tier: picture.tier,
            url: recipe.url, response: picture.response)
    }
}

/// What comes out, or what went wrong.
func outcome<R>(_ body: () async throws(CoderError) -> R) async -> Result<R, CoderError> {
    do throws(CoderError) {
        return .success(try await body())
    } catch {
        return .failure(error)
    }
}
