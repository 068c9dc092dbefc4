import CoderHost
import ImageLoading
import ImageModel
import LoadingTestSupport
import TestSupport
import Testing

/// The examples of the page about loading, with the public interface only.
@Suite struct `The usual tasks` {
    private func run(_ body: (_ pipeline: ImagePipeline, _ url: String, _ requests: () -> Int) async throws -> Void)
        async throws
    {
        try await withServer { server, downloader async throws in
            let bytes = testImage(80, 60)
            server.on("/photo.ppm") { _ in .bytes(bytes, type: nil) }
            let coders = builtHost().manager
            let configuration = ImageManagerConfiguration(
                coders: coders, cache: ImageCache(disk: ScriptedDisk(), coders: coders), loader: downloader)
            let pipeline = ImagePipeline(manager: ImageManager(configuration))
            try await body(pipeline, server.url("/photo.ppm")) { server.requests.count }
        }
    }

    @Test func `loading, and loading a thumbnail`() async throws {
        try await run { pipeline, url, requests in
            let photo = try await pipeline.image(for: url)
            let small = try await pipeline.image(for: ImageRequest(url, size: PixelSize(32, 32)))
            #expect(photo.size == PixelSize(80, 60) && small.size == PixelSize(32, 24) && requests() == 1)
        }
    }

    @Test func `prefetching`() async throws {
        try await run { pipeline, url, requests in
            let prefetcher = ImagePrefetcher(pipeline.manager)
            await prefetcher.prefetch([url, url]).value()
            let photo = try await pipeline.image(for: ImageRequest(url, cache: .cacheOnly))
            #expect(photo.size == PixelSize(80, 60) && requests() == 1)
        }
    }

    @Test func `loading with previews`() async throws {
        try await run { pipeline, url, _ in
            let task = pipeline.load(ImageRequest(url, previews: .paced()))
            for await case .preview(let image) in task.events { #expect(image.size == PixelSize(80, 60)) }
            let photo = try await task.value.image
            #expect(photo.size == PixelSize(80, 60))
        }
    }

    @Test func `controlling the caches`() async throws {
        try await run { pipeline, url, requests in
            await #expect(throws: CoderError.self) {
                try await pipeline.image(for: ImageRequest(url, cache: .cacheOnly))
            }
            _ = try await pipeline.image(for: url)
            _ = try await pipeline.image(for: ImageRequest(url, cache: .reload))
            #expect(requests() == 2)
            await pipeline.removeCachedImage(for: ImageRequest(url))
            _ = try await pipeline.image(for: url)
            #expect(requests() == 3)
            await pipeline.cache.clear(.all)
            _ = try await pipeline.image(for: url)
            #expect(requests() == 4)
        }
    }
}
