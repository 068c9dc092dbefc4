import CoderHost
import ImageModel
import ImageProcessing

/// What becomes of a file: decode, then every transformer; each done once for all who want it at the same time.
extension ImageManager {
    /// The picture after so many of its transformers.
    func picture(
        _ recipe: Recipe, after count: Int, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StagePicture {
        try await pictures.value(for: recipe.pictureKey(after: count), urgency, onEvent: send) { [self] node in
            await outcome { () async throws(CoderError) in
                if count > 0 { return try await transformed(recipe, count, node.urgency) { node.send($0) } }
                return try await untransformed(recipe, node.urgency) { node.send($0) }
            }
        }
    }

    private func transformed(
        _ recipe: Recipe, _ count: Int, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StagePicture {
        var picture = try await picture(recipe, after: count - 1, urgency, send)
        if picture.isIncomplete { return picture }
        let image = picture.image
        switch image.content {
        case .still(let still):
            let transformer = recipe.transformers[count - 1]
            let pixels = try? await decoding.run(urgency) { _ throws(CoderError) in
                try transformer.transform(still.pixels)
            }
            guard let pixels else {
                if Task.isCancelled { throw CoderError(.cancelled, "the load was cancelled") }
                // A picture that cannot be transformed is better than none; it is not stored as if it had been.
                picture.isIncomplete = true
                return picture
            }
            var changed = still
            changed.pixels = pixels
            changed.info.size = pixels.size
            changed.info.nativeFormat = pixels.format
            changed.info.hasAlpha = pixels.format.hasTransparency
            changed.dropEmbeddedThumbnail()
            picture.image = LoadedImage(
                .still(changed), format: image.format, isTransformed: true, options: image.options,
                extendedData: image.extendedData)
        case .animated:
            // All of them at once, while its frames are decoded.
            guard recipe.options.transformsAnimations, let source = picture.source, count == recipe.transformers.count
            else { return picture }
            let all = Pipeline(recipe.transformers)
            let coders = configuration.coders
            picture.image = try await decoding.run(urgency) { _ throws(CoderError) in
                let animation = try AnimatedImage(
                    source, manager: coders, recipe.options.decode, transformer: all, forcing: recipe.options.coder)
                return LoadedImage(
                    .animated(animation), format: animation.format, isTransformed: true, options: image.options)
            }
        }
        return picture
    }

    /// The picture before its transformers; in memory it serves others of them.
    private func untransformed(
        _ recipe: Recipe, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StagePicture {
        let (options, cache, key) = (recipe.options, recipe.originalCache, recipe.key.decoded)
        if recipe.transformers.isEmpty { return try await decoded(recipe, urgency, send) }
        if options.queriesOriginal.contains(.memory), options.origin != .loaderOnly, !options.refreshesCached,
            let image = cache.image(for: key), image.isWelcome(options.kind),
            // Frames are transformed while they are decoded.
            image.still != nil || !options.transformsAnimations
        {
            return StagePicture(image: image, tier: .memory)
        }
        let picture = try await decoded(recipe, urgency, send)
        if options.storesOriginal.contains(.memory) { cache.store(picture.image, for: key) }
        return picture
    }

    private func decoded(
        _ recipe: Recipe, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StagePicture {
        let looks = recipe.options.isProgressive ? ProgressiveLooks(recipe, decoding, configuration.coders) : nil
        let file = try await file(recipe, urgency) { progress in
            send(.progress(received: progress.received, expected: progress.expected))
            looks?.look(progress, urgency, send)
        }
        switch file.content {
        case .image(let image, _): return StagePicture(image: image, tier: file.tier, response: file.response)
        case .source(let source):
            var image = await looks?.end(source)
            do throws(CoderError) {
                if image == nil { image = try await decoding.decode(source, recipe.options, urgency) }
            } catch {
                await forget(recipe, after: error)
                throw file.response?.explaining(error) ?? error
            }
            return StagePicture(image: image!, source: source, tier: file.tier, response: file.response)
        }
    }
}
