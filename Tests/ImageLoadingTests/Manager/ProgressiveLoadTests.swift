import CoderHost
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

@Suite struct `Progressive loading` {
    private static func parts(_ bytes: [UInt8], _ count: Int) -> [[UInt8]] {
        let step = (bytes.count + count - 1) / count
        return stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0..<min(bytes.count, $0 + step)]) }
    }

    private static func load(
        _ name: String, _ options: LoadOptions = LoadOptions(), parts count: Int = 8
    ) async throws -> (previews: [LoadedImage], result: LoadResult, plain: LoadedImage) {
        let bytes = Fixture.named(name).bytes
        var options = options
        let whole = try await manager(ScriptedLoader([name: .bytes(bytes)])).image(name, options).image
        options.previewPolicy = .everyScan
        var previews: [LoadedImage] = []
        while true {
            let task = manager(ScriptedLoader([name: .parts(parts(bytes, count))])).load(ImageRequest(name, options))
            for await event in task.events { if case .preview(let image) = event { previews.append(image) } }
            let result = try await task.value
            // A busy machine may decode the previews too late, so try several times.
            if !previews.isEmpty || Task.isCancelled { return (previews, result, whole) }
        }
    }

    @Test(arguments: ["jpeg/progressive-420-restart.jpg", "jpeg/baseline-420.jpg"])
    func `returns the same pixels as a plain load (D-09, D-28)`(name: String) async throws {
        let (previews, result, plain) = try await Self.load(name)
        #expect(!previews.isEmpty)
        #expect(previews.allSatisfy { $0.size == plain.size })
        let (pixels, expected) = (try #require(result.image.still?.pixels), try #require(plain.still?.pixels))
        #expect(PixelDigest.of(pixels) == PixelDigest.of(expected))
        #expect(!result.image.isPartial)
    }

    @Test func `uses the requested size in every preview (M-13)`() async throws {
        var options = LoadOptions()
        options.decode.size = .box(PixelSize(16, 16))
        let (previews, result, plain) = try await Self.load("jpeg/progressive-420-restart.jpg", options)
        #expect(!previews.isEmpty)
        #expect((previews + [result.image]).allSatisfy { $0.size == plain.size })
    }

    private static let animations = [
        "images/three-frames.gif", "images/three-frames.webp", "apng/three-frames.png",
        "awebp/every-kind-of-frame.webp",
    ]

    @Test(arguments: animations)
    func `adds frames and never removes one (D-18, D-19, A-27)`(name: String) async throws {
        let (previews, result, plain) = try await Self.load(name, parts: 6)
        #expect(result.image.isAnimated && result.image.frameCount == plain.frameCount)
        #expect(plain.frameCount > 2)
        let animations = previews.compactMap(\.animation)
        #expect(animations.allSatisfy { $0 === animations.first }, "all previews share one growing animation")
        #expect(!animations.isEmpty && result.image.animation === animations.first)
    }

    @Test func `of a file sends previews only`() async throws {
        let bytes = Fixture.named("images/three-frames.gif").bytes
        let previews = Collected<LoadedImage>()
        while previews.values.isEmpty, !Task.isCancelled {
            let request = ImageRequest("a.gif", previews: .everyScan)
            let file = try await manager(ScriptedLoader(["a.gif": .parts(Self.parts(bytes, 8))])).file(request) {
                if case .preview(let image) = $0 { previews.add(image) }
            }
            #expect(file.source.count == bytes.count)
        }
        #expect(!previews.values.isEmpty)
        #expect(previews.values.allSatisfy { $0.format == "gif" && $0.size == PixelSize(31, 17) })
        // The first frame that arrives is a still; then the animation grows.
        let kinds = previews.values.map { $0.animation == nil }
        #expect(kinds == kinds.sorted { $0 && !$1 })
    }

    @Test func `decodes the complete file after a preview has failed`() async throws {
        var bytes = Fixture.named("jpeg/baseline-420.jpg").bytes
        bytes.removeLast(bytes.count / 2)
        let loader = ScriptedLoader(["cut.jpg": .parts(Self.parts(bytes, 4))])
        var options = LoadOptions()
        options.previewPolicy = .everyScan
        let error = await #expect(throws: CoderError.self) { try await manager(loader).image("cut.jpg", options) }
        #expect(error?.code == .truncated)
    }

    /// Loads the same bytes at once and in parts; returns both images.
    private static func both(_ bytes: [UInt8], _ options: LoadOptions) async throws -> [LoadedImage] {
        var progressive = options
        progressive.previewPolicy = .everyScan
        let plain = manager(ScriptedLoader(["a": .bytes(bytes)]))
        let growing = manager(ScriptedLoader(["a": .parts(parts(bytes, 5))]))
        return [try await plain.image("a", options).image, try await growing.image("a", progressive).image]
    }

    @Test(arguments: [0, 1000, 100_000])
    func `returns the same image as a plain load with a byte limit`(limit: Int) async throws {
        var options = LoadOptions()
        if limit > 0 { options.decode.size = .limited(toBytes: limit) }
        for name in ["images/three-frames.gif", "images/f.gif", "images/three-frames.webp", "images/photo.jpg"] {
            let images = try await Self.both(Fixture.named(name).bytes, options)
            #expect(images[0].size == images[1].size && images[0].frameCount == images[1].frameCount, "\(name)")
            #expect((images[0].still == nil) == (images[1].still == nil), "\(name)")
        }
    }

    @Test func `detects an animation whose second frame arrives late`() async throws {
        // A GIF without a loop count is recognized as an animation only by its second frame.
        let bytes = Fixture.named("images/three-frames.gif").bytes
        let start = try #require((0..<bytes.count - 3).first { bytes[$0] == 0x21 && bytes[$0 + 1] == 0xFF })
        let end = try #require((start + 14..<bytes.count).first { bytes[$0] == 0 && $0 > start + 16 })
        let plain = Array(bytes[..<start]) + Array(bytes[(end + 1)...])
        let images = try await Self.both(plain, LoadOptions())
        #expect(images.map(\.frameCount) == [3, 3])
    }
}
