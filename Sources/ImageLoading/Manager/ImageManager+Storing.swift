import CoderHost
import ImageModel
import ImageProcessing

extension ImageManager {
    /// Stores a result: in memory at once, on disk in the background.
    func store(_ stage: StageImage, _ recipe: Recipe, _ urgency: LoadUrgency) async {
        let (options, image) = (recipe.options, stage.image)
        guard !image.isPartial, !stage.isIncomplete else { return }
        if options.cache.results.writes.contains(.memory) { recipe.cache.store(image, for: recipe.key.result) }
        guard options.cache.results.writes.contains(.disk) else { return }
        let (cache, key) = (recipe.resultCache, recipe.key.result)
        if stage.response?.forbidsStoring ?? false {
            return await stores.begin(recipe.storeKey, urgency) { _ in await cache.remove(key, from: .disk) }
        }
        guard needsEntry(stage, recipe) else { return }
        let facts = Self.attributes(recipe, stage.response, image.freshness)
        let manager = configuration.coders
        let animationFormat = configuration.storing.animationFormat
        await stores.begin(recipe.storeKey, urgency) { [decoding] urgency in
            let bytes = try? await decoding.run(urgency) { _ throws(CoderError) -> [UInt8]? in
                if let serializer = recipe.serializer {
                    let source = recipe.key.isOriginal ? stage.source : nil
                    return try serializer(image, source.map { $0.bytes(0..<$0.count) }, recipe.url)
                }
                return try StoredImage.encode(image, options, animationFormat: animationFormat, manager)
            }
            guard let bytes else { return }
            try? await cache.store(CachedData(bytes, extended: image.extendedData, attributes: facts), for: key)
        }
    }

    /// Whether the result needs its own entry, in addition to the file's.
    private func needsEntry(_ stage: StageImage, _ recipe: Recipe) -> Bool {
        guard let source = stage.source, recipe.serializer == nil else {
            return !(recipe.key.isOriginal && stage.tier == .disk)
        }
        // An animation that was not transformed equals its file.
        let isLeftAlone = !recipe.transformers.isEmpty && !stage.image.isTransformed
        return !recipe.key.isOriginal && !isLeftAlone && source.count > 0
    }

    static func attributes(
        _ recipe: Recipe, _ response: ResponseFacts?, _ freshness: HTTPFreshness?
    ) -> [String: String] {
        var attributes = freshness?.attributes ?? [:]
        attributes["url"] = redacted(recipe.url)
        for name in ["etag", "last-modified", "content-type"] { attributes[name] = response?.headers[name] }
        // Validators are valid only for the URL that sent them.
        if response?.entityTag != nil || response?.headers["last-modified"] != nil {
            attributes["answered-by"] = response?.url
        }
        return attributes
    }
}

/// Stores results in the background: per key one at a time, and of several waiting stores only the latest.
final class BackgroundStores: Sendable {
    typealias Work = @Sendable (LoadUrgency) async -> Void

    private struct Line {
        var task: Task<Void, Never>
        var urgency: LoadUrgency
        var next: Work?
    }

    /// The number of images in the queue above which callers must wait.
    private static let limit = 32

    private let lines = Mutex<[WorkKey: Line]>([:])

    /// Starts a store; waits for it if the queue is full.
    ///
    /// - Parameter urgency: the urgency of the caller, used if it must wait.
    func begin(_ key: WorkKey, _ urgency: LoadUrgency, _ work: @escaping Work) async {
        let isTooMuch = lines.withLock { lines in
            if lines[key] != nil {
                lines[key]?.next = work
            } else {
                let own = LoadUrgency(.veryLow)
                lines[key] = Line(task: Task { await self.run(key, own, work) }, urgency: own)
            }
            return lines.count > Self.limit
        }
        if isTooMuch { await finish(key, urgency) }
    }

    private func run(_ key: WorkKey, _ urgency: LoadUrgency, _ first: @escaping Work) async {
        var work: Work? = first
        while let now = work {
            await now(urgency)
            work = lines.withLock { lines in
                let next = lines[key]?.next
                lines[key]?.next = nil
                if next == nil { lines[key] = nil }
                return next
            }
        }
    }

    /// Waits until a key is stored; raises its urgency to the caller's.
    func finish(_ key: WorkKey, _ urgency: LoadUrgency) async {
        guard let line = lines.withLock({ $0[key] }) else { return }
        line.urgency.priority = max(line.urgency.priority, urgency.priority)
        await line.task.value
    }

    /// Waits for all stores.
    func finish() async {
        while let task = lines.withLock({ $0.values.first?.task }) { await task.value }
    }
}
