import CoderHost
import ImageModel
import ImageProcessing
import Testing

@testable import ImageLoading

/// URLs that are blocked for a while.
@Suite struct `Failed URLs` {
    private final class Clock: Sendable {
        private let value = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { value.withLock { $0 } }
        func advance(_ seconds: Int) { value.withLock { $0 += .seconds(seconds) } }
    }

    @Test func `are unblocked after their time, and the oldest above the limit`() {
        let clock = Clock()
        let failed = FailedURLs(limit: 2, seconds: 600) { clock.now }
        for url in ["a", "b", "a", "c"] { failed.insert(url) }
        #expect(failed.contains("a") && !failed.contains("b") && failed.contains("c"))
        clock.advance(599)
        failed.insert("c")
        clock.advance(1)
        #expect(!failed.contains("a") && failed.contains("c") && failed.count == 1)
        failed.insert("caf\u{e9}")
        #expect(!failed.contains("cafe\u{301}"), "it is another URL")
        failed.removeAll()
        #expect(failed.count == 0 && !failed.contains("c"))
    }

    @Test func `use no memory after they were unblocked`() {
        let failed = FailedURLs(limit: 4, seconds: 600)
        for number in 0..<10_000 {
            failed.insert("\(number % 3)")
            failed.remove("\(number % 3)")
        }
        #expect(failed.count == 0 && failed.places <= 2 * 4 + 16)
    }

    @Test func `are blocked as the application decides, and for the configured time`() async throws {
        let url = "https://example.org/a.ppm"
        let loader = ScriptedLoader([url: .failure(CoderError(.transferFailed, "reset"))])
        let manager = manager(loader) { $0.failures.shouldBlock = { _, error in error.code == .transferFailed } }
        await #expect(throws: CoderError.self) { try await manager.image(url) }
        #expect(manager.hasFailed(url) && manager.failedCount == 1)
        let error = await #expect(throws: CoderError.self) { try await manager.file(ImageRequest(url)) }
        #expect(error?.code == .failedBefore)
        manager.forgetFailure(url)
        await #expect(throws: CoderError.self) { try await manager.image(url) }
        manager.forgetAllFailures()
        #expect(manager.failedCount == 0 && loader.loads.count == 2)
    }

    @Test func `are not blocked if the request's options caused the failure`() async throws {
        let url = "https://example.org/a.ppm"
        let manager = manager(ScriptedLoader([url: .failure(CoderError(.corrupt, "not decrypted"))]))
        var options = LoadOptions()
        options.request.decryptor = { _, _ in nil }
        await #expect(throws: CoderError.self) { try await manager.image(url, options) }
        #expect(!manager.hasFailed(url))
    }
}
