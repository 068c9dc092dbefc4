import Foundation
import TestSupport
import Testing
import ImageProcessing

@Suite(.timeLimit(.minutes(40))) struct `The command list` {
    @Test func `lists all plugins beside the command with status and file`() throws {
        let result = try Tool.run("list")

        #expect(result.status == 0)
        #expect(
            result.lines.first?.split(separator: " ").map(String.init) == [
                "PLUGIN", "ID", "VERSION", "STATUS", "FORMATS", "FILE",
            ])
        for name in BundledPlugin.names {
            let line = result.lines.first { $0.hasSuffix("/libcoder-\(name).so") }
            #expect(line?.contains(" ready ") == true, "\(name)")
            #expect(line?.contains(" org.coderhost.\(name)-plugin ") == true, "\(name)")
        }
    }

    @Test func `prints the manifests as one JSON document`() throws {
        let document = Document(try Tool.run("list", "--json").stdout)

        #expect(document["schema"].integer == 1)
        #expect(document["directories"].list.contains { $0["origin"].text == "relative" })
        let jpeg = document["plugins"].list.first { $0["plugin"].text == "org.coderhost.jpeg-plugin" }
        #expect(jpeg?["status"].text == "ready")
        #expect(jpeg?["coders"][0]["formats"][0]["extensions"].list.map(\.text).contains("jpg") == true)
        let option = jpeg?["coders"][0]["options"].list.first { $0["key"].text == "jpeg.subsampling" }
        #expect(option?["values"].list.map(\.text) == ["444", "422", "420"])
    }

    @Test func `lists formats with their decoders and encoders`() throws {
        let lines = try Tool.run("list", "--formats").lines
        let rows = Dictionary(
            uniqueKeysWithValues: lines.dropFirst().map { line in
                let cells = line.split(separator: " ").map(String.init)
                return (cells[0], cells)
            })

        for format in BundledPlugin.written.map(\.id) + ["pam", "pnm"] {
            #expect(rows[format].map { Array($0[1...2]) } == ["yes", "yes"], "\(format)")
        }
        let document = Document(try Tool.run("list", "--formats", "--json").stdout)
        #expect(Set(document["formats"].list.compactMap { $0["id"].text }) == Set(rows.keys))
    }

    @Test(arguments: ["heic", "jpg"])
    func `explains the order of the coders for one format`(format: String) throws {
        let result = try Tool.run("list", "--format", format, "--explain")

        #expect(result.status == 0)
        #expect(result.lines.first?.hasPrefix("1. org.coderhost.") == true)
        #expect(result.stdout.contains("priority 100, version "))
        #expect(result.stdout.contains("\nOrder: "))
    }

    @Test func `distinguishes two plugins of one format and their order`() throws {
        let place = TemporaryDirectory()
        try PluginBuilder.build("bad/claims-formats.c", into: place.path)

        let document = Document(try Tool.run("list", "--plugin-dir", place.path, "--json").stdout)
        let claimed = document["plugins"].list.first { $0["file"].text == place.file("libcoder-claims-formats.so") }
        let format = try #require(claimed?["coders"][0]["formats"][0]["id"].text)
        let order = Document(try Tool.run("list", "--plugin-dir", place.path, "--format", format, "--json").stdout)

        #expect(order["format"].text == format)
        #expect(order["coders"].list.map { $0["rank"].integer } == Array(1...order["coders"].list.count))
        #expect(order["coders"].list.allSatisfy { $0["why"].text?.contains("priority") == true })
    }

    @Test func `reports problems and remedies of broken files`() throws {
        let place = TemporaryDirectory()
        try PluginBuilder.writeText(into: place.path)
        try PluginBuilder.build("bad/no-note.c", into: place.path)
        try PluginBuilder.buildWrongArchitecture(into: place.path)
        try PluginBuilder.buildMissingLibrary(into: place.path)

        let result = try Tool.run("list", "--plugin-dir", place.path)

        #expect(result.status == 0)
        for (file, word) in [
            ("text", "not-a-plugin"), ("no-note", "no-manifest"), ("wrong-arch", "wrong-architecture"),
            ("missing-library", "missing-library"),
        ] {
            let at = result.lines.firstIndex { $0.hasPrefix("libcoder-\(file).so is not used (\(word)): ") }
            #expect(at.map { result.lines[$0 + 1].hasPrefix("  try: ") } == true, "\(file)")
        }
        #expect(result.stdout.contains("libcoderhost-absent.so.3"))
    }

    @Test(arguments: 4...6) func `names a folder that is unreadable without descriptors`(count: Int) throws {
        // Closes the descriptors of the test runner first, so that the limit has the same effect everywhere.
        let script = """
            for i in $(seq 3 63); do eval "exec $i>&-"; done
            ulimit -n \(count)
            exec "$coderhost" \(count == 4 ? "list" : "info '\(Repository.fixture("images/f.png"))'") --json
            """

        let result = try Tool.shell(script)

        if count == 4 {
            #expect(
                result.stderr.contains(
                    "could not be read: Too many open files; try: allow the process more open files: "))
            #expect(result.stderr.contains("ulimit -n 256 (now 4)"))
        } else if let error = result.documents.first?["error"], error.exists {
            #expect(result.status == 69 && error["code"].text == "noCoder", "\(result.stdout)")
            #expect(error["message"].text == "no readable plugin decodes these bytes")
            #expect(error["hint"].text == "allow the process more open files: ulimit -n 256 (now \(count))")
            #expect(error["attempts"][0].text?.hasSuffix("could not be read: Too many open files") == true)
        } else {
            #expect(count > 5 && result.documents.first?["format"].text == "png", "\(result.stdout)\(result.stderr)")
        }
    }

    @Test func `names the file used instead of a quarantined one`() throws {
        let place = TemporaryDirectory()
        let (first, second) = (place.folder("first"), place.folder("second"))
        let failed = try PluginBuilder.build("bad/constructor-aborts.c", into: first, named: "libcoder-bad.so")
        let works = try PluginBuilder.build("bad/claims-formats.c", into: second, named: "libcoder-bad.so")
        let words = ["--plugin-dir", first, "--plugin-dir", second]
        let image = place.write(Array("BAD!".utf8), to: "image.bad")
        let crash = try Tool.run(["info", image] + words, environment: ["HOME": place.path])
        try #require(crash.status == 70, "\(crash.stderr)")

        let list = try Tool.run(["list"] + words, environment: ["HOME": place.path])
        let info = try Tool.run(["info", image] + words, environment: ["HOME": place.path])

        #expect(list.lines.contains("\(works) is ready: in place of \(failed), which is quarantined"), "\(list.stdout)")
        #expect(list.stdout.contains("libcoder-bad.so is not used (quarantined): "))
        #expect(info.stdout.hasPrefix("\(image): bad 2x2"), "\(info.stderr)")
    }

    @Test func `runs no plugin`() throws {
        let place = TemporaryDirectory()
        try PluginBuilder.build("bad/constructor-aborts.c", into: place.path)

        for words in [["list"], ["list", "--formats"], ["list", "--json"], ["doctor"]] {
            #expect(try Tool.run(words + ["--plugin-dir", place.path]).status == 0)
        }
    }

    @Test func `suggests to build plugins in an empty folder, and still supports PAM`() throws {
        let place = TemporaryDirectory()
        let copy = try Tool.copy(into: place)
        place.write(Fixture.named("images/f.ppm").bytes, to: "f.ppm")

        let list = try run([copy, "list"], environment: Tool.environment)
        let formats = try run([copy, "list", "--formats"], environment: Tool.environment)
        let info = try run([copy, "info", place.file("f.ppm")], environment: Tool.environment)

        // With an installed coderhost, there are plugins independent of this copy.
        try #require(
            Document(try run([copy, "list", "--json"], environment: Tool.environment).stdout)["plugins"].list.isEmpty)
        #expect(list.status == 0)
        #expect(list.stdout.contains("no plugins are installed"))
        #expect(list.stderr.contains("--product coderhost builds no plugins"))
        #expect(list.stderr.contains(place.path))
        #expect(formats.lines.dropFirst().map { $0.prefix { $0 != " " } } == ["pam", "pbm", "pgm", "pnm", "ppm"])
        #expect(info.stdout.contains("31x17"))
    }

    @Test func `names the missing plugin for an unsupported image`() throws {
        let place = TemporaryDirectory()
        let copy = try Tool.copy(plugins: ["png"], into: place)
        let image = Fixture.named("images/f.heic").path

        let refused = try run([copy, "convert", image, "-o", place.file("f.png")], environment: Tool.environment)
        #expect(refused.status == 69)
        #expect(refused.stderr.contains("libcoder-heif.so"))
        #expect(!FileManager.default.fileExists(atPath: place.file("f.png")))

        try FileManager.default.copyItem(
            atPath: "\(Repository.products)/libcoder-heif.so", toPath: place.file("libcoder-heif.so"))
        #expect(
            try run([copy, "convert", image, "-o", place.file("f.png")], environment: Tool.environment).status == 0)
    }
}
