import ImageModel
import Testing

@testable import ImageLoading

@Suite struct `A prefetcher` {
    private static let urls = (0..<6).map { "https://example.org/\($0).ppm" }
    private static let answers = Dictionary(
        uniqueKeysWithValues: urls.map { ($0, ScriptedLoader.Answer.bytes(testImage(4, 4))) })

    @Test func `loads all images and counts them (P-02, P-05)`() async {
        let manager = manager(ScriptedLoader(Self.answers))
        let token = ImagePrefetcher(manager).prefetch(Self.urls)
        var last = 0
        for await progress in token.updates {
            #expect(progress.finished > last && progress.total == 6)
            last = progress.finished
        }
        #expect(await token.value() == .init(finished: 6, skipped: 0, total: 6))
        #expect(Self.urls.allSatisfy { manager.cachedImage($0) != nil })
    }

    @Test func `finishes an empty list at once (P-03)`() async {
        #expect(await ImagePrefetcher(manager(ScriptedLoader())).prefetch([]).value() == .init(total: 0))
    }

    @Test func `counts a failure as skipped, and continues`() async {
        var answers = Self.answers
        answers[Self.urls[2]] = .failure(CoderError(.badStatus, "404"))
        let progress = await ImagePrefetcher(manager(ScriptedLoader(answers))).prefetch(Self.urls).value()
        #expect(progress == .init(finished: 6, skipped: 1, total: 6))
    }

    @Test func `separates lists (P-04); cancelling one skips only its remaining images (P-06)`() async {
        let loader = ScriptedLoader(Self.answers, isOpen: false)
        let prefetcher = ImagePrefetcher(manager(loader), maxConcurrent: 3)
        let (first, second) = (prefetcher.prefetch(Array(Self.urls[..<3])), prefetcher.prefetch(Array(Self.urls[3...])))
        while loader.loads.count < 3 { await Task.yield() }
        first.cancel()
        #expect(await first.value() == .init(finished: 3, skipped: 3, total: 3))
        loader.open()
        #expect(await second.value() == .init(finished: 3, skipped: 0, total: 3))
    }

    @Test func `respects its limit, and starts no load while it is paused`() async {
        let loader = ScriptedLoader(Self.answers, isOpen: false)
        let prefetcher = ImagePrefetcher(manager(loader), maxConcurrent: 2)
        prefetcher.isPaused = true
        let token = prefetcher.prefetch(Self.urls)
        try? await Task.sleep(for: .milliseconds(30))
        #expect(loader.loads.isEmpty)
        prefetcher.isPaused = false
        while loader.loads.count < 2 { await Task.yield() }
        try? await Task.sleep(for: .milliseconds(30))
        #expect(loader.loads.count == 2)
        loader.open()
        #expect(await token.value().finished == 6)
    }

    @Test func `can store files only`() async {
        let cache = PlainCache()
        let manager = manager(ScriptedLoader(Self.answers), cache)
        await ImagePrefetcher(manager).prefetch(Self.urls, into: .disk).value()
        #expect(cache.entryKeys == Self.urls && cache.imageKeys.isEmpty)
    }

    @Test func `cancels every list, also one that has just started`() async {
        let loader = ScriptedLoader(Self.answers, isOpen: false)
        let prefetcher = ImagePrefetcher(manager(loader))
        let tokens = (0..<20).map { _ in prefetcher.prefetch(Self.urls) }
        prefetcher.cancelAll()
        for token in tokens { #expect(await token.value() == .init(finished: 6, skipped: 6, total: 6)) }
        #expect(prefetcher.runningCount == 0)
    }

    @Test func `loads the files of images that are already in memory`() async throws {
        let cache = PlainCache()
        let manager = manager(ScriptedLoader(Self.answers), cache)
        for url in Self.urls { _ = try await manager.image(url) }
        await cache.clear(.disk)
        await ImagePrefetcher(manager).prefetch(Self.urls, into: .disk).value()
        #expect(cache.entryKeys == Self.urls)
    }
}
