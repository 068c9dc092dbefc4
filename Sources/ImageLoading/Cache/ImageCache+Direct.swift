import CoderHost
public import ImageModel
import ImageProcessing

// MARK: Querying

extension ImageCache {
    /// Looks for an image in memory, then on disk, and decodes it.
    ///
    /// An image that is reduced while it is decoded is kept in memory under its own key. Only options for decoding and
    /// storing apply; nothing is transformed.
    /// - Parameters:
    ///   - key: key of the file.
    ///   - tiers: tiers to query; nil for the tiers in the options.
    /// - Returns: nil if there is no entry, none of the wanted kind, or none that can be decoded.
    /// - Throws: `.cancelled`, at once.
    public func query(
        _ key: String, _ options: LoadOptions = LoadOptions(), in tiers: CacheTiers? = nil
    ) async throws(CoderError) -> LoadResult? {
        if Task.isCancelled { throw CoderError(.cancelled, "the cache query was cancelled") }
        let tiers = tiers ?? options.cache.results.reads
        let keys = CacheKey(original: key, options)
        let scale = options.scaleFactor(ofKey: key)
        if tiers.contains(.memory), let image = await imageInMemory(keys, options) {
            // The image may have been stored without preloaded frames.
            if options.animation.preloadsFrames, let animation = image.animation, !animation.areAllFramesLoaded {
                try? await BlockingWork.run { () throws(CoderError) in try animation.preloadAllFrames() }
            }
            let wantsData = options.cache.returnsDataOfMemoryHits && tiers.contains(.disk) && keys.isOriginal
            return LoadResult(
                image: image.withScaleFactor(scale), data: wantsData ? await data(for: key)?.bytes : nil, tier: .memory,
                url: key)
        }
        guard tiers.contains(.disk) else { return nil }
        let usesMemory = options.cache.results.writes.contains(.memory) && tiers.contains(.memory)
        let lookup = Lookup(
            key: ExactKey(key), variant: ExactKey(keys.decoded), preloads: options.animation.preloadsFrames,
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

    /// Reads from disk and decodes.
    private func look(
        _ keys: CacheKey, _ options: LoadOptions, usesMemory: Bool, _ urgency: LoadUrgency
    ) async throws(CoderError) -> LoadResult? {
        if !keys.isOriginal, let stored = await bytes(for: keys.decoded) {
            // The stored image is already reduced, so it only needs a plain decode.
            var plain = LoadOptions()
            (plain.kind, plain.animation.preloadsFrames) = (options.kind, options.animation.preloadsFrames)
            plain.decode.firstFrameOnly = options.decode.firstFrameOnly
            if let hit = try await decode(stored, plain, keys, options, usesMemory, urgency) { return hit }
        }
        guard let stored = await bytes(for: keys.original) else { return nil }
        var hit = try await decode(stored, options, keys, options, usesMemory, urgency)
        if hit?.tier == .disk, keys.isOriginal { hit?.data = stored.data.bytes }
        return hit
    }

    /// Decodes stored bytes.
    ///
    /// - Parameters:
    ///   - how: options for decoding these bytes.
    ///   - options: options that describe the result.
    private func decode(
        _ stored: (data: CachedData, origin: ImageSource.Origin), _ how: LoadOptions, _ keys: CacheKey,
        _ options: LoadOptions, _ usesMemory: Bool, _ urgency: LoadUrgency
    ) async throws(CoderError) -> LoadResult? {
        let scale = scaleFactor(ofKey: keys.original)
        let hit = try await decodeLine.run(urgency) { () async throws(CoderError) -> LoadResult? in
            // Another task may have decoded it while this one waited.
            if usesMemory, let image = await imageInMemory(keys, options) {
                return LoadResult(image: image, tier: .memory, url: keys.original)
            }
            let coders = self.coders
            let source = ImageSource(stored.data.bytes, name: keys.original, origin: stored.origin)
            let image = try? await BlockingWork.run { () throws(CoderError) in
                try StoredImage.decode(source, how, scaleFactor: scale, extended: stored.data.extended, coders)
            }
            guard let image else { return nil }
            let described = image.describedBy(options.decode)
            if usesMemory { store(described, for: keys.decoded, timeToLive: stored.data.timeToLive) }
            return LoadResult(image: described, tier: .disk, url: keys.original)
        }
        if Task.isCancelled { throw CoderError(.cancelled, "the cache query was cancelled") }
        return hit
    }
}

extension ImageCaching {
    /// Returns the image in memory, or derives it from another one in memory without decoding the file again.
    func imageInMemory(_ keys: CacheKey, _ options: LoadOptions) async -> LoadedImage? {
        if let image = image(for: keys.decoded), image.isWelcome(options.kind) { return image }
        var whole = options
        whole.kind = .any
        whole.decode.firstFrameOnly = false
        let key = CacheKey(original: keys.original, whole).decoded
        guard key != keys.decoded, let image = image(for: key) else { return nil }
        if options.kind == .animated { return image.animation == nil || options.decode.firstFrameOnly ? nil : image }
        guard image.animation != nil else { return image }
        let first = try? await BlockingWork.run { () throws(CoderError) in try StoredImage.firstFrame(of: image) }
        if let first, options.cache.results.writes.contains(.memory) { store(first, for: keys.decoded) }
        return first
    }
}

// MARK: Storing

extension ImageCache {
    /// Stores an image, in memory first.
    ///
    /// - Parameters:
    ///   - data: the original file; nil encodes the image. An unchanged animation keeps the bytes of its file. Other
    ///     images keep their format if it can be written; otherwise animations use the format for animations, and
    ///     stills the default format with or without alpha.
    ///   - options: options for encoding.
    ///   - timeToLive: the time after which the entry expires in both tiers; nil for the limits of the cache.
    /// - Throws: `.noCoder`, errors of the coder, `.inputOutput`; the image is kept in memory in any case.
    public func store(
        _ image: LoadedImage, data: [UInt8]?, for key: String, in tiers: CacheTiers = .all,
        _ options: LoadOptions = LoadOptions(), timeToLive: Duration? = nil
    ) async throws(CoderError) {
        if image.isPartial { return }
        if tiers.contains(.memory) { store(image, for: key, timeToLive: timeToLive) }
        guard tiers.contains(.disk), disk != nil else { return }
        var bytes = data
        if bytes == nil {
            let (coders, format) = (self.coders, configuration.animationFormat)
            bytes = try await decodeLine.run(LoadUrgency(.low)) { () async throws(CoderError) -> [UInt8] in
                try await BlockingWork.run { () throws(CoderError) in
                    try StoredImage.encode(image, options, animationFormat: format, coders)
                }
            }
        }
        guard let bytes else { return }
        var entry = CachedData(bytes, extended: image.extendedData)
        entry.timeToLive = timeToLive
        try await store(entry, for: key)
    }
}

extension CachedData {
    /// The time until the entry expires, rounded up to seconds.
    var timeToLive: Duration? {
        get { expiry.map { .seconds(max(0, $0 - Int(wallMilliseconds() / 1000))) } }
        set {
            expiry = newValue.map { time in
                let (seconds, rest) = time.components
                let whole = Int(clamping: seconds).addingReportingOverflow(rest > 0 ? 1 : 0)
                let end = Int(wallMilliseconds() / 1000).addingReportingOverflow(whole.partialValue)
                return whole.overflow || end.overflow ? .max : end.partialValue
            }
        }
    }
}

extension LoadedImage {
    /// Whether the image is of the wanted kind.
    func isWelcome(_ kind: ImageKind) -> Bool {
        switch kind {
        case .any: true
        case .still: still != nil
        case .animated: animation != nil
        }
    }

    /// Returns the same image, described as decoded with other options.
    func describedBy(_ options: DecodeOptions) -> LoadedImage {
        options == self.options
            ? self
            : LoadedImage(
                content, format: format, scaleFactor: scaleFactor, isPartial: isPartial, isTransformed: isTransformed,
                options: options, extendedData: extendedData
            ).with(freshness)
    }
}
