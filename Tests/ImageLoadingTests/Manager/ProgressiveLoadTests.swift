import CoderHost
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Progressive loading` {
    private static func options(_ change: (inout LoadOptions) -> Void = { _ in }) -> LoadOptions {
        var options = LoadOptions()
        options.previewPolicy = .everyScan
        change(&options)
        return options
    }

    private static func load(
        _ name: String, _ options: LoadOptions = options(), parts count: Int = 8
    ) async throws -> (previews: [LoadedImage], result: LoadResult, plain: LoadedImage) {
        let bytes = Fixture.named(name).bytes
        var plain = options
        plain.previewPolicy = .none
        let whole = try await manager(ScriptedLoader([name: .bytes(bytes)])).image(name, plain).image
        let loader = try StepwiseLoader(bytes, parts: count, options)
        let (previews, result) = await loader.load(name, options)
        #expect(previews.count >= loader.previews.last ?? 0)
        return (previews, try result.get(), whole)
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
        let options = Self.options { $0.decode.size = .box(PixelSize(16, 16)) }
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
        let loader = try StepwiseLoader(
            Fixture.named("images/three-frames.gif").bytes, parts: 8, Self.options())
        let previews = Collected<LoadedImage>()
        let file = try await loader.manager().file(ImageRequest("a.gif", previews: .everyScan)) {
            guard case .preview(let image) = $0 else { return }
            previews.add(image)
            loader.receive()
        }
        #expect(file.source.bytes(0..<file.source.count) == loader.bytes)
        #expect(!previews.values.isEmpty)
        #expect(previews.values.allSatisfy { $0.format == "gif" && $0.size == PixelSize(31, 17) })
        // The first frame that arrives is a still; then the animation grows.
        let kinds = previews.values.map { $0.animation == nil }
        #expect(kinds == kinds.sorted { $0 && !$1 })
    }

    @Test(arguments: [("images/photo.jpg", CoderError.Code.truncated), ("images/photo.png", .corrupt)])
    func `reports damage although it has sent previews`(name: String, code: CoderError.Code) async throws {
        var bytes = Fixture.named(name).bytes
        let middle = bytes.count / 2
        if code == .truncated { bytes.removeSubrange(middle...) } else { bytes[middle] ^= 0xFF }
        let (previews, result) = try await StepwiseLoader(bytes, parts: 8, Self.options()).load("a", Self.options())
        #expect(!previews.isEmpty)
        let error = #expect(throws: CoderError.self) { try result.get() }
        #expect(error?.code == code)
    }

    /// Loads the same bytes at once and in parts; returns both images.
    private static func both(_ bytes: [UInt8], _ options: LoadOptions) async throws -> [LoadedImage] {
        var progressive = options
        progressive.previewPolicy = .everyScan
        let plain = try await manager(ScriptedLoader(["a": .bytes(bytes)])).image("a", options).image
        let growing = try await StepwiseLoader(bytes, parts: 5, progressive).load("a", progressive)
        #expect(!growing.previews.isEmpty)
        return [plain, try growing.result.get().image]
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
