import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import ImageLoading

/// S-42: the encoding of an image that is stored without its file.
@Suite struct `Images stored without their file` {
    private func stored(_ image: LoadedImage, _ options: LoadOptions = LoadOptions()) async throws -> [UInt8] {
        let disk = ScriptedDisk()
        let cache = ImageCache(disk: disk, coders: CacheBench.coders)
        try await cache.store(image, data: nil, for: "key", in: .disk, options)
        return try #require(disk.data(for: "key")).bytes
    }

    private func format(_ image: LoadedImage, _ options: LoadOptions = LoadOptions()) async throws -> ImageFormat? {
        CacheBench.format(try await stored(image, options))
    }

    @Test func `become PNG with alpha and JPEG without (S-42)`() async throws {
        #expect(try await format(try CacheBench.still(hasAlpha: true, [1, 2, 3, 4])) == "png")
        #expect(try await format(try CacheBench.still(hasAlpha: false)) == "jpeg")
    }

    @Test(arguments: ["gif", "png", "webp", "jpeg"] as [ImageFormat])
    func `keep their format if it can be written (S-42)`(_ own: ImageFormat) async throws {
        #expect(try await format(try CacheBench.still(of: own)) == own)
    }

    @Test func `use the default format if their own cannot be written`() async throws {
        #expect(try await format(try CacheBench.still(of: "unheard-of")) == "jpeg")
        #expect(try await format(try CacheBench.still(of: "unheard-of", hasAlpha: true)) == "png")
    }

    @Test func `keep alpha that a transformer has added`() async throws {
        let round = LoadedImage(
            try CacheBench.still(hasAlpha: false, [1, 2, 3, 4]).content, format: "jpeg", isTransformed: true)
        #expect(try await format(round) == "png")
        let opaque = LoadedImage(
            try CacheBench.still(PixelSize(4, 4), .rgb8).content, format: "jpeg", isTransformed: true)
        #expect(try await format(opaque) == "jpeg")
    }

    @Test(arguments: ["images/three-frames.gif", "apng/three-frames.png", "webp/animated.webp"])
    func `keep the bytes of their file if they are unchanged animations (S-42)`(_ name: String) async throws {
        #expect(try await stored(try CacheBench.animation(name)) == CacheBench.bytes(name))
    }

    @Test func `use the format for animations if their own cannot be written (S-42)`() async throws {
        let frames = try CacheBench.animation("apng/three-frames.png")
        let unnamed = LoadedImage(frames.content, format: "")

        let bytes = try await stored(unnamed, forcingEncode)

        let best: ImageFormat = try #require(CacheBench.coders.defaultFormat(animated: true, alpha: true))
        #expect(CacheBench.format(bytes) == best)
        let chosen = try StoredImage.encode(unnamed, forcingEncode, animationFormat: "gif", CacheBench.coders)
        #expect(CacheBench.format(chosen) == "gif")
        #expect(try AnimatedImage(ImageSource(bytes), manager: CacheBench.coders).frameCount == 3)
    }

    /// Options that require encoding the image again.
    private var forcingEncode: LoadOptions {
        var options = LoadOptions()
        options.cache.encode.maxPixelSize = PixelSize(1000, 1000)
        return options
    }

    @Test func `are encoded again when they differ from their file`() async throws {
        let small = try CacheBench.animation("images/three-frames.gif", .thumbnail(PixelSize(10, 10)))

        let bytes = try await stored(small)

        let again = try AnimatedImage(ImageSource(bytes), manager: CacheBench.coders)
        #expect(again.format == "gif" && again.frameCount == 3 && again.size == small.size)
        #expect(again.size.width == 10)
    }

    @Test func `use the requested format and options`() async throws {
        var options = LoadOptions()
        options.cache.format = "png"
        #expect(try await format(try CacheBench.still(of: "jpeg"), options) == "png")
        options.cache.format = "apng"
        let frames = try await stored(try CacheBench.animation("images/three-frames.gif"), options)
        #expect(CacheBench.format(frames) == "apng")
        #expect(try AnimatedImage(ImageSource(frames), manager: CacheBench.coders).frameCount == 3)

        options.cache.format = nil
        options.cache.encode.firstFrameOnly = true
        let first = try await stored(try CacheBench.animation("images/three-frames.gif"), options)
        #expect(try AnimatedImage(ImageSource(first), manager: CacheBench.coders).frameCount == 1)

        options.cache.format = "unheard-of"
        await #expect { try await stored(try CacheBench.still(), options) } throws: {
            ($0 as? CoderError)?.code == .noCoder
        }
    }

    // MARK: Custom coders

    /// Decodes and encodes images of one color: "TINT" and three bytes.
    private final class TintCoder: ImageCoder {
        let decodes = Mutex(0)
        let descriptor = CoderDescriptor(
            id: "org.test.tint", version: "1", tier: .runTime, roles: [.decode, .encode],
            formats: [
                PluginManifest.Format(
                    id: "tint", name: "Tint", extensions: ["tint"],
                    signatures: [Signature(rules: [.bytes(at: 0, Array("TINT".utf8), mask: [255, 255, 255, 255])])])
            ])

        func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
            decodes.withLock { $0 += 1 }
            return Decoder(source.bytes(4..<7))
        }
        func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { Encoder() }

        private final class Decoder: FrameDecoder {
            let color: [UInt8]
            var isDone = false
            init(_ color: [UInt8]) { self.color = color }
            func readHeader() throws(CoderError) -> ImageInfo {
                ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgb8)
            }
            func pixelFormats() throws(CoderError) -> [PixelFormat] { [.rgb8] }
            func nextFrame() throws(CoderError) -> FrameInfo? {
                defer { isDone = true }
                return isDone ? nil : FrameInfo(index: 0, rect: PixelRect(PixelSize(1, 1)))
            }
            func seek(toFrame index: Int) throws(CoderError) -> Int {
                isDone = false
                return 0
            }
            func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
                place.withMutableRow(0) { row in
                    for (x, byte) in color.enumerated() { row.storeBytes(of: byte, toByteOffset: x, as: UInt8.self) }
                }
                return .complete
            }
        }

        private final class Encoder: FrameEncoder {
            var sink: (any OutputSink)?
            func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] { [.rgb8] }
            func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) { self.sink = sink }
            func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { false }
            func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {
                let bytes = Array("TINT".utf8) + pixels.packed.prefix(3)
                try bytes.withSpan { span throws(CoderError) in try sink?.write(span) }
            }
            func finish() throws(CoderError) {}
        }
    }

    @Test func `are encoded and decoded by a custom coder (S-41)`() async throws {
        let coders = CoderHost(
            configuration: HostConfiguration(directories: [], administrationDirectories: [], stateDirectory: nil)
        ).manager
        let coder = TintCoder()
        coders.addCoder(coder)
        let disk = ScriptedDisk()
        let cache = ImageCache(disk: disk, coders: coders)

        let image = try CacheBench.still(PixelSize(1, 1), .rgb8, of: "tint", [7, 8, 9])
        try await cache.store(image, data: nil, for: "a", in: .disk)

        #expect(disk.data(for: "a")?.bytes == Array("TINT".utf8) + [7, 8, 9])
        let hit = try #require(try await cache.query("a"))
        #expect(hit.image.format == "tint" && hit.image.still?.pixels.packed == [7, 8, 9])
        #expect(try await cache.query("a")?.tier == .memory && coder.decodes.withLock { $0 } == 1)
    }
}
