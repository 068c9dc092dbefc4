import CoderHost
import ImageModel
import TestSupport
import Testing

// The example names types that the test puts its own makers in front of.
private typealias Host = CoderHost
private typealias Source = ImageSource

@Suite struct `The library example of the README` {
    @Test func `is the code that is compiled here`() throws {
        let source = Markdown("Tests/DocumentationTests/ReadmeLibraryTests.swift").lines
        let start = try #require(source.firstIndex { $0.hasSuffix("// README begins") }) + 1
        let end = try #require(source.firstIndex { $0.hasSuffix("// README ends") })
        let compiled = source[start..<end].map { String($0.dropFirst(8)) }
        let block = Markdown.readme.blocks.first { $0.language == "swift" && $0.heading.contains("library") }

        #expect(block?.lines == compiled)
    }

    @Test func `does what it says`() throws {
        let picture = Repository.fixture("pictures/three-frames.gif")
        let printed = try Self.example(ImageSource(path: picture))

        #expect(printed.hasPrefix("3 frames, the last for 100.0 ms and as PNG of "))
        #expect(printed.hasSuffix(" bytes"))
    }

    private static func example(_ picture: ImageSource) throws -> String {
        var printed = ""
        func ImageSource(path: String) throws -> Source { picture }
        func CoderHost() -> Host {
            let folder = HostConfiguration.PluginDirectory(Repository.products, origin: .argument)
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
}
