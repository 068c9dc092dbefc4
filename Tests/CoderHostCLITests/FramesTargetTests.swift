import Foundation
import TestSupport
import Testing

/// The checks before `frames extract` writes the first image.
@Suite(.timeLimit(.minutes(40))) struct `Outputs of frames extract` {
    let place = TemporaryDirectory()

    init() { place.write(Fixture.named("images/three-frames.gif").bytes, to: "a.gif") }

    private func extract(_ words: String...) throws -> CommandResult {
        try Tool.run(["frames", "extract", "a.gif"] + words, directory: place.path)
    }

    private var names: Set<String> { Set((try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []) }

    @Test(arguments: [
        ("none/t.json", "none/t.json cannot be created"), ("folder", "folder is a directory"),
    ])
    func `are not written if the timing file cannot be written`(timing: String, message: String) throws {
        place.folder("folder")

        let result = try extract("-o", "p{n}.png", "--timing", timing)

        #expect(result.status == 73)
        #expect(result.stderr.contains(message) && result.stderr.contains("  try: "), "\(result.stderr)")
        #expect(names == ["a.gif", "folder"])
    }

    @Test func `come with a warning about the pages that are left out`() throws {
        place.write(Fixture.named("tiff/three-pages.tif").bytes, to: "b.tif")

        let one = try Tool.run(["frames", "extract", "b.tif", "-o", "b{n}.png"], directory: place.path)
        let all = try Tool.run(["frames", "extract", "b.tif", "--items", "-o", "c{n}.png"], directory: place.path)

        #expect(one.status == 0 && one.stderr.contains("the file holds 3 images, but only one is extracted"))
        #expect(all.status == 0 && !all.stderr.contains("only one"), "\(all.stderr)")
        #expect(names.count { $0.hasPrefix("b") } == 2 && names.count { $0.hasPrefix("c") } == 3, "\(names)")
    }

    @Test func `are not written if a later one exists`() throws {
        place.write([1], to: "p2.png")

        let result = try extract("-o", "p{n}.png", "--no-overwrite")

        #expect(result.status == 73)
        #expect(result.stderr.contains("p2.png exists"), "\(result.stderr)")
        #expect(names == ["a.gif", "p2.png"])
        #expect(readFile(place.file("p2.png")) == [1])
    }

    @Test func `are not written if a later one is the input, a folder, or without folder`() throws {
        place.write(Fixture.named("images/three-frames.gif").bytes, to: "p1.gif")
        place.folder("q2.png")
        place.folder("d0")

        let input = try Tool.run("frames", "extract", "p1.gif", "-o", "p{n}.gif", directory: place.path)
        let folder = try extract("-o", "q{n}.png")
        let missing = try extract("-o", "d{n}/p.png", "--no-mkdir")

        #expect(input.status == 73 && input.stderr.contains("p1.gif would overwrite the input"), "\(input.stderr)")
        #expect(folder.status == 73 && folder.stderr.contains("q2.png is a directory"), "\(folder.stderr)")
        #expect(missing.status == 73 && missing.stderr.contains("d1/p.png cannot be created"), "\(missing.stderr)")
        #expect(names == ["a.gif", "p1.gif", "q2.png", "d0"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.file("d0")).isEmpty)
    }

    @Test func `are PNG without file extension, and timing can go to standard output`() throws {
        let result = try extract("-o", "p{n}", "--timing", "-")

        #expect(result.status == 0)
        #expect(Document(result.stdout)["frames"].list.count == 3)
        #expect(try Tool.run("info", "-f", "format", "p1", directory: place.path).lines == ["png"])
    }
}

/// Durations and loop count of `frames assemble`.
@Suite(.timeLimit(.minutes(40))) struct `Durations and loop count of frames assemble` {
    let place = TemporaryDirectory()

    init() {
        place.write(Fixture.named("images/f.png").bytes, to: "f.png")
        place.write(Fixture.named("images/rgba.png").bytes, to: "g.png")
        place.write(Fixture.named("images/three-frames.gif").bytes, to: "a.gif")
    }

    private func assemble(_ words: String...) throws -> CommandResult {
        try Tool.run(["frames", "assemble"] + words + ["-o", "a.apng"], directory: place.path)
    }

    private func film() throws -> Film { try Film(place.file("a.apng")) }

    private func timing(_ text: String) { place.write(Array(text.utf8), to: "t.json") }

    @Test(arguments: ["", "\"loop_count\": null, "])
    func `loop forever if the timing file has no loop count`(loops: String) throws {
        timing("{\(loops)\"frames\": [{\"duration\": [1, 5]}, {\"duration\": [1, 5]}]}")

        let result = try assemble("f.png", "g.png", "--timing", "t.json")

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(try film().plays == 0)
    }

    @Test func `come from a single animated input`() throws {
        #expect(try assemble("a.gif").status == 0)
        #expect(try film().plays == 3)
        #expect(try assemble("a.gif", "--loop", "5").status == 0)
        #expect(try film().plays == 5)
        #expect(try assemble("a.gif", "a.gif").status == 0)
        #expect(try film().plays == 0)
    }

    @Test(
        arguments: [([], 100.0), (["--delay", "40"], 40.0), (["--fps", "20"], 50.0)], ["", ", \"duration\": null"])
    func `have defaults for missing durations`(given: ([String], Double), rest: String) throws {
        timing("{\"frames\": [{\"file\": \"f.png\"\(rest)}, {\"file\": \"g.png\", \"duration\": [1, 5]}]}")

        let result = try Tool.run(
            ["frames", "assemble", "--timing", "t.json", "-o", "a.apng"] + given.0, directory: place.path)

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(try film().milliseconds == [given.1, 200])
    }

    static let mistakes = [
        (
            "{\"file\": \"f.png\", \"duration_ms\": 40}", "unknown key \"duration_ms\" in frame 0",
            "did you mean \"duration\"?"
        ),
        (
            "{\"file\": \"f.png\", \"duraton\": [1, 2]}", "unknown key \"duraton\" in frame 0",
            "did you mean \"duration\"?"
        ),
        (
            "{\"name\": \"f.png\", \"duration\": [1, 2]}", "unknown key \"name\" in frame 0",
            "keys of a frame: \"file\", \"duration\""
        ),
        ("{\"file\": 5, \"duration\": [1, 2]}", "invalid file of frame 0: 5", "the form is"),
        ("{\"file\": \"f.png\", \"duration\": [1, 0]}", "invalid duration of frame 0: [1, 0]", "the form is"),
        ("{\"file\": \"f.png\", \"duration\": [0, 0]}", "invalid duration of frame 0: [0, 0]", "the form is"),
        ("\"f.png\"", "invalid frame 0: \"f.png\"", "the form is"),
    ]

    @Test(arguments: mistakes)
    func `reject misspelled keys of frames in the timing file`(frame: String, message: String, hint: String) throws {
        timing("{\"frames\": [\(frame)]}")

        let result = try assemble("f.png", "--timing", "t.json")

        #expect(result.status == 64)
        #expect(result.stderr.contains("coderhost: t.json: \(message)"), "\(result.stderr)")
        #expect(result.stderr.contains("try: \(hint)"), "\(result.stderr)")
    }

    @Test func `reject misspelled top-level keys in the timing file`() throws {
        timing("{\"loop_cout\": 3, \"frames\": [{\"duration\": [1, 2]}]}")

        let result = try assemble("f.png", "--timing", "t.json")

        #expect(result.status == 64)
        #expect(
            result.stderr.contains("unknown key \"loop_cout\"")
                && result.stderr.contains("did you mean \"loop_count\"?"))
    }

    @Test(arguments: ["--fps", "--delay"]) func `cannot be given twice`(name: String) throws {
        timing("{\"frames\": [{\"duration\": [1, 2]}]}")

        let result = try assemble("f.png", "--timing", "t.json", name, "25")

        #expect(result.status == 64)
        #expect(
            result.stderr.contains("t.json: the timing file has all durations, so \(name) has no effect"),
            "\(result.stderr)")
    }

    @Test func `can be set for a former still`() throws {
        let apart = try Tool.run(
            "frames", "extract", "f.png", "-o", "s{n}.png", "--timing", "t.json", directory: place.path)
        #expect(apart.status == 0)

        let result = try Tool.run("frames", "assemble", "--timing", "t.json", "-o", "s.gif", directory: place.path)

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(try Film(place.file("s.gif")).milliseconds == [100])
    }

    static let delays: [(String, [Int])] = [
        ("33.3", [333, 10000]), ("0.5", [1, 2000]), ("16.25", [13, 800]), ("40.0", [1, 25]),
        ("1001/30000", [1001, 30000]),
    ]

    @Test(arguments: delays) func `can be exact decimals`(text: String, duration: [Int]) throws {
        #expect(try assemble("f.png", "g.png", "--delay", text).status == 0)

        let document = try Tool.run("frames", "info", "--json", "a.apng", directory: place.path).documents[0]
        let stored = document["frames"][0]["duration"].list.compactMap(\.integer)
        #expect(stored.count == 2 && stored[0] * duration[1] == duration[0] * stored[1], "\(stored)")
    }

    @Test(arguments: [
        ("4294967296", "the maximum is 4294967295 ms"), ("1/4294967296", "too large"),
        ("99999999999999999999", "the maximum is"),
        ("-5", "expected milliseconds"), ("5.", "expected milliseconds"), (".", "expected milliseconds"),
        ("1e3", "expected milliseconds"),
        ("0.00000000001", "too many digits"),
    ])
    func `are refused with a reason`(text: String, reason: String) throws {
        let result = try Tool.run(
            ["frames", "assemble", "f.png", "-o", "a.apng", "--delay=\(text)"], directory: place.path)

        #expect(result.status == 64)
        #expect(
            result.stderr.contains("invalid --delay value \"\(text)\""), "\(result.stderr)")
        #expect(result.stderr.contains(reason), "\(result.stderr)")
    }

    @Test func `come from a file, not from a folder`() throws {
        place.folder("folder")

        let result = try assemble("f.png", "--timing", "folder")

        #expect(result.status == 74)
        #expect(result.stderr.contains("coderhost: folder: this is a directory"), "\(result.stderr)")
        #expect(result.stderr.contains("try: pass the timing file in it"), "\(result.stderr)")
    }

    @Test func `can come from standard input`() throws {
        let text =
            "{\"frames\": [{\"file\": \"f.png\", \"duration\": [1, 2]}, {\"file\": \"g.png\", \"duration\": [1, 4]}]}"

        let result = try Tool.run(
            ["frames", "assemble", "--timing", "-", "-o", "a.apng"], input: Array(text.utf8), directory: place.path)

        #expect(result.status == 0, "\(result.stderr)")
        #expect(try film().milliseconds == [500, 250])
    }
}
