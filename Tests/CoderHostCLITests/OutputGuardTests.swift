import Foundation
import TestSupport
import Testing

/// No command may overwrite its inputs or its own outputs.
@Suite(.timeLimit(.minutes(40))) struct `Files that a command must not overwrite` {
    let place = TemporaryDirectory()
    private let gif = Fixture.named("images/three-frames.gif").bytes
    private let timing = #"{"loop_count": 0, "frames": [{"file": "f.png", "duration": [1, 25]}]}"#

    /// The contents of the folder, by name.
    private func contents() throws -> [String: [UInt8]] {
        var result: [String: [UInt8]] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: place.path) {
            if let bytes = readFile(place.file(name)) { result[name] = bytes }
        }
        return result
    }

    private func fill() throws {
        place.folder("a")
        place.folder("b")
        for name in ["c.gif", "c-0.gif", "a/x.gif", "b/x.gif"] { place.write(gif, to: name) }
        try Tool.link("c.gif", at: place.file("linked.json"))
        try FileManager.default.linkItem(atPath: place.file("c.gif"), toPath: place.file("hard0.gif"))
        for name in ["f.png", "p_0.png"] { place.write(Fixture.named("images/photo.png").bytes, to: name) }
        place.write(Array(timing.utf8), to: "o.json")
    }

    static let losses: [(words: [String], status: Int32, message: String)] = [
        (["progressive", "p_0.png", "--chunk", "1000", "-o", "p_{n}.png"], 73, "p_0.png would overwrite the input"),
        (["frames", "extract", "c.gif", "-o", "q{n}.png", "--timing", "c.gif"], 73, "c.gif would overwrite the input"),
        (["frames", "extract", "c.gif", "-o", "q{n}.png", "--timing", "linked.json"], 73, "would overwrite the input"),
        (
            ["frames", "extract", "c.gif", "-o", "q{n}.png", "--timing", "q1.png"], 73,
            "q1.png is reserved for the output of --timing"
        ),
        (
            ["frames", "extract", "c.gif", "-o", "q{n}.png", "--timing", "a/../q1.png"], 73,
            "q1.png is reserved for the output of --timing"
        ),
        (["frames", "extract", "c.gif", "-o", "hard{n}.gif"], 73, "hard0.gif would overwrite the input"),
        (["frames", "assemble", "f.png", "-o", "o.json", "-f", "gif", "--timing", "o.json"], 73, "o.json is "),
        (["frames", "assemble", "f.png", "-o", "f.png", "-f", "apng"], 73, "f.png is one of the input images"),
        (["convert", "c.gif", "-o", "hard0.gif"], 73, "hard0.gif would overwrite the input"),
        (["frames", "extract", "c.gif", "-o", "{{n}}.png"], 64, "did you mean {n}?"),
        (["progressive", "f.png", "-o", "{{n}}.png"], 64, "did you mean {n}?"),
        (["convert", "f.png", "-o", "{{stem}}.png"], 64, "did you mean {stem}?"),
        (["frames", "extract", "c.gif", "-o", "{n:04d}.png"], 64, "write {n:04}"),
        (["frames", "extract", "c.gif", "-o", "{:n}.png"], 64, "unknown placeholder {:n}"),
        (["frames", "extract", "c.gif", "-o", "{n}{stme}.png"], 64, "did you mean {stem}?"),
        (["frames", "extract", "c.gif", "-o", "{n}{.png"], 64, "unknown placeholder {"),
    ]

    @Test(arguments: losses.indices) func `stay unchanged, with an error and an exit code`(index: Int) throws {
        try fill()
        let (words, status, message) = Self.losses[index]
        let before = try contents()

        let result = try Tool.run(words, directory: place.path)

        #expect(result.status == status, "\(result.stderr)")
        #expect(result.stderr.contains(message), "\(result.stderr)")
        let after = try contents()
        for (name, bytes) in before { #expect(after[name] == bytes, "\(name) was changed by \(words)") }
        // The image before the refused one may be written.
        #expect(Set(after.keys).subtracting(before.keys).isSubset(of: ["q0.png"]), "\(after.keys)")
    }

    @Test func `include later inputs`() throws {
        try fill()

        let result = try Tool.run(
            ["frames", "extract", "c.gif", "c-0.gif", "-o", "{stem}-{n}.gif"], directory: place.path)

        #expect(result.status == 1)
        #expect(result.stderr.contains("c-0.gif is another input, c-0.gif"), "\(result.stderr)")
        #expect(readFile(place.file("c-0.gif")) == gif)
    }

    @Test func `include outputs of other inputs`() throws {
        try fill()
        #expect(try Tool.run(["frames", "extract", "a/x.gif", "-o", "x-{n}.png"], directory: place.path).status == 0)
        let before = try contents()

        let result = try Tool.run(
            ["frames", "extract", "a/x.gif", "b/x.gif", "-o", "{stem}-{n}.png", "--json"], directory: place.path)

        #expect(result.status == 1)
        #expect(result.documents.map { $0["error"]["code"].text } == [nil, "cannotCreate"])
        #expect(result.stdout.contains("x-0.png was already written from a/x.gif"), "\(result.stdout)")
        #expect(try contents() == before)
    }

    @Test(arguments: [
        (["a/x.gif", "b/x.gif", "-o", "cc/", "-f", "webp"], "-o 'cc/{stem}-{n}.webp'"),
        (["a/x.gif", "b/x.gif", "-o", "cc/{stem}.jpg"], "-o 'cc/{stem}-{n}.jpg'"),
        (["a/x.gif", "b/x.gif", "-o", "{stem}.png"], "-o '{stem}-{n}.png'"),
        (["a/x.gif", "b/x.gif", "-o", "cc/", "-f", "webp,png"], "-o 'cc/{stem}-{n}.{ext}'"),
        (["a/x.gif", "b/x.gif", "-o", "cc/", "--sizes", "2", "-f", "png"], "-o 'cc/{stem}-{n}-{w}.png'"),
    ])
    func `name a template for the same folder and format`(words: [String], hint: String) throws {
        try fill()
        place.folder("cc")
        let result = try Tool.run(["convert"] + words, directory: place.path)
        #expect(
            result.status == 1 && result.stderr.contains("\n  try: use a template with unique names: \(hint)\n"),
            "\(result.stderr)")

        // The remedy is accepted.
        let template = String(hint.dropFirst(4).dropLast())
        let rest = Array(words.prefix(2)) + ["-o", template] + words.dropFirst(4)
        let fixed = try Tool.run(["convert"] + rest, directory: place.path)
        #expect(fixed.status == 0, "\(fixed.stderr)")
    }

    @Test func `name a template that recreates folders`() throws {
        try fill()
        place.write(Fixture.named("images/photo.png").bytes, to: "a/x.png")
        let result = try Tool.run("convert", "-r", "a", "-o", "cc", "-f", "webp", directory: place.path)
        #expect(result.status == 1 && result.stderr.contains("-o 'cc/{tree}{stem}-{n}.webp'\n"), "\(result.stderr)")
    }

    @Test func `include outputs of other frames through links`() throws {
        try fill()
        try Tool.link("one.png", at: place.file("l0.png"))
        try Tool.link("one.png", at: place.file("l1.png"))

        let result = try Tool.run(["frames", "extract", "c.gif", "-o", "l{n}.png"], directory: place.path)

        #expect(result.status == 73)
        #expect(result.stderr.contains("l1.png was already written from c.gif"), "\(result.stderr)")
    }

    @Test func `do not include outputs of earlier calls`() throws {
        try fill()
        for words in [
            ["frames", "extract", "c.gif", "-o", "q{n:02}.png", "--timing", "t.json"],
            ["frames", "assemble", "q00.png", "q01.png", "q02.png", "-o", "new.gif", "--timing", "t.json"],
            ["progressive", "f.png", "--chunk", "1000", "-o", "r_{n}.png"],
        ] {
            for _ in 0..<2 {
                let result = try Tool.run(words, directory: place.path)
                #expect(result.status == 0 && result.stderr.isEmpty, "\(words): \(result.stderr)")
            }
        }
    }
}
