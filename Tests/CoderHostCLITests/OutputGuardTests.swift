import Foundation
import TestSupport
import Testing

/// What no command may do: write over what it reads, or over what it has just written.
@Suite(.timeLimit(.minutes(40))) struct `Files that a command must not touch` {
    let place = TemporaryDirectory()
    private let gif = Fixture.named("pictures/three-frames.gif").bytes
    private let timing = #"{"loop_count": 0, "frames": [{"file": "f.png", "duration": [1, 25]}]}"#

    /// What stands in the folder, by name.
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
        for name in ["f.png", "p_0.png"] { place.write(Fixture.named("pictures/photo.png").bytes, to: name) }
        place.write(Array(timing.utf8), to: "o.json")
    }

    static let losses: [(words: [String], status: Int32, message: String)] = [
        (["progressive", "p_0.png", "--chunk", "1000", "-o", "p_{n}.png"], 73, "p_0.png is the input itself"),
        (["frames", "extract", "c.gif", "-o", "q{n}.png", "--timing", "c.gif"], 73, "c.gif is the input itself"),
        (["frames", "extract", "c.gif", "-o", "q{n}.png", "--timing", "linked.json"], 73, "is the input itself"),
        (
            ["frames", "extract", "c.gif", "-o", "q{n}.png", "--timing", "q1.png"], 73,
            "q1.png is where --timing writes"
        ),
        (
            ["frames", "extract", "c.gif", "-o", "q{n}.png", "--timing", "a/../q1.png"], 73,
            "q1.png is where --timing writes"
        ),
        (["frames", "extract", "c.gif", "-o", "hard{n}.gif"], 73, "hard0.gif is the input itself"),
        (["frames", "assemble", "f.png", "-o", "o.json", "-f", "gif", "--timing", "o.json"], 73, "o.json is "),
        (["frames", "assemble", "f.png", "-o", "f.png", "-f", "apng"], 73, "f.png is one of the pictures"),
        (["convert", "c.gif", "-o", "hard0.gif"], 73, "hard0.gif is the input itself"),
        (["frames", "extract", "c.gif", "-o", "{{n}}.png"], 64, "did you mean {n}?"),
        (["progressive", "f.png", "-o", "{{n}}.png"], 64, "did you mean {n}?"),
        (["convert", "f.png", "-o", "{{stem}}.png"], 64, "did you mean {stem}?"),
        (["frames", "extract", "c.gif", "-o", "{n:04d}.png"], 64, "write {n:04}"),
        (["frames", "extract", "c.gif", "-o", "{:n}.png"], 64, "the template has no {:n}"),
        (["frames", "extract", "c.gif", "-o", "{n}{stme}.png"], 64, "did you mean {stem}?"),
        (["frames", "extract", "c.gif", "-o", "{n}{.png"], 64, "the template has no {"),
    ]

    @Test(arguments: losses.indices) func `are left alone, with a word and a code`(index: Int) throws {
        try fill()
        let (words, status, message) = Self.losses[index]
        let before = try contents()

        let result = try Tool.run(words, directory: place.path)

        #expect(result.status == status, "\(result.stderr)")
        #expect(result.stderr.contains(message), "\(result.stderr)")
        let after = try contents()
        for (name, bytes) in before { #expect(after[name] == bytes, "\(name) was changed by \(words)") }
        // The picture in front of the one that is refused is no loss.
        #expect(Set(after.keys).subtracting(before.keys).isSubset(of: ["q0.png"]), "\(after.keys)")
    }

    @Test func `among them another input that comes later`() throws {
        try fill()

        let result = try Tool.run(
            ["frames", "extract", "c.gif", "c-0.gif", "-o", "{stem}-{n}.gif"], directory: place.path)

        #expect(result.status == 1)
        #expect(result.stderr.contains("c-0.gif is c-0.gif, another input of this call"), "\(result.stderr)")
        #expect(readFile(place.file("c-0.gif")) == gif)
    }

    @Test func `and what was written for another input`() throws {
        try fill()
        #expect(try Tool.run(["frames", "extract", "a/x.gif", "-o", "x-{n}.png"], directory: place.path).status == 0)
        let before = try contents()

        let result = try Tool.run(
            ["frames", "extract", "a/x.gif", "b/x.gif", "-o", "{stem}-{n}.png", "--json"], directory: place.path)

        #expect(result.status == 1)
        #expect(result.documents.map { $0["error"]["code"].text } == [nil, "cannotCreate"])
        #expect(result.stdout.contains("x-0.png was just written from a/x.gif"), "\(result.stdout)")
        #expect(try contents() == before)
    }

    @Test func `and one frame for another, where the template has links`() throws {
        try fill()
        try Tool.link("one.png", at: place.file("l0.png"))
        try Tool.link("one.png", at: place.file("l1.png"))

        let result = try Tool.run(["frames", "extract", "c.gif", "-o", "l{n}.png"], directory: place.path)

        #expect(result.status == 73)
        #expect(result.stderr.contains("l1.png was just written from c.gif"), "\(result.stderr)")
    }

    @Test func `but what an earlier call has written may be written again`() throws {
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
