import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command compare with folders` {
    let place = TemporaryDirectory()

    private func compare(_ words: String...) throws -> CommandResult {
        try Tool.run(["compare", "-r"] + words, directory: place.path)
    }

    private func write(_ first: UInt8, to name: String) {
        place.write(Array("P6\n2 1\n255\n".utf8) + [first, 1, 2, 3, 4, 5], to: name)
    }

    /// Two folders with an identical pair, a different pair, a text, and an image in each that the other lacks.
    private func writeFolders() throws {
        for folder in ["a", "b", "a/sub", "b/sub"] { place.folder(folder) }
        for folder in ["a", "b"] {
            write(9, to: "\(folder)/same.ppm")
            place.write(Array("no image".utf8), to: "\(folder)/notes.txt")
        }
        write(10, to: "a/sub/different.ppm")
        write(20, to: "b/sub/different.ppm")
        write(1, to: "a/only-a.ppm")
        write(1, to: "b/only-b.ppm")
    }

    @Test func `pairs images by their paths, and names those without a counterpart`() throws {
        try writeFolders()
        let result = try compare("a", "b/", "--metric", "max")

        #expect(result.status == 1)
        #expect(result.lines == ["same.ppm: identical", "sub/different.ppm: different: max 10"])
        #expect(
            result.stderr.split(separator: "\n") == [
                "coderhost: a/only-a.ppm has no counterpart in b/", "coderhost: b/only-b.ppm has no counterpart in a",
                "coderhost: 1 identical, 1 different, 2 without a counterpart, "
                    + "1 file skipped because no coder recognizes it",
            ])
    }

    @Test func `compares only the files that match a pattern, within bounds`() throws {
        try writeFolders()
        let within = try compare("a", "b", "--glob", "{same,different}.ppm", "--within", "max=10", "--metric", "max")
        #expect(within.status == 0, "\(within.stderr)")
        #expect(within.lines == ["same.ppm: identical", "sub/different.ppm: different, within bounds: max 10"])
        #expect(within.stderr == "coderhost: 1 identical, 1 within bounds, 0 out of bounds\n")

        let outside = try compare("a", "b", "--glob", "sub/*", "--within", "max=9", "--json")
        #expect(outside.status == 1)
        #expect(outside.documents.map { $0["within"].bool } == [false])
    }

    @Test func `pairs an image with the only file that differs just in its extension`() throws {
        for folder in ["a", "b"] { place.folder(folder) }
        for name in ["one", "two"] { write(7, to: "a/\(name).ppm") }
        for output in ["b/one.png", "b/two.png", "b/two.pam"] {
            let input = "a/\(output.dropFirst(2).prefix { $0 != "." }).ppm"
            #expect(try Tool.run(["convert", input, "-o", output], directory: place.path).status == 0)
        }
        let result = try compare("a", "b")

        #expect(result.status == 1)
        #expect(result.lines == ["one.ppm: identical"])
        #expect(result.stderr.contains("a/two.ppm has no counterpart in b"))
    }

    @Test func `goes on after a damaged image`() throws {
        try writeFolders()
        place.write(Array("P6\n2 1\n255\n".utf8) + [1], to: "a/same.ppm")
        let result = try compare("a", "b", "--glob", "{same,different}.ppm")

        #expect(result.status == 1)
        #expect(result.stderr.contains("a/same.ppm"))
        #expect(result.stderr.contains("0 identical, 1 different, 1 failed"))
    }

    @Test(arguments: [["a"], ["a", "b", "c"], ["a", "a/same.ppm"], ["a", "b", "--diff", "d.png"]])
    func `refuses what are not two folders`(words: [String]) throws {
        try writeFolders()
        let result = try Tool.run(["compare", "-r"] + words, directory: place.path)

        #expect(result.status == (words.last == "a/same.ppm" ? 66 : 64))
        #expect(result.stderr.contains("try: "))
    }
}
