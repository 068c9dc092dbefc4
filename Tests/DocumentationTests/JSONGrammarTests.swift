import CoderHost
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The grammar of the JSON documents` {
    static let grammar = Grammar(.article("JSON"))

    private func check(
        _ words: [String], _ rule: String, status: Int32 = 0, environment: [String: String?] = [:]
    ) throws {
        let result = try run(
            ["\(Repository.products)/coderhost"] + words, directory: "\(Repository.root)/Fixtures",
            environment: [
                "CODERHOST_PLUGIN_PATH": nil, "HOME": "/nowhere", "XDG_DATA_HOME": nil, "XDG_CONFIG_HOME": nil,
                "XDG_STATE_HOME": nil,
            ].merging(environment) { $1 })
        #expect(result.status == status)
        let lines = result.stdout.split(separator: "\n")
        #expect(!lines.isEmpty)
        // The verbs of frames and some verbs of plugin have separate sections; thumbnail uses the section of convert.
        let hasVerbs = words[0] == "frames" || words[0] == "plugin" && ["new", "check"].contains(words[1])
        let name = hasVerbs ? "\(words[0]) \(words[1])" : words[0] == "thumbnail" ? "convert" : words[0]
        let section = "## coderhost \(name) --json"
        for line in lines {
            let document = try JSONParser.parse(Array(line.utf8))
            #expect(Self.grammar.difference(document, from: rule, in: section) == nil, "\(line)")
        }
    }

    @Test func `matches the properties of every image`() throws {
        let names = Fixture.valid.map(\.name)

        try check(["info", "--json"] + names, "image")
        try check(["info", "--json", "--frames", "--hash"] + names, "image")
        try check(["info", "--json", "--summary", "--frames"] + names, "image")
    }

    @Test func `matches every error`() throws {
        try check(["info", "--json", "--hash"] + Fixture.bad.map(\.name) + ["nowhere"], "line", status: 1)
        try check(["info", "--json", "--limits", "side=1", "images/f.png"], "failure", status: 77)
    }

    @Test func `matches the output of convert`() throws {
        let place = TemporaryDirectory()

        try check(["convert", "--json", "-o", place.file("a.jpg"), "-q", "3", "images/rgba.png"], "written")
        try check(["convert", "--json", "-o", place.file("a.jpg"), "nowhere"], "failure", status: 66)
        let series = ["convert", "-o", place.file("{w}.{ext}"), "--sizes", "8,16", "-f", "webp,png", "images/rgba.png"]
        try check(series + ["--json"], "written")
        try check(series + ["--srcset", "json"], "element")
    }

    @Test func `matches the output for folders, and of metadata`() throws {
        let place = TemporaryDirectory()
        let convert = ["convert", "--json", "-r", "images", "--glob", "f.{png,jpg}", "-o", place.file("{stem}.{ext}")]

        try check(convert, "line")
        try check(convert + ["--skip-existing"], "line")
        try check(["metadata", "--json"] + Fixture.valid.map(\.name), "tags")
        try check(["metadata", "--json", "nowhere"], "failure", status: 66)
        try check(["list", "--json", "--format", "jpeg", "--options"], "options")
        let set = ["rewrite", "--json", "-r", "images", "--glob", "f.png", "--strip", "exif", "-o", place.file("r/")]
        try check(set + ["--skip-existing"], "line")
    }

    @Test func `matches the output of thumbnail`() throws {
        let place = TemporaryDirectory()
        let thumbnail = ["thumbnail", "--json", "-s", "8", "-o", place.file("{stem}.webp")]

        try check(thumbnail + ["images/rgba.png", "images/three-frames.gif"], "written")
        try check(thumbnail + ["nowhere"], "failure", status: 66)
    }

    @Test func `matches the output of fetch and of the cache`() throws {
        let place = TemporaryDirectory()
        let environment = ["XDG_CACHE_HOME": place.path]
        let image = "file://\(Repository.root)/Fixtures/images/f.png"
        let fetch = ["fetch", "--json", "--allow-private", "-o", place.file("{stem}.jpg")]

        try check(fetch + [image], "fetched", environment: environment)
        try check(fetch + ["data:,no-image"], "unfetched", status: 65, environment: environment)
        try check(["cache", "warm", "--json", "--allow-private", image], "warmed", environment: environment)
        try check(["cache", "warm", "--json", "data:,none"], "unwarmed", status: 65, environment: environment)
        let rules = [
            "stats": "statistics", "prune": "pruned", "verify": "checked", "clear": "cleared", "path": "place",
        ]
        for (verb, rule) in rules {
            try check(["cache", verb, "--json"], rule, environment: environment)
        }
    }

    @Test func `matches the output of plugin new`() throws {
        let place = TemporaryDirectory()

        try check(["plugin", "new", "toy", "--lang", "rust", "--json", "-o", place.file("toy")], "created")
        try check(["plugin", "new", "toy", "--json", "-o", place.file("toy")], "failure", status: 73)
    }

    @Test func `matches the output of plugin check`() throws {
        let place = TemporaryDirectory()
        let bad = try PluginBuilder.build("faulty/segfault.c", into: place.path)

        try check(
            ["plugin", "check", "\(Repository.products)/libcoder-farbfeld.so", "--only", "surface", "--json"], "report")
        try check(["plugin", "check", bad, "--only", "frames", "--json"], "report", status: 1)
        try check(["plugin", "check", "--list", "--json"], "list")
    }

    @Test func `matches the frames of every image`() throws {
        try check(["frames", "info", "--json"] + Fixture.valid.map(\.name), "animation")
        try check(["frames", "info", "--json", "--decode", "images/three-frames.gif"], "animation")
        try check(["frames", "info", "--json", "nowhere"], "failure", status: 66)
    }

    @Test func `matches a truncated animation`() throws {
        let place = TemporaryDirectory()
        let whole = try #require(readFile(Repository.fixture("apng/three-frames.png")))
        try #require(writeFile(place.file("cut.png"), Array(whole.dropLast(whole.count / 4))))

        try check(["frames", "info", "--json", place.file("cut.png")], "animation", status: 65)
    }

    @Test func `matches frames extract and frames assemble`() throws {
        let place = TemporaryDirectory()
        let timing = place.file("timing.json")
        let images = (0..<3).map { place.file("\($0).png") }

        let extract = ["frames", "extract", "--json", "images/three-frames.gif", "-o", place.file("{n}.png")]
        try check(extract + ["--timing", timing], "extraction")
        try check(extract + ["--items"], "items")
        let document = try JSONParser.parse(try #require(readFile(timing)))
        #expect(Self.grammar.difference(document, from: "timing", in: "## coderhost frames extract --json") == nil)
        let assemble = ["frames", "assemble", "--json", "-o", place.file("a.webp"), "--timing", timing]
        try check(assemble + images, "assembly")
    }

    @Test func `matches the progress of an arriving image`() throws {
        let place = TemporaryDirectory()
        let whole = try #require(readFile(Repository.fixture("images/f-progressive.jpg")))
        try #require(writeFile(place.file("cut.jpg"), Array(whole.dropLast(whole.count / 4))))

        let small = ["progressive", "--json", "--chunk", "100"]
        try check(small + ["images/f-progressive.jpg", "-o", place.file("{n}.png")], "arrival")
        try check(small + ["images/three-frames.gif"], "arrival")
        try check(small + [place.file("cut.jpg")], "arrival", status: 65)
    }

    @Test func `matches image differences`() throws {
        let place = TemporaryDirectory()

        try check(["compare", "--json", "images/f.png", "images/f.ppm"], "comparison")
        let far = ["compare", "--json", "images/rgba.png", "images/f.jpg", "--diff", place.file("d.png")]
        try check(far + ["--within", "max=300"], "comparison")
        let sizes = ["compare", "--json", "images/f.png", "images/photo.png", "--metric", "max"]
        try check(sizes, "comparison", status: 1)
        let animations = ["compare", "--json", "images/three-frames.gif", "images/three-frames.webp"]
        try check(animations, "comparison", status: 1)
        try check(["compare", "--json", "images/f.png", "nowhere"], "failure", status: 66)
    }

    @Test func `matches measurements`() throws {
        let all = ["bench", "--json", "--runs", "1", "images/f.png"]

        try check(all + ["--ops", "info,decode,convert,encode", "--against", "vips,pillow,magick"], "bench")
        try check(all + ["hostile/noise", "--ops", "decode"], "bench", status: 1)
        try check(["bench", "--json", "hostile/noise"], "failure", status: 65)
    }

    @Test func `matches the report of play`() throws {
        let script = "exec '\(Repository.products)/coderhost' play --json --protocol ascii --loop 1 three-frames.gif"
        let result = try run(
            ["script", "-qec", script, "/dev/null"], directory: "\(Repository.root)/Fixtures/images",
            environment: ["CODERHOST_PLUGIN_PATH": nil, "HOME": "/nowhere", "TERM": "xterm"])
        let line = try #require(result.stdout.split(whereSeparator: \.isNewline).last { $0.contains("\"file\"") })
        let start = try #require(line.firstIndex(of: "{"))
        let document = try JSONParser.parse(Array(line[start...].utf8))
        #expect(Self.grammar.difference(document, from: "playback", in: "## coderhost play --json") == nil, "\(line)")
    }

    @Test func `matches lists with usable and unusable plugins`() throws {
        let place = TemporaryDirectory()
        try PluginBuilder.buildQOI(into: place.path)
        try PluginBuilder.writeText(into: place.path)
        try PluginBuilder.buildMissingLibrary(into: place.path)

        try check(["list", "--json", "--plugin-dir", place.path], "list")
        try check(["list", "--json", "--formats", "--plugin-dir", place.path], "formats")
        try check(["list", "--json", "--format", "jpeg"], "order")
        try check(["doctor", "--json", "--plugin-dir", place.path], "doctor", status: 69)
    }

    @Test func `matches reports about plugins, keys and failures`() throws {
        let place = TemporaryDirectory()
        let home = ["HOME": place.path]
        let file = try PluginBuilder.buildQOI(into: place.folder("plugins"))
        let (id, key) = ("org.example.qoi-plugin", place.file("k"))
        func plugin(_ words: String..., rule: String, status: Int32 = 0) throws {
            try check(
                ["plugin"] + words + ["--json", "--plugin-dir", place.file("plugins")], rule, status: status,
                environment: home)
        }

        try plugin("trust", id, rule: "vouched")
        try plugin("keygen", "-o", key, "--expires", "2999-01-01", rule: "made")
        try plugin("sign", file, "--key", key, rule: "signed")
        try plugin("verify", id, rule: "failure", status: 64)
        try plugin("trust", "\(key).pub", rule: "believed")
        try plugin("verify", id, rule: "verified")
        try check(
            ["list", "--json", "--hash", "--plugin-dir", place.file("plugins")], "list", environment: home)
        let ledger = place.file(".local/state/coderhost/quarantine")
        let hash = try run(["sha256sum", file]).stdout.prefix(64)
        try #require(try run(["mkdir", "-p", ledger]).status == 0)
        let time = "9000000000000"
        place.write(
            Array(
                """
                {"schema": 1, "plugin": "\(id)", "sha256": "\(hash)", "file": "x", "since": \(time), "until": \(time),
                 "back_off": 60000, "trial": null, "failures": [{"at": \(time), "kind": "hang", "phase": "decode"}]}
                """.utf8), to: ".local/state/coderhost/quarantine/\(id)-\(hash.prefix(16)).json")
        try check(["quarantine", "list", "--json"], "quarantine", environment: home)
        try check(["doctor", "--json", "--plugin-dir", place.file("plugins")], "doctor", environment: home)
        try check(["quarantine", "clear", "--json"], "cleared", environment: home)
        try check(["quarantine", "clear", "--json", "x"], "failure", status: 66, environment: home)
        try plugin("disable", id, rule: "switched")
        try plugin("untrust", "--revoke", "\(key).pub", rule: "revoked")
        try plugin("untrust", id, rule: "withdrawn")
    }

    @Test func `matches images by URL`() throws {
        let place = TemporaryDirectory()
        let fetch = ["fetch", "--json", "--allow-private", "-o", place.file("{stem}.png")]
        let home = ["HOME": place.path, "XDG_CACHE_HOME": nil]

        try check(fetch + ["file://\(Repository.fixture("images/photo.png"))"], "fetched", environment: home)
        try check(fetch + ["file://\(Repository.fixture("images/f.jpg"))"], "fetched", environment: home)
        try check(["fetch", "--json", "http://127.0.0.1/"], "unfetched", status: 77, environment: home)
    }

    @Test func `matches the cache`() throws {
        let place = TemporaryDirectory()
        let data = "data:image/x-portable-graymap;base64,UDUgMSAxIDI1NQoA"
        func cache(_ words: String..., rule: String, status: Int32 = 0) throws {
            let home = ["HOME": place.path, "XDG_CACHE_HOME": nil]
            try check(["cache", "--json"] + words, rule, status: status, environment: home)
        }

        try cache("warm", data, rule: "warmed")
        try cache("warm", "http://127.0.0.1/", rule: "unwarmed", status: 77)
        try cache("stats", rule: "statistics")
        try cache("verify", rule: "checked")
        try cache("prune", rule: "pruned")
        try cache("clear", rule: "cleared")
        try cache("path", rule: "place")
        try cache("path", "http://127.0.0.1/", rule: "unwarmed", status: 66)
    }

    @Test func `rejects invalid documents`() throws {
        func difference(_ text: String, _ rule: String) throws -> String? {
            Self.grammar.difference(try JSONParser.parse(Array(text.utf8)), from: rule, in: "## coderhost info --json")
        }

        #expect(try difference(#"{"width": 1, "height": 2}"#, "size") == nil)
        #expect(try difference(#"{"height": 2, "width": 1}"#, "size") != nil)
        #expect(try difference(#"{"width": 1, "height": 2, "depth": 3}"#, "size") != nil)
        #expect(try difference(#"{"width": "1", "height": 2}"#, "size") != nil)
        #expect(try difference(#"{"x": 1, "y": 2, "unit": "inch"}"#, "density") != nil)
        #expect(try difference(#"{"file": "x"}"#, "line") != nil)
    }
}
