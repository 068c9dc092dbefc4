import CoderHost
import ImageModel
import ImageProcessing
import Synchronization
import TestSupport
import Testing

@testable import ImageLoading

/// Work that concurrent callers share, and work that they must not share.
@Suite struct `Shared work of a manager` {
    private let url = "https://example.org/photo.ppm"
    private let gif = Fixture.named("images/three-frames.gif").bytes

    private func transformed(_ names: [String], _ runs: CountedTransformer.Runs) -> LoadOptions {
        var options = LoadOptions()
        options.transformer = .custom(Pipeline(names.map { CountedTransformer($0, runs) }))
        return options
    }

    @Test func `is stored for every caller, in any order of arrival`() async throws {
        let (loader, cache, runs) = (
            ScriptedLoader([url: .bytes(testImage(8, 6))], isOpen: false), PlainCache(), CountedTransformer.Runs()
        )
        let manager = manager(loader, cache)
        let all = [["a", "b"], ["a"], []].map { transformed($0, runs) }
        let tasks = all.map { manager.load(ImageRequest(url, $0)) }
        while loader.loads.isEmpty { await Task.yield() }
        loader.open()
        for task in tasks { _ = try await task.value }
        await manager.finishStoring()
        let keys = all.map { manager.cacheKey(url, $0).result }.sorted()
        #expect(cache.imageKeys == keys && cache.entryKeys.sorted() == keys)
        #expect(loader.loads.count == 1 && runs.names.sorted() == ["a", "b"])
    }

    @Test func `separates animations with transformed frames from unchanged ones (M-12)`() async throws {
        let (loader, cache) = (ScriptedLoader([url: .bytes(gif)], isOpen: false), PlainCache())
        let manager = manager(loader, cache)
        var options = LoadOptions()
        options.transformer = .custom(Flipping(horizontal: true))
        var frames = options
        frames.animation.transformsFrames = true
        frames.cache.results.writes = .memory
        let (left, changed) = (manager.load(ImageRequest(url, options)), manager.load(ImageRequest(url, frames)))
        while loader.loads.isEmpty { await Task.yield() }
        loader.open()
        let (plain, flipped) = (try await left.value, try await changed.value)
        await manager.finishStoring()

        #expect(!plain.image.isTransformed && plain.image.frameCount == 3)
        #expect(flipped.image.isTransformed && flipped.image.frameCount == 3 && flipped.data == nil)
        let first = try #require(try plain.image.animation?.image(at: 0))
        let expected = try Flipping(horizontal: true).transform(first.pixels)
        let found = try #require(try flipped.image.animation?.image(at: 0))
        #expect(PixelDigest.of(found.pixels) == PixelDigest.of(expected))
        #expect(cache.state.withLock { $0.entries[url]?.bytes } == gif && cache.entryKeys == [url])
        #expect(try await manager.image(url, options).tier == .memory, "the transformed result is still in memory")
    }

    @Test func `is not stored if one of several transformers fails`() async throws {
        let (loader, cache, runs) = (
            ScriptedLoader([url: .bytes(testImage(8, 6))]), PlainCache(), CountedTransformer.Runs()
        )
        let manager = manager(loader, cache)
        var options = LoadOptions()
        let cropping = Cropping(PixelRect(x: 100, y: 100, width: 5, height: 5))
        options.transformer = .custom(Pipeline([cropping, CountedTransformer("a", runs)]))
        let result = try await manager.image(url, options)
        await manager.finishStoring()
        #expect(!result.image.isTransformed && runs.names == [])
        #expect(cache.imageKeys == [] && cache.entryKeys == [url])
    }

    /// Blocks tasks until a test opens it.
    private final class Door: Sendable {
        private let isOpen = Atomic<Bool>(false)
        func open() { isOpen.store(true, ordering: .relaxed) }
        func pass() async {
            while !isOpen.load(ordering: .relaxed) { try? await Task.sleep(for: .milliseconds(2)) }
        }
    }

    /// Creates an image of the requested size.
    private struct Painter: ImageLoading {
        let runs = CountedTransformer.Runs()
        let door: Door
        func canLoad(_ request: ImageRequest) -> Bool { true }
        func load(
            _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
            onProgress: @escaping @Sendable (LoadProgress) -> Void
        ) async throws(CoderError) -> LoadedData {
            let side = if case .box(let box, _, _) = request.options.decode.size { box.width } else { 0 }
            runs.add("\(side)")
            await door.pass()
            let pixels = try builtHost().manager.decode(ImageSource(testImage(side, side)))
            return LoadedData(.image(LoadedImage(pixels)))
        }
    }

    @Test func `does not return an image that a loader made for another size`() async throws {
        let (painter, cache) = (Painter(door: Door()), PlainCache())
        let manager = manager(painter, cache)
        let tasks = [10, 20].map { side in (side, manager.load(ImageRequest(url, thumbnail(side)))) }
        while painter.runs.names.isEmpty { await Task.yield() }
        painter.door.open()
        for (side, task) in tasks {
            let result = try await task.value
            #expect(result.image.size == PixelSize(side, side) && result.data == nil)
            #expect(manager.cachedImage(url, thumbnail(side))?.size == PixelSize(side, side))
        }
        await manager.finishStoring()
        await cache.clear(.memory)
        #expect(try await manager.image(url, thumbnail(20)).tier == .disk, "an image without a file is encoded")
        await #expect(throws: CoderError.self) { try await manager.file(ImageRequest(url)) }
    }

    @Test func `continues with alternatives even if another caller without them fails`() async throws {
        let answers = [
            "\(url)?2": ScriptedLoader.Answer.bytes(testImage(8, 6)), url: .failure(CoderError(.badStatus, "")),
        ]
        let loader = ScriptedLoader(answers, isOpen: false)
        let manager = manager(LoadersManager([loader]))
        var options = LoadOptions()
        options.request.alternatives = ["\(url)?2"]
        let (alone, rich) = (manager.load(ImageRequest(url)), manager.load(ImageRequest(url, options)))
        while loader.loads.count < 2 { await Task.yield() }
        loader.open()
        await #expect(throws: CoderError.self) { try await alone.value }
        let result = try await rich.value
        #expect(result.image.size == PixelSize(8, 6))
        #expect(result.response?.headers["etag"] == nil, "validators of an alternative are dropped")
    }

    @Test func `limits the images that wait to be stored`() async throws {
        let (background, door, begun) = (BackgroundStores(), Door(), Collected<Int>())
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    await background.begin(WorkKey("\(number)", variant: "", own: nil), LoadUrgency()) { _ in
                        await door.pass()
                    }
                    begun.add(number)
                }
            }
            #expect(await eventually { begun.values.count == 32 })
            try? await Task.sleep(for: .milliseconds(30))
            #expect(begun.values.count == 32, "further callers wait until their images are stored")
            door.open()
        }
        #expect(begun.values.count == 100)
    }

    @Test func `stores the newest image of a key last`() async {
        let (background, gate, log) = (BackgroundStores(), Door(), Collected<Int>())
        let key = WorkKey("a", variant: "", own: nil)
        for number in 0..<5 {
            await background.begin(key, LoadUrgency()) { _ in
                await gate.pass()
                log.add(number)
            }
        }
        gate.open()
        await background.finish(key, LoadUrgency(.high))
        #expect(log.values.last == 4 && log.values.count <= 2)
        await background.finish()
    }
}
