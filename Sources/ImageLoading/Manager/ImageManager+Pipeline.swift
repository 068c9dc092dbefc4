import CoderHost
import ImageModel
import ImageProcessing

/// The way of a request: memory, disk, the file on disk, the loader; decode, transform, store.
extension ImageManager {
    func run(
        _ request: ImageRequest, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> LoadResult {
        guard !request.url.isEmpty else { throw CoderError(.invalidURL, "the URL is empty") }
        let recipe = Recipe(request, configuration)
        let options = recipe.options
        if !options.retriesFailed, failures.contains(recipe.url) {
            throw CoderError(
                .failedBefore, "\(redacted(recipe.url)) failed a short while ago",
                hint: "wait \(configuration.failureSeconds) s, or ask for it with retriesFailed")
        }
        var known: LoadResult?
        if options.origin != .loaderOnly { known = try await cached(recipe, urgency) }
        if let known {
            guard options.refreshesCached, options.origin == .any else { return known }
            send(.cached(known))
        }
        if options.origin == .cacheOnly {
            throw CoderError(.notFound, "\(redacted(recipe.url)) is in no cache that was asked")
        }
        if known == nil || options.refreshesCached, !configuration.shouldLoad(recipe.url) {
            throw CoderError(.cancelled, "the application does not want \(redacted(recipe.url)) to be loaded")
        }
        do throws(CoderError) {
            let outcome = try await picture(recipe, after: recipe.transformers.count, urgency, send)
            failures.remove(recipe.url)
            switch outcome {
            case .picture(let picture): return result(recipe, picture)
            case .notModified:
                guard let known else { throw CoderError(.badResponse, "the server says 304 of what nobody has") }
                return known
            }
        } catch {
            let isBlocked =
                configuration.shouldBlock?(recipe.url, error) ?? recipe.loader.shouldBlock(recipe.url, after: error)
            if isBlocked { failures.insert(recipe.url) }
            throw error
        }
    }

    private func result(_ recipe: Recipe, _ picture: StagePicture) -> LoadResult {
        // A file that was reduced or transformed is not what the result was made of.
        let data = recipe.isOriginal ? picture.source.map { $0.bytes(0..<$0.count) } : nil
        return LoadResult(
            image: picture.image.withScaleFactor(recipe.options.scaleFactor ?? 1), data: data, tier: picture.tier,
            url: recipe.url, response: picture.response)
    }

    // MARK: Caches

    /// The result as a cache has it.
    private func cached(_ recipe: Recipe, _ urgency: LoadUrgency) async throws(CoderError) -> LoadResult? {
        let options = recipe.options
        if options.queries.contains(.memory), let image = recipe.hit(in: recipe.cache) {
            var data: [UInt8]?
            if options.queriesDataOfMemoryHits { data = await recipe.cache.data(for: recipe.key.result)?.bytes }
            return LoadResult(image: image, data: data, tier: .memory, url: recipe.url)
        }
        guard options.queries.contains(.disk), !recipe.isOriginal else { return nil }
        guard let entry = await recipe.cache.data(for: recipe.key.result) else { return nil }
        // It was made smaller and transformed before it was stored.
        var plain = LoadOptions()
        plain.kind = options.kind
        let source = ImageSource(entry.bytes, name: recipe.url, origin: .network)
        guard let image = try? await decoding.decode(source, plain, urgency) else { return nil }
        let whole = LoadedImage(
            image.content, format: image.format, scaleFactor: options.scaleFactor ?? 1,
            isTransformed: !recipe.transformers.isEmpty, options: options.decode, extendedData: entry.extended)
        if options.stores.contains(.memory) { recipe.cache.store(whole, for: recipe.key.result) }
        return LoadResult(image: whole, tier: .disk, url: recipe.url)
    }

    // MARK: The picture

    /// The picture after so many of its transformers; done once for all who want it at the same time.
    private func picture(
        _ recipe: Recipe, after count: Int, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StageOutcome {
        try await pictures.value(for: recipe.pictureKey(after: count), urgency, onEvent: send) { [self] node in
            do throws(CoderError) {
                let isLast = count == recipe.transformers.count
                // Somebody may have stored it since this one looked.
                if isLast, recipe.options.origin == .any, !recipe.options.refreshesCached,
                    recipe.options.queries.contains(.memory), let image = recipe.hit(in: recipe.cache)
                {
                    return .success(.picture(StagePicture(image: image, tier: .memory)))
                }
                let outcome =
                    count == 0
                    ? try await decoded(recipe, node.urgency) { node.send($0) }
                    : try await transformed(recipe, count, node.urgency) { node.send($0) }
                if isLast, case .picture(let picture) = outcome { await store(picture, recipe) }
                return .success(outcome)
            } catch {
                return .failure(error)
            }
        }
    }

    private func transformed(
        _ recipe: Recipe, _ count: Int, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StageOutcome {
        let outcome = try await picture(recipe, after: count - 1, urgency, send)
        guard case .picture(var below) = outcome else { return outcome }
        let (image, source) = (below.image, below.source)
        let transformer = recipe.transformers[count - 1]
        switch image.content {
        case .still(let still):
            guard
                let pixels = try? await decoding.run(
                    urgency,
                    { _ throws(CoderError) in
                        try transformer.transform(still.pixels)
                    })
            else {
                if Task.isCancelled { throw CoderError(.cancelled, "the load was cancelled") }
                // A picture that cannot be transformed is better than none; it is not stored as if it had been.
                return outcome
            }
            var changed = still
            changed.pixels = pixels
            changed.info.size = pixels.size
            changed.info.nativeFormat = pixels.format
            changed.info.hasAlpha = pixels.format.hasTransparency
            changed.dropEmbeddedThumbnail()
            below.image = LoadedImage(
                .still(changed), format: image.format, isTransformed: true, options: image.options,
                extendedData: image.extendedData)
        case .animated:
            guard recipe.options.transformsAnimations, let source, count == recipe.transformers.count else {
                return outcome
            }
            let all = Pipeline(recipe.transformers)
            let coders = configuration.coders
            below.image = try await decoding.run(urgency) { _ throws(CoderError) in
                let animation = try AnimatedImage(
                    source, manager: coders, recipe.options.decode, transformer: all, forcing: recipe.options.coder)
                return LoadedImage(
                    .animated(animation), format: animation.format, isTransformed: true, options: image.options)
            }
        }
        return .picture(below)
    }

    private func decoded(
        _ recipe: Recipe, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StageOutcome {
        let looks = recipe.options.isProgressive ? ProgressiveLooks(recipe, decoding, configuration.coders) : nil
        let file = try await file(recipe, urgency) { progress in
            send(.progress(received: progress.received, expected: progress.expected))
            looks?.look(progress, urgency, send)
        }
        switch file.content {
        case .notModified: return .notModified
        case .image(let image):
            return .picture(StagePicture(image: image, tier: file.tier, response: file.response))
        case .source(let source):
            var image = await looks?.end(source)
            do throws(CoderError) {
                if image == nil { image = try await decoding.decode(source, recipe.options, urgency) }
            } catch {
                await forget(recipe, after: error)
                throw file.response?.explaining(error) ?? error
            }
            return .picture(
                StagePicture(image: image!, source: source, tier: file.tier, response: file.response))
        }
    }

    /// Takes back what was kept and is no picture: a page of a server in trouble would be served from disk ever after.
    private func forget(_ recipe: Recipe, after error: CoderError) async {
        switch error.code {
        case .unrecognizedFormat, .notMine, .corrupt, .truncated:
            await recipe.originalCache.remove(recipe.key.original, from: .disk)
        default: break
        }
    }

    // MARK: The file

    /// The file, from disk or from the loader; got once for all who want it at the same time.
    func file(
        _ recipe: Recipe, _ urgency: LoadUrgency, onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> StageFile {
        try await files.value(for: recipe.fileKey, urgency, onEvent: onProgress) { [self] node in
            do throws(CoderError) {
                return .success(try await fetched(recipe, node))
            } catch {
                return .failure(error)
            }
        }
    }

    private func fetched(
        _ recipe: Recipe, _ node: SharedWork<WorkKey, LoadProgress, StageFile>.Node
    ) async throws(CoderError) -> StageFile {
        let options = recipe.options
        var entry: CachedData?
        let mayRead = recipe.isOriginal ? options.queries.union(options.queriesOriginal) : options.queriesOriginal
        if options.origin != .loaderOnly, mayRead.contains(.disk) {
            entry = await recipe.originalCache.data(for: recipe.key.original)
            if let entry, !options.refreshesCached {
                return StageFile(
                    content: .source(ImageSource(entry.bytes, name: recipe.url, origin: .network)), tier: .disk)
            }
        }
        if options.origin == .cacheOnly {
            throw CoderError(.notFound, "\(redacted(recipe.url)) is in no cache that was asked")
        }
        let request = ImageRequest(recipe.url, options)
        guard recipe.loader.canLoad(request) else {
            throw CoderError(.invalidURL, "nothing loads \(redacted(recipe.url))", hint: "http, https, file or data")
        }
        let loaded = try await recipe.loader.load(request, cached: entry, node.urgency) { node.send($0) }
        switch loaded.content {
        case .image(let image): return StageFile(content: .image(image), response: loaded.response)
        case .notModified: return StageFile(content: .notModified, response: loaded.response)
        case .source(let source):
            let isKept = recipe.isOriginal ? options.stores.union(options.storesOriginal) : options.storesOriginal
            if loaded.response?.forbidsStoring ?? false {
                // Neither is what was kept when it was still allowed.
                await recipe.originalCache.remove(recipe.key.original, from: .disk)
            } else if loaded.isWorthStoring, isKept.contains(.disk), recipe.serializer == nil {
                await keep(source, loaded.response, recipe)
            }
            return StageFile(content: .source(source), response: loaded.response)
        }
    }

    /// Keeps a file on disk before anybody is told of it: the next one who asks finds it.
    private func keep(_ source: ImageSource, _ response: ResponseFacts?, _ recipe: Recipe) async {
        let data = CachedData(source.bytes(0..<source.count), attributes: attributes(recipe, response))
        // A cache that cannot store has said so by itself; the picture is there all the same.
        try? await recipe.originalCache.store(data, for: recipe.key.original)
    }

    private func attributes(_ recipe: Recipe, _ response: ResponseFacts?) -> [String: String] {
        var attributes = ["url": redacted(recipe.url)]
        for name in ["etag", "last-modified", "content-type"] { attributes[name] = response?.headers[name] }
        return attributes
    }

    // MARK: Storing

    private func store(_ picture: StagePicture, _ recipe: Recipe) async {
        let options = recipe.options
        let (image, cache) = (picture.image, recipe.cache)
        let isWhole = recipe.transformers.isEmpty || image.isTransformed
        guard !image.isPartial, isWhole else { return }
        if options.stores.contains(.memory), picture.tier != .memory { cache.store(image, for: recipe.key.result) }
        if picture.response?.forbidsStoring ?? false { return await cache.remove(recipe.key.result, from: .disk) }
        guard options.stores.contains(.disk) else { return }
        let needsEntry = !recipe.isOriginal || picture.source == nil || recipe.serializer != nil
        guard needsEntry, picture.tier != .memory, !(recipe.isOriginal && picture.tier == .disk) else { return }
        let facts = attributes(recipe, picture.response)
        let data = picture.source.map { $0.bytes(0..<$0.count) }
        let manager = configuration.coders
        let animationFormat = configuration.animationFormat
        let urgency = LoadUrgency(.veryLow)
        let work: @Sendable () async -> Void = { [decoding] in
            let bytes = try? await decoding.run(urgency) { _ throws(CoderError) -> [UInt8]? in
                if let serializer = recipe.serializer {
                    return try serializer(image, recipe.isOriginal ? data : nil, recipe.url)
                }
                return try StoredPicture.encode(image, options, animationFormat: animationFormat, manager)
            }
            guard let bytes else { return }
            try? await cache.store(
                CachedData(bytes, extended: image.extendedData, attributes: facts), for: recipe.key.result)
        }
        if options.waitsForStore { await work() } else { stores.begin(work) }
    }
}
