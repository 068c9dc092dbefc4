import CoderHost
import ImageModel
import TestSupport
import Testing

/// Plugins built against each minor version, in the current host.
@Suite(.timeLimit(.minutes(40))) struct `A plugin of an older minor` {
    struct Exhibit: Sendable, CustomTestStringConvertible {
        var minor: String
        var source: String

        var format: String { source.hasSuffix("qoi.c") ? "qoi" : "film" }
        var testDescription: String { "\(source) with the header of \(minor)" }

        /// Builds the plugin with the archived header and its default minor version.
        func build(into folder: TemporaryDirectory) throws {
            let museum = "\(Repository.root)/Tests/Museum"
            let result = try run([
                "cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden",
                "-I\(museum)/\(minor)/include", "\(museum)/\(source)", "-o", folder.file("libcoder-\(format).so"),
            ])
            try #require(result.status == 0, "\(result.stderr)")
        }
    }

    static let exhibits = films
    static let films = ["1.0"].map { Exhibit(minor: $0, source: "film.c") }

    let place = TemporaryDirectory()

    @Test(arguments: exhibits) func `is listed with its minor version`(exhibit: Exhibit) throws {
        try exhibit.build(into: place)

        let listed = Document(try Tool.run("list", "--json", "--plugin-dir", place.path).stdout)
        let plugin = listed["plugins"].list.first { $0["plugin"].text == "org.example.\(exhibit.format)-plugin" }

        #expect(plugin?["status"].text == "ready")
        #expect(plugin?["abi"]["minor_built"].integer == Int(exhibit.minor.suffix(1)))
    }

    @Test(arguments: exhibits) func `writes and reads stills`(exhibit: Exhibit) throws {
        try exhibit.build(into: place)
        let image = Fixture.named("images/f.png")
        let file = place.file("f.\(exhibit.format)")

        let written = try Tool.run("convert", "--plugin-dir", place.path, image.path, "-o", file)
        let facts = try Tool.run("info", "--json", "--hash", "--plugin-dir", place.path, file).documents.first

        #expect(written.status == 0, "\(written.stderr)")
        #expect(facts?["coder"].text == "org.example.\(exhibit.format)")
        #expect(facts?["pixel_sha256"].text == image.expect?.pixelSHA256)
    }

    @Test(arguments: films) func `writes and reads animations`(exhibit: Exhibit) throws {
        try exhibit.build(into: place)
        let source = Fixture.named("apng/three-frames.png").path
        let (film, back) = (place.file("a.film"), place.file("back.png"))
        for (from, to) in [(source, film), (film, back)] {
            let format = to == film ? "film" : "apng"
            let result = try Tool.run("convert", "--plugin-dir", place.path, "-f", format, from, "-o", to)
            #expect(result.status == 0, "\(result.stderr)")
        }

        let facts = try [source, film, back].map { file in
            let document = try Tool.run("info", "--json", "--frames", "--hash", "--plugin-dir", place.path, file)
                .documents.first
            let frames = document?["frames"].list ?? []
            return (frames.map { $0["pixel_sha256"].text }, frames.map { $0["duration_ms"].number })
        }
        #expect(facts[0].0.count == 3 && !facts[0].0.contains(nil))
        #expect(facts[1] == facts[0] && facts[2] == facts[0])
    }

    @Test(arguments: exhibits) func `decodes growing input and reports truncation`(exhibit: Exhibit) throws {
        try exhibit.build(into: place)
        let host = CoderHost(configuration: HostConfiguration(directories: [.init(place.path, origin: .argument)]))
        let file = place.file("f.\(exhibit.format)")
        let image = Fixture.named("images/f.png")
        _ = try Tool.run("convert", "--plugin-dir", place.path, image.path, "-o", file)
        let bytes = try #require(readFile(file))
        let source = try ImageSource(growingTo: bytes.count, name: "f.\(exhibit.format)")

        try source.append(Array(bytes[..<100]))
        let early = #expect(throws: CoderError.self) { try host.manager.decode(source) }
        try source.append(Array(bytes[100...]))
        source.finish()
        let cut = #expect(throws: CoderError.self) { try host.manager.decode(ImageSource(Array(bytes.dropLast(50)))) }

        #expect(early?.code == .needsInput)
        #expect(PixelDigest.of(try host.manager.decode(source).pixels) == image.expect?.pixelSHA256)
        #expect(cut?.code == .truncated)
    }
}
