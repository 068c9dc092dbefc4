import CoderHost
public import ImageModel

/// What a cache had.
public struct CacheHit: Sendable {
    public var image: LoadedImage
    /// The file; nil for what was reduced, and for hits in memory unless they are asked for it.
    public var data: [UInt8]?
    public var tier: CacheTiers
}

extension LoadOptions {
    /// A picture that fits into a box.
    public static func thumbnail(_ box: PixelSize, preservesAspectRatio: Bool = true) -> LoadOptions {
        var options = LoadOptions()
        options.decode = .thumbnail(box, preservesAspectRatio: preservesAspectRatio)
        return options
    }
}

// MARK: Looking for a picture

extension ImageCache {
    /// Looks for a picture, in memory and then on disk, and decodes it.
    ///
    /// What was reduced while it was decoded stays in memory under the key of the reduced picture. Of the options those
    /// count that say what comes out and where it is kept; nothing is transformed.
    /// - Parameters:
    ///   - key: of the file.
    ///   - tiers: those that are asked; nil for those of the options.
    /// - Returns: nil where there is nothing, nothing of the wanted kind, or nothing that can be decoded.
    /// - Throws: `.cancelled`, at once.
    public func query(
        _ key: String, _ options: LoadOptions = LoadOptions(), in tiers: CacheTiers? = nil
    ) async throws(CoderError) -> CacheHit? {
        if Task.isCancelled { throw CoderError(.cancelled, "the look into the cache was cancelled") }
        let tiers = tiers ?? options.queries
        let keys = CacheKey(original: key, options)
        let scale = options.scaleFactor(ofKey: key)
        if tiers.contains(.memory), let image = await imageInMemory(keys, options) {
            // Whoever stored it may not have wanted that.
            if options.preloadsAllFrames, let animation = image.animation, !animation.areAllFramesLoaded {
                try? await BlockingWork.run { () throws(CoderError) in try animation.preloadAllFrames() }
            }
            let wantsData = options.queriesDataOfMemoryHits && tiers.contains(.disk) && keys.isOriginal
            return CacheHit(
                image: image.withScaleFactor(scale), data: wantsData ? await data(for: key)?.bytes : nil, tier: .memory)
        }
        guard tiers.contains(.disk) else { return nil }
        let usesMemory = options.stores.contains(.memory) && tiers.contains(.memory)
        let lookup = Lookup(
            key: ExactKey(key), variant: ExactKey(keys.decoded), preloads: options.preloadsAllFrames,
            usesMemory: usesMemory)
        let hit = try await lookups.value(for: lookup, LoadUrgency(options.priority)) { [self] node in
            do throws(CoderError) {
                return .success(try await look(keys, options, usesMemory: usesMemory, node.urgency))
            } catch {
                return .failure(error)
            }
        }
        guard var hit else { return nil }
        hit.image = hit.image.withScaleFactor(scale)
        return hit
    }

    /// Reads and decodes.
    private func look(
        _ keys: CacheKey, _ options: LoadOptions, usesMemory: Bool, _ urgency: LoadUrgency
    ) async throws(CoderError) -> CacheHit? {
        if !keys.isOriginal, let stored = await bytes(for: keys.decoded) {
            // It was made smaller before it was stored, and is only read.
            var plain = LoadOptions()
            (plain.kind, plain.preloadsAllFrames) = (options.kind, options.preloadsAllFrames)
            plain.decode.firstFrameOnly = options.decode.firstFrameOnly
            if let hit = try await decode(stored, plain, keys, options, usesMemory, urgency) { return hit }
        }
        guard let stored = await bytes(for: keys.original) else { return nil }
        var hit = try await decode(stored, options, keys, options, usesMemory, urgency)
        if hit?.tier == .disk, keys.isOriginal { hit?.data = stored.data.bytes }
        return hit
    }

    /// - Parameters:
    ///   - how: what is done with the bytes.
    ///   - options: what the result is.
    private func decode(
        _ stored: (data: CachedData, origin: ImageSource.Origin), _ how: LoadOptions, _ keys: CacheKey,
        _ options: LoadOptions, _ usesMemory: Bool, _ urgency: LoadUrgency
    ) async throws(CoderError) -> CacheHit? {
        let scale = scaleFactor(ofKey: keys.original)
        let hit = try await decodeLine.run(urgency) { () async throws(CoderError) -> CacheHit? in
            // Somebody else may have decoded it while this one waited.
            if usesMemory, let image = await imageInMemory(keys, options) {
                return CacheHit(image: image, tier: .memory)
            }
            let coders = self.coders
            let source = ImageSource(stored.data.bytes, name: keys.original, origin: stored.origin)
            let image = try? await BlockingWork.run { () throws(CoderError) in
                try StoredPicture.decode(source, how, scaleFactor: scale, extended: stored.data.extended, coders)
            }
            guard let image else { return nil }
            let described = image.describedBy(options.decode)
            if usesMemory { store(described, for: keys.decoded) }
            return CacheHit(image: described, tier: .disk)
        }
        if Task.isCancelled { throw CoderError(.cancelled, "the look into the cache was cancelled") }
        return hit
    }
}

extension ImageCaching {
    /// The picture in memory, or another one there that it can be made of without decoding it anew.
    func imageInMemory(_ keys: CacheKey, _ options: LoadOptions) async -> LoadedImage? {
        if let image = image(for: keys.decoded), image.isWelcome(options.kind) { return image }
        var whole = options
        whole.kind = .any
        whole.decode.firstFrameOnly = false
        let key = CacheKey(original: keys.original, whole).decoded
        guard key != keys.decoded, let image = image(for: key) else { return nil }
        if options.kind == .animated { return image.animation == nil || options.decode.firstFrameOnly ? nil : image }
        guard image.animation != nil else { return image }
        let first = try? await BlockingWork.run { () throws(CoderError) in try StoredPicture.firstFrame(of: image) }
        if let first, options.stores.contains(.memory) { store(first, for: keys.decoded) }
        return first
    }
}

// MARK: Storing a picture

extension ImageCache {
    /// Keeps a picture, in memory first.
    ///
    /// - Parameters:
    ///   - data: the file; nil encodes the picture: into the bytes of its file where it is an animation that still has
    ///     them, its own format, one for animations, or one with or without alpha.
    ///   - options: how it is encoded.
    /// - Throws: `.noCoder` and what the coder says, `.inputOutput`; it is in memory all the same.
    public func store(
        _ image: LoadedImage, data: [UInt8]?, for key: String, in tiers: CacheTiers = .all,
        _ options: LoadOptions = LoadOptions()
    ) async throws(CoderError) {
        if image.isPartial { return }
        if tiers.contains(.memory) { store(image, for: key) }
        guard tiers.contains(.disk), disk != nil else { return }
        var bytes = data
        if bytes == nil {
            let (coders, format) = (self.coders, configuration.animationFormat)
            bytes = try await decodeLine.run(LoadUrgency(.low)) { () async throws(CoderError) -> [UInt8] in
                try await BlockingWork.run { () throws(CoderError) in
                    try StoredPicture.encode(image, options, animationFormat: format, coders)
                }
            }
        }
        if let bytes { try await store(CachedData(bytes, extended: image.extendedData), for: key) }
    }
}

extension LoadedImage {
    /// Whether it is of the wanted kind.
    func isWelcome(_ kind: ImageKind) -> Bool {
        switch kind {
        case .any: true
        case .still: still != nil
        case .animated: animation != nil
        }
    }

    /// The same picture, said to be made with other options.
    func describedBy(_ options: DecodeOptions) -> LoadedImage {
        options == self.options
            ? self
            : LoadedImage(
                content, format: format, scaleFactor: scaleFactor, isPartial: isPartial, isTransformed: isTransformed,
                options: options, extendedData: extendedData)
    }
}
