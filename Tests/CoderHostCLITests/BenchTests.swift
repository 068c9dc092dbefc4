import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command bench` {
    let place = TemporaryDirectory()

    private func bench(_ words: String..., path: String? = nil) throws -> CommandResult {
        place.folder("tmp")
        var environment: [String: String?] = ["TMPDIR": place.file("tmp")]
        if let path { environment["PATH"] = path }
        let result = try Tool.run(["bench"] + words, directory: place.path, environment: environment)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.file("tmp")).isEmpty)
        return result
    }

    private func image(_ name: String) -> String { Repository.fixture("images/\(name)") }

    @Test func `measures all operations`() throws {
        let words = ["info", "decode", "convert", "encode"]
        let result = try bench(image("rgba.png"), "--ops", "encode,info,convert,decode", "--runs", "3", "--json")
        let document = try #require(result.documents.first)
        let results = document["results"].list

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(document["runs"].integer == 3)
        #expect(try #require(document["machine"]["processors"].integer) > 0)
        #expect(results.map { $0["operation"].text } == words)
        for one in results {
            let times = one["in_process"]
            for clock in ["cpu_ms", "wall_ms"] {
                let (low, middle) = (times[clock]["min"].number, times[clock]["median"].number)
                #expect(try #require(low) <= #require(middle))
                #expect(try #require(middle) <= #require(times[clock]["max"].number))
            }
            // The minimum of any Swift program, and more than an image of 31 × 17 needs.
            #expect(try (1 << 20...1 << 30).contains(#require(one["peak"]["bytes"].integer)))
            #expect(one["width"].integer == 31 && one["format"].text == "png" && one["frame_count"].integer == 1)
            #expect(!one["error"].exists && !one["processes"].exists)
        }
        #expect(!results[0]["megapixels_per_second"].exists)
        #expect(try #require(results[1]["megapixels_per_second"].number) > 0)
    }

    @Test func `counts the pixels of all frames that it decodes`() throws {
        let gif = image("three-frames.gif")
        let one = try #require(try bench(gif, "--ops", "decode", "--json").documents.first)["results"][0]
        let seconds = try #require(one["in_process"]["cpu_ms"]["median"].number) / 1000

        #expect(one["frame_count"].integer == 3)
        // 31 × 17 pixels each; the time was rounded to microseconds.
        let pixels = try #require(one["megapixels_per_second"].number) * 1e6 * seconds
        #expect(abs(pixels - 3 * 31 * 17) < 200)
    }

    @Test func `prints a table`() throws {
        let result = try bench(image("f.jpg"), "--ops", "info,decode", "--runs", "1")

        #expect(result.status == 0)
        #expect(result.lines[0].contains(" × ") && result.lines[0].hasSuffix("; 1 run after one warm-up run"))
        #expect(result.lines[1].hasPrefix("FILE "))
        #expect(result.lines[1].hasSuffix("MP/S  MB/S  PEAK MIB"))
        #expect(result.lines[2].contains("f.jpg  info    "))
        #expect(result.lines[3].contains("f.jpg  decode  "))
    }

    @Test func `measures all images in a folder and reports the skipped files`() throws {
        place.folder("in")
        place.folder("in/a")
        place.write(Fixture.named("images/f.png").bytes, to: "in/b.png")
        place.write(Fixture.named("images/f.jpg").bytes, to: "in/a/z.jpg")
        place.write(Array("no image".utf8), to: "in/a/y.txt")
        try Tool.link("../in", at: place.file("in/loop"))

        let text = try bench("in", "--ops", "info", "--runs", "1")
        let document = try #require(try bench("in/", "--ops", "info", "--runs", "1", "--json").documents.first)

        #expect(text.status == 0)
        #expect(text.stderr.hasPrefix("coderhost: warning: in/a/y.txt is skipped: "), "\(text.stderr)")
        #expect(document["results"].list.map { $0["file"].text } == ["in/a/z.jpg", "in/b.png"])
        #expect(document["skipped"].list.map { $0["file"].text } == ["in/a/y.txt"])
    }

    // MARK: Peers

    /// Creates a fake peer program that counts its calls.
    private func pretend(_ name: String, _ script: String) throws {
        place.folder("bin")
        let text = "#!/bin/sh\necho \(name) \"$@\" >> '\(place.file("calls"))'\n\(script)\n"
        place.write(Array(text.utf8), to: "bin/\(name)")
        try Tool.permit(0o755, place.file("bin/\(name)"))
    }

    @Test func `names missing programs and how to install them`() throws {
        place.folder("empty")
        let words = [image("f.png"), "--ops", "info", "--runs", "1", "--against", "pillow,vips,magick"]
        let text = try Tool.run(
            ["bench"] + words, directory: place.path, environment: ["PATH": place.file("empty")])
        let json = try Tool.run(
            ["bench", "--json"] + words, directory: place.path, environment: ["PATH": place.file("empty")])

        #expect(text.status == 0 && text.stderr.isEmpty)
        #expect(text.stdout.contains("vips is not installed: apt install libvips-tools"))
        #expect(text.stdout.contains("magick is not installed: apt install imagemagick"))
        let document = try #require(json.documents.first)
        #expect(document["missing"].list.map { $0["name"].text } == ["vips", "pillow", "magick"])
        #expect(document["programs"].list.isEmpty)
    }

    @Test func `runs every program once per round`() throws {
        try pretend("vips", "case \"$1\" in --version) echo vips-9.9;; *) exit 0;; esac")
        for name in ["vipsthumbnail", "vipsheader"] { try pretend(name, "exit 0") }
        let path = place.file("bin") + ":/usr/bin:/bin"

        let result = try bench(
            image("f.png"), "--ops", "info,decode", "--runs", "4", "--against", "vips", "--json", path: path)
        let document = try #require(result.documents.first)
        let calls = String(decoding: readFile(place.file("calls")) ?? [], as: UTF8.self).split(separator: "\n")

        #expect(result.status == 0, "\(result.stderr)")
        #expect(document["programs"][0]["version"].text == "vips-9.9")
        // One warm-up run.
        #expect(calls.count { $0.hasPrefix("vipsheader ") } == 5)
        #expect(calls.count { $0.hasPrefix("vips rawsave ") } == 5)
        for one in document["results"].list {
            let processes = one["processes"].list
            #expect(processes.map { $0["program"].text } == ["coderhost", "vips"])
            let medians = try processes.map { try #require($0["times"]["cpu_ms"]["median"].number) }
            let ratio = try #require(processes[1]["ratio"].number)
            #expect(!processes[0]["ratio"].exists && abs(ratio - medians[0] / medians[1]) < ratio * 0.05)
        }
    }

    @Test func `continues after another program fails, and reports the reason`() throws {
        let script = """
            case "$1" in -version) echo 'Version: ImageMagick 9.1 x'; exit 0;; esac
            echo 'no such coder' >&2
            exit 3
            """
        try pretend("magick", script)
        let words = [image("f.png"), "--ops", "decode", "--runs", "1", "--against", "magick"]
        let path = place.file("bin") + ":/usr/bin:/bin"
        let text = try Tool.run(["bench"] + words, environment: ["PATH": path])
        let json = try Tool.run(["bench", "--json"] + words, environment: ["PATH": path])

        #expect(text.status == 0 && text.stdout.contains("failed: no such coder"), "\(text.stdout)")
        let process = try #require(json.documents.first)["results"][0]["processes"][1]
        #expect(process["problem"].text == "no such coder" && !process["times"].exists)
    }

    // MARK: Errors

    @Test func `reports undecodable images and measures the others`() throws {
        let damaged = Repository.fixture("hostile/truncated-f.png")
        let both = try bench(damaged, image("f.png"), "--ops", "info,decode", "--runs", "1", "--json")
        let alone = try bench(damaged, "--ops", "decode", "--runs", "1")

        #expect(both.status == 1)
        let results = try #require(both.documents.first)["results"].list
        #expect(results.map { $0["error"]["code"].text } == [nil, "truncated", nil, nil])
        #expect(alone.status == 65 && alone.stderr.contains("decode \(damaged): "), "\(alone.stderr)")
        #expect(try bench("nowhere").status == 66)
        #expect(try bench("-").status == 64)
        place.folder("none")
        #expect(try bench("none").status == 66)
    }

    @Test func `runs each operation once and prints nothing with --once`() throws {
        let result = try bench("--once", "--ops", "decode,encode", image("f.png"))

        #expect(result.status == 0 && result.stdout.isEmpty && result.stderr.isEmpty)
        #expect(try bench("--once", "--ops", "decode", Repository.fixture("hostile/truncated-f.png")).status == 65)
    }

    @Test(
        arguments: [
            (["--ops", "decoed"], "did you mean decode?"), (["--against", "vipps"], "did you mean vips?"),
            (["--ops", "zzzzzzzz"], "operations: info, decode, "), (["--runs", "0"], "--runs"),
            (["--against", "zzzzzzzz"], "programs: vips, pillow, magick"), (["--to", "wepb"], "did you mean webp?"),
        ] as [([String], String)])
    func `reports the error`(words: [String], message: String) throws {
        let result = try Tool.run(["bench", image("f.png")] + words, directory: place.path)

        #expect(result.status == 64 && result.stdout.isEmpty)
        #expect(result.stderr.contains(message), "\(result.stderr)")
    }

    @Test func `leaves no files when it is interrupted`() throws {
        place.folder("tmp")
        let script = """
            "$coderhost" bench "$image" --runs 10000 --ops decode,encode > out 2>&1 &
            until ls tmp/coderhost-*/copy-0.* 2> /dev/null; do sleep 0.05; done > /dev/null
            kill -TERM $!
            wait $! || echo "ended with $?"
            ls tmp
            """
        let result = try Tool.shell(
            script, directory: place.path, environment: ["TMPDIR": place.file("tmp"), "image": image("f.png")])

        #expect(result.stdout == "ended with 130\n", "\(result.stdout) \(result.stderr)")
    }
}
