import CoderHost
import ImageModel
import ImageProcessing

/// Decoding and transforming; concurrent requests share each step.
extension ImageManager {
    /// Returns the image after the first `count` transformers.
    func stageImage(
        _ recipe: Recipe, after count: Int, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StageImage {
        try await images.value(for: recipe.imageKey(after: count), urgency, onEvent: send) { [self] node in
            await outcome { () async throws(CoderError) in
                if count > 0 { return try await transformed(recipe, count, node.urgency) { node.send($0) } }
                return try await untransformed(recipe, node.urgency) { node.send($0) }
            }
        }
    }

    private func transformed(
        _ recipe: Recipe, _ count: Int, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StageImage {
        var stage = try await stageImage(recipe, after: count - 1, urgency, send)
        if stage.isIncomplete { return stage }
        let image = stage.image
        switch image.content {
        case .still(let still):
            let transformer = recipe.transformers[count - 1]
            let pixels = try? await decoding.run(urgency) { _ throws(CoderError) in
                try transformer.transform(still.pixels)
            }
            guard let pixels else {
                if Task.isCancelled { throw CoderError(.cancelled, "the load was cancelled") }
                // Deliver the untransformed image rather than an error, but do not store it as transformed.
                stage.isIncomplete = true
                return stage
            }
            var changed = still
            changed.pixels = pixels
            changed.info.size = pixels.size
            changed.info.nativeFormat = pixels.format
            changed.info.hasAlpha = pixels.format.hasTransparency
            changed.dropEmbeddedThumbnail()
            stage.image = LoadedImage(
                .still(changed), format: image.format, isTransformed: true, options: image.options,
                extendedData: image.extendedData
            ).with(image.freshness)
        case .animated:
            // Apply all transformers at once, while frames are decoded.
            guard recipe.options.animation.transformsFrames, let source = stage.source,
                count == recipe.transformers.count
            else { return stage }
            let all = Pipeline(recipe.transformers)
            let coders = configuration.coders
            stage.image = try await decoding.run(urgency) { _ throws(CoderError) in
                let animation = try AnimatedImage(
                    source, manager: coders, recipe.options.decode, transformer: all,
                    forcing: recipe.options.parts.coder)
                return LoadedImage(
                    .animated(animation), format: animation.format, isTransformed: true, options: image.options
                ).with(image.freshness)
            }
        }
        return stage
    }

    /// Returns the image before its transformers; in memory, other transformers can use it.
    private func untransformed(
        _ recipe: Recipe, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StageImage {
        let (options, cache, key) = (recipe.options, recipe.originalCache, recipe.key.decoded)
        if recipe.transformers.isEmpty { return try await decoded(recipe, urgency, send) }
        if options.cache.originals.reads.contains(.memory), let image = cache.image(for: key),
            image.isWelcome(options.kind), isUsable(image.freshness, recipe),
            // Transforming frames requires the file, because it happens while they are decoded.
            image.still != nil || !options.animation.transformsFrames
        {
            return StageImage(image: image, tier: .memory)
        }
        let stage = try await decoded(recipe, urgency, send)
        if options.cache.originals.writes.contains(.memory) { cache.store(stage.image, for: key) }
        return stage
    }

    private func decoded(
        _ recipe: Recipe, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) async throws(CoderError) -> StageImage {
        let previews = PreviewScheduler(recipe, decoding, configuration.coders, clock.previews)
        let file = try await file(recipe, urgency) { progress in
            send(.progress(received: progress.received, expected: progress.expected))
            previews?.look(progress, urgency, send)
        }
        switch file.content {
        case .image(let image, _):
            return StageImage(image: image.with(file.freshness), tier: file.tier, response: file.response)
        case .source(let source):
            var image = await previews?.end(source)
            do throws(CoderError) {
                if image == nil { image = try await decoding.decode(source, recipe.options, urgency) }
            } catch {
                await forget(recipe, after: error)
                throw file.response?.explaining(error) ?? error
            }
            return StageImage(
                image: image!.with(file.freshness), source: source, tier: file.tier, response: file.response)
        }
    }
}
