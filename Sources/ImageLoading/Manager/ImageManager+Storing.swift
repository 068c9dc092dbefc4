import CoderHost
import ImageModel
import ImageProcessing
import Synchronization

extension ImageManager {
    /// Keeps a result: in memory at once, on disk a little later.
    func store(_ picture: StagePicture, _ recipe: Recipe, _ urgency: LoadUrgency) async {
        let (options, image) = (recipe.options, picture.image)
        guard !image.isPartial, !picture.isIncomplete else { return }
        if options.stores.contains(.memory) { recipe.cache.store(image, for: recipe.key.result) }
        guard options.stores.contains(.disk) else { return }
        let (cache, key) = (recipe.resultCache, recipe.key.result)
        if picture.response?.forbidsStoring ?? false {
            return await stores.begin(recipe.storeKey, urgency) { _ in await cache.remove(key, from: .disk) }
        }
        guard needsEntry(picture, recipe) else { return }
        let facts = Self.attributes(recipe, picture.response)
        let manager = configuration.coders
        let animationFormat = configuration.animationFormat
        await stores.begin(recipe.storeKey, urgency) { [decoding] urgency in
            let bytes = try? await decoding.run(urgency) { _ throws(CoderError) -> [UInt8]? in
                if let serializer = recipe.serializer {
                    let source = recipe.key.isOriginal ? picture.source : nil
                    return try serializer(image, source.map { $0.bytes(0..<$0.count) }, recipe.url)
                }
                return try StoredPicture.encode(image, options, animationFormat: animationFormat, manager)
            }
            guard let bytes else { return }
            try? await cache.store(CachedData(bytes, extended: image.extendedData, attributes: facts), for: key)
        }
    }

    /// Whether the result needs an entry beside that of its file.
    private func needsEntry(_ picture: StagePicture, _ recipe: Recipe) -> Bool {
        guard let source = picture.source, recipe.serializer == nil else {
            return !(recipe.key.isOriginal && picture.tier == .disk)
        }
        // An animation that its transformer leaves alone is its file's.
        let isLeftAlone = !recipe.transformers.isEmpty && !picture.image.isTransformed
        return !recipe.key.isOriginal && !isLeftAlone && source.count > 0
    }

    static func attributes(_ recipe: Recipe, _ response: ResponseFacts?) -> [String: String] {
        var attributes = ["url": redacted(recipe.url)]
        for name in ["etag", "last-modified", "content-type"] { attributes[name] = response?.headers[name] }
        // What tells versions apart is said by one server, of one of its files.
        if response?.entityTag != nil || response?.headers["last-modified"] != nil {
            attributes["answered-by"] = response?.url
        }
        return attributes
    }
}

/// Work that goes on after its cause was answered: of one key one after the other, and of those that wait the last.
final class Background: Sendable {
    typealias Work = @Sendable (LoadUrgency) async -> Void

    private struct Line {
        var task: Task<Void, Never>
        var urgency: LoadUrgency
        var next: Work?
    }

    /// Pictures that may be held for it; whoever has one more waits until it is stored.
    private static let limit = 32

    private let lines = Mutex<[WorkKey: Line]>([:])

    /// - Parameter urgency: that of whoever waits, when there is too much of it already.
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

    /// Waits for what is stored under a key, which becomes as urgent as whoever waits.
    func finish(_ key: WorkKey, _ urgency: LoadUrgency) async {
        guard let line = lines.withLock({ $0[key] }) else { return }
        line.urgency.priority = max(line.urgency.priority, urgency.priority)
        await line.task.value
    }

    /// Waits for everything.
    func finish() async {
        while let task = lines.withLock({ $0.values.first?.task }) { await task.value }
    }
}
