import CoderHost
import ImageLoading
import ImageModel
import TestSupport
import Testing

// The examples use type names that the test replaces with its own factories.
private typealias Host = CoderHost
private typealias Source = ImageSource

@Suite struct `The library example of the README` {
    @Test(arguments: [("README", 0), ("Loading", 1)])
    func `equals the compiled code`(name: String, index: Int) throws {
        let source = Markdown("Tests/DocumentationTests/ReadmeLibraryTests.swift").lines
        let start = try #require(source.firstIndex { $0.hasSuffix("// \(name) begins") }) + 1
        let end = try #require(source.firstIndex { $0.hasSuffix("// \(name) ends") })
        let compiled = source[start..<end].map { String($0.dropFirst(8)) }
        let blocks = Markdown.readme.blocks.filter { $0.language == "swift" && $0.heading.contains("library") }

        try #require(blocks.count == 2)
        #expect(blocks[index].lines == compiled)
    }

    @Test func `prints the stated output`() throws {
        let path = Repository.fixture("images/three-frames.gif")
        let printed = try Self.example(ImageSource(path: path))

        #expect(printed.hasPrefix("3 frames, the last for 100.0 ms and as PNG of "))
        #expect(printed.hasSuffix(" bytes"))
    }

    private static func example(_ file: ImageSource) throws -> String {
        var printed = ""
        func ImageSource(path: String) throws -> Source { file }
        func CoderHost() -> Host {
            let folder = PluginDirectory(Repository.products, origin: .argument)
            return Host(configuration: HostConfiguration(directories: [folder]))
        }
        func print(_ text: String) { printed = text }
        // README begins
        let host = CoderHost()
        let source = try ImageSource(path: "three-frames.gif")
        let animation = try AnimatedImage(source, manager: host.manager)
        let last = animation.frameCount - 1
        let png = try host.manager.encode(try animation.image(at: last), to: "png")
        let duration = try animation.duration(at: last).milliseconds
        print("\(animation.frameCount) frames, the last for \(duration) ms and as PNG of \(png.count) bytes")
        // README ends
        return printed
    }

    /// The example about loading, compiled only: it needs a network.
    private static func load() async throws -> [LoadedImage] {
        // Loading begins
        let pipeline = try ImagePipeline()
        let photo = try await pipeline.image(for: "https://example.org/photo.jpg")
        let small = try await pipeline.image(for: ImageRequest("cat.heic", size: PixelSize(320, 320)))
        // Loading ends
        return [photo, small]
    }
}
