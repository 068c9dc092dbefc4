import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import ImageLoading

/// Custom parts of an application; ids refer to the conformance table.
@Suite struct `A manager with custom parts` {
    private let url = "https://example.org/photo@2x.echo"

    /// Decodes to one gray pixel, whose value is an option.
    private final class EchoCoder: ImageCoder {
        let seen = Mutex<[CoderOptions]>([])
        let descriptor = CoderDescriptor(
            id: "org.test.echo", version: "1", tier: .runTime, roles: [.decode],
            formats: [
                PluginManifest.Format(
                    id: "echo", name: "Echo", extensions: ["echo"],
                    signatures: [Signature(rules: [.bytes(at: 0, Array("ECHO".utf8), mask: [255, 255, 255, 255])])])
            ])

        func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
            seen.withLock { $0.append(context.options) }
            return Decoder(UInt8(clamping: context.options.integer("Gray") ?? 0))
        }
        func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
            throw CoderError(.unsupportedFeature, "it decodes only")
        }

        private final class Decoder: FrameDecoder {
            let gray: UInt8
            var isDone = false
            init(_ gray: UInt8) { self.gray = gray }
            func readHeader() throws(CoderError) -> ImageInfo { ImageInfo(size: PixelSize(1, 1), nativeFormat: .gray8) }
            func pixelFormats() throws(CoderError) -> [PixelFormat] { [.gray8] }
            func nextFrame() throws(CoderError) -> FrameInfo? {
                defer { isDone = true }
                return isDone ? nil : FrameInfo(index: 0, rect: PixelRect(PixelSize(1, 1)))
            }
            func seek(toFrame index: Int) throws(CoderError) -> Int {
                isDone = false
                return 0
            }
            func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
                place.withMutableRow(0) { $0.storeBytes(of: gray, as: UInt8.self) }
                return .complete
            }
        }
    }

    private func gray(_ image: LoadedImage) throws -> UInt8 { try #require(image.still?.pixels.packed.first) }

    @Test func `uses a custom loader, coder and cache (M-14, D-22)`() async throws {
        let host = CoderHost(
            configuration: HostConfiguration(directories: [], administrationDirectories: [], stateDirectory: nil))
        host.manager.addCoder(EchoCoder())
        let (loader, cache) = (ScriptedLoader([url: .bytes(Array("ECHO".utf8))]), PlainCache())
        let manager = manager(loader, cache) { $0.coders = host.manager }
        #expect(try await manager.image(url).image.format == "echo")
        #expect(loader.loads == [url] && cache.entryKeys == [url] && cache.imageKeys == [url])
        #expect(try await manager.image(url).tier == .memory)
    }

    @Test func `passes custom options to the coder, and separates such images (M-20)`()
        async throws
    {
        let coder = EchoCoder()
        let host = CoderHost(
            configuration: HostConfiguration(directories: [], administrationDirectories: [], stateDirectory: nil))
        host.manager.addCoder(coder)
        let manager = manager(ScriptedLoader([url: .bytes(Array("ECHO".utf8))])) { $0.coders = host.manager }
        var options = LoadOptions()
        options.decode.coder = ["Foo": .string("Bar"), "Gray": .integer(7)]
        options.scaleFactor = 1
        let first = try await manager.image(url, options).image
        #expect(coder.seen.withLock { $0.first?["Foo"] } == .string("Bar"))
        #expect(first.scaleFactor == 1, "the option overrides the name's factor 2")
        options.decode.coder["Gray"] = .integer(9)
        #expect(try gray(first) == 7)
        #expect(try gray(try await manager.image(url, options).image) == 9)
        #expect(try await manager.image(url).image.scaleFactor == 2)
    }

    @Test func `transforms the file on disk, and returns no data (M-15)`() async throws {
        let (loader, cache) = (ScriptedLoader(), PlainCache())
        try await cache.store(CachedData(testImage(102, 102)), for: url)
        let manager = manager(loader, cache)
        var options = LoadOptions()
        options.transformer = .custom(Flipping(horizontal: true))
        let result = try await manager.image(url, options)
        #expect(result.tier == .disk && result.data == nil && loader.loads.isEmpty)
        #expect(result.image.size == PixelSize(102, 102) && result.image.isTransformed)
        options.cache.originals.reads = []
        options.cache.results.reads = []
        await #expect(throws: CoderError.self) { try await manager.image(url, options) }
    }

    @Test func `converts colors on request, under a separate key (M-22)`() async throws {
        let fixture = try #require(Fixture.valid("jpeg", "png", "webp").first { $0.name.contains("icc-wide") })
        let manager = manager(ScriptedLoader([fixture.name: .bytes(fixture.bytes)]))
        var options = LoadOptions()
        options.decode.colors = .sRGB
        let plain = try #require(try await manager.image(fixture.name).image.still)
        let converted = try #require(try await manager.image(fixture.name, options).image.still)
        let expected = try builtHost().manager.decode(ImageSource(fixture.bytes), options.decode)
        #expect(PixelDigest.of(converted.pixels) == PixelDigest.of(expected.pixels))
        #expect(PixelDigest.of(converted.pixels) != PixelDigest.of(plain.pixels))
    }
}
