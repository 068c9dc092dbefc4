import CoderHost
import Foundation
import ImageModel
import ImageProcessing
import TestSupport
import Testing

// The examples use type names that the tests replace with their own factories.
private typealias Host = CoderHost
private typealias Source = ImageSource
private typealias Sink = FileSink

@Suite struct `The examples of the pages` {
    private static let file = "Tests/DocumentationTests/PageExampleTests.swift"

    @Test(
        arguments: [
            ("playing", "Animation"), ("writing", "Animation"), ("making", "Animation"), ("folders", "CoderHost"),
            ("comparing", "Measuring"), ("tagging", "Metadata"),
        ])
    func `equal the compiled code`(name: String, page: String) throws {
        let source = Markdown(Self.file).lines
        let start = try #require(source.firstIndex { $0.hasSuffix("// \(name) begins") }) + 1
        let end = try #require(source.firstIndex { $0.hasSuffix("// \(name) ends") })
        let compiled = source[start..<end].map { String($0.dropFirst(8)) }

        #expect(
            Markdown.article(page).blocks.contains { $0.language == "swift" && $0.lines == compiled })
    }

    @Test func `about animations are all compiled`() {
        #expect(Markdown.article("Animation").blocks.count { $0.language == "swift" } == 3)
    }

    @Test func `search another folder first`() {
        let folder = Self.makeHostElsewhere().configuration.search.directories.first

        #expect(folder?.path == "/opt/coderhost/lib/coderhost/plugins/1")
    }

    private static func makeHostElsewhere() -> Host {
        // folders begins
        var folders = PluginSearch.standardDirectories()
        folders.insert(.init("/opt/coderhost/lib/coderhost/plugins/1"), at: 0)
        let host = CoderHost(configuration: HostConfiguration(directories: folders))
        // folders ends
        return host
    }

    @Test func `read a tag`() throws {
        #expect(try Self.tag(Self.makeHost()) == "Horizontal (normal)")
    }

    private static func tag(_ host: Host) throws -> String? {
        func ImageSource(path: String) throws -> Source {
            try Source(path: Repository.fixture("images/orientation-1.jpg"))
        }
        // tagging begins
        let tags = try host.manager.metadataTags(of: try ImageSource(path: "photo.jpg"))
        let orientation = tags.first { $0.name == "Orientation" }?.text
        // tagging ends
        return orientation
    }

    @Test func `compare two images`() throws {
        #expect(try Self.compare(Self.makeHost()).isSame)
    }

    private static func compare(_ host: Host) throws -> ImageComparison {
        func ImageSource(path: String) throws -> Source {
            try Source(path: Repository.fixture(path == "a.png" ? "images/rgba.png" : "images/rgba.webp"))
        }
        func print(_: Any...) {}
        // comparing begins
        let a = try host.manager.decode(try ImageSource(path: "a.png")).pixels
        let b = try host.manager.decode(try ImageSource(path: "b.webp")).pixels
        let comparison = try ImageComparison(a, b)
        print(comparison.psnr, comparison.ssim ?? 1, comparison.maximum)
        // comparing ends
        return comparison
    }

    private static func makeHost() -> Host {
        let folder = PluginDirectory(Repository.products, origin: .argument)
        return Host(configuration: HostConfiguration(directories: [folder]))
    }

    @Test func `play every frame`() throws {
        let source = try Source(path: Repository.fixture("images/three-frames.gif"))
        var shown = 0

        try Self.play(source) { _ in shown += 1 }

        #expect(shown == 9, "three frames, three times")
    }

    private static func play(_ source: Source, _ show: (PixelBuffer) -> Void) throws {
        func ImageSource(path: String) throws -> Source { source }
        func CoderHost() -> Host { makeHost() }
        // playing begins
        let host = CoderHost()
        let image = try AnimatedImage(try ImageSource(path: "cat.gif"), manager: host.manager)
        let player = AnimatedImagePlayer(image)
        player.start()
        while player.isPlaying {
            if try player.update(), let frame = player.currentFrame { show(frame.pixels) }
            // Nil: nothing is due, because it stands still or a frame has not arrived.
            let rest = player.nanosecondsToNext ?? 10_000_000
            Thread.sleep(forTimeInterval: Double(rest) / 1e9)
        }
        // playing ends
    }

    @Test func `write the same animation in another format`() throws {
        let place = TemporaryDirectory()
        let source = try Source(path: Repository.fixture("images/three-frames.gif"))

        try Self.write(source, into: place)

        let manager = Self.makeHost().manager
        let original = try AnimatedImage(source, manager: manager)
        let written = try AnimatedImage(try Source(path: place.file("cat.webp")), manager: manager)
        #expect(written.frameCount == 3)
        #expect(written.loopCount == .plays(3))
        for index in 0..<3 {
            #expect(
                PixelDigest.of(try written.frame(at: index).pixels)
                    == PixelDigest.of(try original.frame(at: index).pixels))
            #expect(try written.duration(at: index).milliseconds == original.duration(at: index).milliseconds)
        }
    }

    private static func write(_ source: Source, into place: TemporaryDirectory) throws {
        let host = makeHost()
        func ImageSource(path: String) throws -> Source { source }
        func FileSink(path: String, replacing: Bool) throws -> Sink {
            try Sink(path: place.file(path), replacing: replacing)
        }
        // writing begins
        let animation = try AnimatedImage(try ImageSource(path: "cat.gif"), manager: host.manager)
        let sink = try FileSink(path: "cat.webp", replacing: true)
        let encoder = try host.manager.makeAnimationEncoder(
            to: "webp", of: animation.info, metadata: try animation.metadata(), options: ["lossless": .bool(true)],
            into: sink)
        for index in 0..<animation.frameCount {
            let frame = try animation.frame(at: index)
            try encoder.add(frame.pixels, duration: frame.duration)
        }
        try encoder.finish()
        try sink.commit()
        // writing ends
    }

    @Test func `create an animation from new images`() throws {
        let manager = Self.makeHost().manager

        let animation = try AnimatedImage(Source(try Self.make(manager)), manager: manager)

        #expect(animation.frameCount == 4)
        #expect(animation.loopCount == .infinite)
        #expect(PixelDigest.rgba8(try animation.frame(at: 3).pixels).prefix(4) == [192, 0, 0, 255])
    }

    private static func make(_ manager: CodersManager) throws -> [UInt8] {
        // making begins
        let size = PixelSize(64, 48)
        let facts = ImageInfo(size: size, nativeFormat: .rgb8, loopCount: .infinite)
        let sink = MemorySink()
        let encoder = try manager.makeAnimationEncoder(to: "gif", of: facts, into: sink)
        for step in 0..<4 {
            let image = try PixelBuffer(size: size, format: .rgb8)
            for y in 0..<size.height {
                image.withMutableRow(y) { row in
                    for x in 0..<size.width {
                        row.storeBytes(of: UInt8(64 * step), toByteOffset: 3 * x, as: UInt8.self)
                    }
                }
            }
            try encoder.add(image, duration: .milliseconds(250))
        }
        try encoder.finish()
        let bytes = sink.bytes
        // making ends
        return bytes
    }
}
