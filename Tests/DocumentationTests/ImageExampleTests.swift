import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

// The examples use type names that the tests replace with their own factories.
private typealias Host = CoderHost
private typealias Source = ImageSource
private typealias Sink = FileSink
private typealias Font = TextFont

@Suite struct `The examples about images` {
    private static let file = "Tests/DocumentationTests/ImageExampleTests.swift"

    @Test(
        arguments: [
            ("reducing", "Images"), ("covering", "Images"), ("coloring", "Images"), ("adding", "Images"),
            ("waiting", "Images"), ("choosing", "Images"),
            ("transforming", "Transforming"), ("shaping", "Transforming"), ("stamping", "Transforming"),
        ])
    func `equal the compiled code`(name: String, page: String) throws {
        let source = Markdown(Self.file).lines
        let start = try #require(source.firstIndex { $0.hasSuffix("// \(name) begins") }) + 1
        let end = try #require(source.firstIndex { $0.hasSuffix("// \(name) ends") })
        let compiled = source[start..<end].map { String($0.dropFirst(8)) }

        #expect(Markdown.article(page).blocks.contains { $0.language == "swift" && $0.lines == compiled })
    }

    @Test(arguments: [("Images", 6), ("Transforming", 3)])
    func `are all compiled`(page: String, count: Int) {
        #expect(Markdown.article(page).blocks.count { $0.language == "swift" } == count)
    }

    private static func makeHost() -> Host {
        let folder = PluginDirectory(Repository.products, origin: .argument)
        return Host(configuration: HostConfiguration(directories: [folder]))
    }

    private static func source(_ name: String) throws -> Source {
        try Source(path: Repository.fixture("images/\(name)"))
    }

    // MARK: Smaller images

    @Test func `create a small JPEG of a large image`() throws {
        let jpeg = try Self.reduce(Self.makeHost())

        #expect(jpeg.count <= 20_000)
        #expect(try Self.makeHost().manager.decode(Source(jpeg)).pixels.size == PixelSize(160, 120))
    }

    private static func reduce(_ host: Host) throws -> [UInt8] {
        func ImageSource(path: String) throws -> Source { try source(path) }
        // reducing begins
        var options = DecodeOptions.thumbnail(PixelSize(256, 256))
        options.appliesOrientation = true
        options.colors = .sRGB
        let small = try host.manager.decode(try ImageSource(path: "photo.jpg"), options)
        var writing = EncodeOptions()
        writing.quality = 80
        writing.maxFileSize = 20_000
        let jpeg = try host.manager.encode(small, to: "jpeg", writing)
        // reducing ends
        return jpeg
    }

    @Test func `crop a square`() throws {
        #expect(try Self.cover(Self.makeHost()).size == PixelSize(48, 48))
    }

    private static func cover(_ host: Host) throws -> PixelBuffer {
        func ImageSource(path: String) throws -> Source { try Self.source("photo.jpg") }
        // covering begins
        let image = try ImageSource(path: "face.jpg")
        var options = DecodeOptions.thumbnail(PixelSize(48, 48), .cover)
        options.cropPosition = .attention
        options.appliesOrientation = true
        let face = try host.manager.decode(image, options)
        // covering ends
        return face.pixels
    }

    @Test func `convert the colors and their description`() throws {
        let image = try Self.color(Self.makeHost())

        let profile = try #require(image.metadata.first { $0.kind == .icc }?.bytes)
        #expect(profile == ColorProfile.displayP3.iccBytes())
    }

    private static func color(_ host: Host) throws -> DecodedImage {
        func ImageSource(path: String) throws -> Source { try source("icc-wide.png") }
        // coloring begins
        var image = try host.manager.decode(try ImageSource(path: "wide.png"))
        try image.convertColors(to: .displayP3, embeds: true)
        // coloring ends
        return image
    }

    @Test func `decode lazily`() throws {
        let (full, pixels) = try Self.wait(Self.makeHost())

        #expect(full == PixelSize(160, 120))
        // √(4000 · 4/3) and √(4000 · 3/4)
        #expect(pixels.size == PixelSize(73, 54))
    }

    private static func wait(_ host: Host) throws -> (PixelSize, PixelBuffer) {
        func ImageSource(path: String) throws -> Source { try Self.source(path) }
        // waiting begins
        var options = DecodeOptions()
        options.size = .limited(toBytes: 16_000)
        let image = try LazyImage(try ImageSource(path: "photo.jpg"), manager: host.manager, options)
        let full = image.info.size
        let pixels = try image.decoded().pixels
        // waiting ends
        return (full, pixels)
    }

    @Test func `write on an image`() throws {
        let image = try Self.makeHost().manager.decode(try Self.source("photo.png")).pixels

        let stamped = try Self.stamp(image)

        #expect(stamped.size == image.size)
        #expect(stamped.packed != image.packed)
    }

    private static func stamp(_ image: PixelBuffer) throws -> PixelBuffer {
        func TextFont(_ name: String) throws -> Font { try Font(Repository.fixture("fonts/boxes.ttf")) }
        // stamping begins
        let font = try TextFont("DejaVu Sans")
        let style = TextStyle(size: .ofHeight(0.03), outline: RGBAColor(red: 0, green: 0, blue: 0))
        let stamped = try TextOverlay("© 2026 A. Smith", font: font, style: style, margin: 16).transform(image)
        // stamping ends
        return stamped
    }

    @Test func `choose coders`() throws {
        let host = Self.makeHost()
        let gif = try Self.source("f.gif")
        #expect(throws: Never.self) { try host.manager.decode(gif) }

        let writing = Self.choose(host)

        #expect { try host.manager.decode(gif) } throws: { ($0 as? CoderError)?.code == .noCoder }
        #expect(writing.encoder == "org.example.jpeg")
    }

    private static func choose(_ host: Host) -> EncodeOptions {
        // choosing begins
        host.manager.preferredCoders = ["org.example.jpeg"]
        host.manager.disabledCoders = ["org.coderhost.gif"]
        var writing = EncodeOptions()
        writing.encoder = "org.example.jpeg"
        // choosing ends
        return writing
    }

    @Test func `add a coder of the application`() throws {
        let host = Self.makeHost()
        let file = Source(Array("GRY1".utf8) + [2, 1, 10, 20])
        #expect(throws: CoderError.self) { try host.manager.decode(file) }

        Self.add(to: host)

        let image = try host.manager.decode(file)
        #expect(image.pixels.format == .gray8 && image.pixels.packed == [10, 20])
        #expect(image.coder == "org.example.gray")
        let cut = Source(Array("GRY1".utf8) + [2, 1, 10])
        #expect { try host.manager.decode(cut) } throws: { ($0 as? CoderError)?.code == .truncated }
        host.manager.removeCoder("org.example.gray")
        #expect(throws: CoderError.self) { try host.manager.decode(file) }
    }

    private static func add(to host: Host) {
        // adding begins
        struct GrayCoder: ImageCoder {
            let descriptor = CoderDescriptor(
                id: "org.example.gray", format: "x-gray", extensions: ["gry"], magic: [Array("GRY1".utf8)])
            func makeDecoder(_ source: ImageSource, _ context: SessionContext) -> any FrameDecoder {
                GrayDecoder(source)
            }
            func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
                throw .refused("this coder only reads")
            }
        }
        final class GrayDecoder: FrameDecoder {
            private let source: ImageSource
            private var isRead = false
            init(_ source: ImageSource) { self.source = source }

            private func bytes(_ range: Range<Int>) throws(CoderError) -> [UInt8] {
                guard source.count >= range.upperBound else {
                    throw source.isComplete ? .truncated("the file is cut") : .needsInput
                }
                return source.bytes(range)
            }
            func readHeader() throws(CoderError) -> ImageInfo {
                let header = try bytes(0..<6)
                return ImageInfo(size: PixelSize(Int(header[4]), Int(header[5])), nativeFormat: .gray8)
            }
            func pixelFormats() -> [PixelFormat] { [.gray8] }
            func nextFrame() throws(CoderError) -> FrameInfo? {
                if isRead { return nil }
                isRead = true
                return FrameInfo(index: 0, rect: PixelRect(try readHeader().size))
            }
            func seek(toFrame index: Int) -> Int {
                isRead = false
                return 0
            }
            func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
                let width = place.rect.width
                for y in 0..<place.rect.height {
                    let row = try bytes(6 + y * width..<6 + (y + 1) * width)
                    place.withMutableRow(y) { target in
                        for x in 0..<width { target.storeBytes(of: row[x], toByteOffset: x, as: UInt8.self) }
                    }
                }
                return .complete
            }
        }
        host.manager.addCoder(GrayCoder())
        // adding ends
    }

    // MARK: Transforming

    @Test func `transform an image and name the result`() throws {
        let (round, name) = try Self.transform(
            Self.makeHost().manager.decode(Self.source("photo.png")).pixels)

        #expect(round.size == PixelSize(96, 96))
        #expect(round.color(at: (0, 0))?.alpha == 0)
        #expect(Markdown.article("Transforming").text.contains("`\(name)`"))
    }

    private static func transform(_ image: PixelBuffer) throws -> (PixelBuffer, String) {
        // transforming begins
        let badge = Pipeline(Resizing(PixelSize(96, 96), .cover), RoundCorners(radius: 48))
        let round = try badge.transform(image)
        let name = badge.key
        // transforming ends
        return (round, name)
    }

    @Test func `write an animation in another shape`() throws {
        let place = TemporaryDirectory()

        try Self.shape(Self.makeHost(), place)

        let written = try AnimatedImage(try Source(path: place.file("cat.webp")), manager: Self.makeHost().manager)
        // 31 × 17: the limiting side is exact, the other one is rounded up.
        #expect(written.size == PixelSize(24, 14))
        #expect(written.frameCount == 3)
        #expect(written.loopCount == .plays(3))
        for index in 0..<3 { #expect(try written.frame(at: index).pixels.color(at: (0, 0))?.alpha == 0) }
    }

    private static func shape(_ host: Host, _ place: TemporaryDirectory) throws {
        func ImageSource(path: String) throws -> Source { try source("three-frames.gif") }
        func FileSink(path: String, replacing: Bool) throws -> Sink {
            try Sink(path: place.file(path), replacing: replacing)
        }
        // shaping begins
        let small = try AnimatedImage(
            try ImageSource(path: "cat.gif"), manager: host.manager, .thumbnail(PixelSize(24, 24)),
            transformer: RoundCorners(radius: 4))
        var facts = small.info
        facts.size = small.size
        facts.hasAlpha = true
        let sink = try FileSink(path: "cat.webp", replacing: true)
        let encoder = try host.manager.makeAnimationEncoder(
            to: "webp", of: facts, metadata: try small.metadata(), into: sink)
        for index in 0..<small.frameCount {
            try encoder.add(small.frame(at: index).pixels, duration: small.duration(at: index))
        }
        try encoder.finish()
        try sink.commit()
        // shaping ends
    }
}
