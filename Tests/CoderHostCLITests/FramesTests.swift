import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command frames` {
    let place = TemporaryDirectory()
    private let animation = Repository.fixture("apng/three-frames.png")

    /// The animation with a wrong byte in the data of its last frame.
    private func damaged() throws -> String {
        var bytes = try #require(readFile(animation))
        let chunks = bytes.indices.dropLast(3).filter { Array(bytes[$0..<$0 + 4]) == Array("fdAT".utf8) }
        bytes[try #require(chunks.last) + 12] ^= 0x55
        let path = place.file("damaged.png")
        try #require(writeFile(path, bytes))
        return path
    }

    @Test func `lists all frames without decoding`() throws {
        let whole = try Tool.run("frames", "info", animation)
        let other = try Tool.run("frames", "info", try damaged())

        #expect(whole.status == 0 && other.status == 0)
        #expect(whole.lines.count == 5 && whole.lines.dropFirst() == other.lines.dropFirst())
        #expect(whole.lines[0].contains("3 frames"))
    }

    @Test func `decodes all frames on request and finds damage`() throws {
        let whole = try Tool.run("frames", "info", "--decode", animation)
        #expect(whole.status == 0)
        #expect(whole.stdout == (try Tool.run("frames", "info", animation)).stdout)

        let other = try Tool.run("frames", "info", "--decode", try damaged())
        #expect(other.status == 65)
        #expect(other.stdout.isEmpty && other.stderr.hasPrefix("coderhost: "))
    }

    @Test func `keeps errors out of an animation on standard output`() throws {
        let result = try Tool.run("frames", "assemble", "nowhere.png", "-o", "-", "-f", "gif", "--json")

        #expect(result.status == 66)
        #expect(result.stdout.isEmpty)
        #expect(Document(result.stderr)["error"]["code"].text == "notFound", "\(result.stderr)")
    }

    @Test func `reports errors of a timing file in one sentence`() throws {
        place.write(Array("[1,]".utf8), to: "t.json")

        let result = try Tool.run(
            ["frames", "assemble", animation, "-o", "a.gif", "--timing", "t.json"], directory: place.path)

        #expect(result.status == 64)
        #expect(result.stderr.contains("t.json: not a timing file: expected a value (byte 3)"), "\(result.stderr)")
    }

    @Test func `suggests a file instead of a folder`() throws {
        place.folder("out")

        let result = try Tool.run(
            ["frames", "assemble", animation, "-o", "out", "-f", "gif"], directory: place.path)

        #expect(result.status == 73)
        #expect(result.stderr.contains("out is a directory"))
        #expect(result.stderr.contains("try: name a file in it"), "\(result.stderr)")
    }
}
