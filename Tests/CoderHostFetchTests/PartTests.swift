import Testing

@testable import CoderHostFetch

@Suite struct `Names of URLs` {
    @Test(arguments: [
        ("https://example.org/a/b.jpg", "b.jpg"), ("https://example.org/a%20b.jpg?w=3#x", "a b.jpg"),
        ("https://example.org/show.php?id=9", "show.php"), ("https://example.org/v1.2-final", "v1_2-final"),
        ("https://example.org/", "picture"), ("https://example.org", "picture"),
        ("https://example.org?x=/a.jpg", "picture"),
        ("https://example.org/..", "picture"), ("https://example.org/%2e%2e%2f%2e%2e%2fetc.png", "_.._etc.png"),
        ("https://example.org/.hidden.png", "hidden.png"), ("https://example.org/-rf.png", "_rf.png"),
        ("https://example.org/%1b%5b2J.gif", "_[2J.gif"), ("https://example.org/a%ff.gif", "a%ff.gif"),
        ("https://example.org/{n}.gif", "_n_.gif"), ("data:image/png;base64,AA/b.png", "picture"),
        ("https://example.org/K%C3%A4se.webp", "Käse.webp"),
    ])
    func `are names of files in this folder`(url: String, name: String) {
        #expect(LocalName.of(url) == name)
    }

    @Test func `are short enough for a file system`() {
        let name = LocalName.of("https://example.org/" + String(repeating: "ä", count: 500) + ".jpg")

        #expect(name.utf8.count <= 200 && name.hasSuffix(".jpg"))
    }
}

@Suite struct `Bars of transfers` {
    private func line(_ received: Int, _ expected: Int?, columns: Int = 80) -> String {
        let row = TransferBars.Row(name: "photo.jpg", received: received, expected: expected, begun: 0)
        return TransferBars.line(row, 2_000_000_000, columns: columns)
    }

    @Test func `show a share where the length is known`() {
        let text = line(500_000, 1_000_000)

        #expect(text.contains("[##########          ]"))
        #expect(text.contains("50 %  500 kB of 1 MB, 250 kB/s"))
    }

    @Test func `move where it is not`() {
        let text = line(500_000, nil)

        #expect(text.contains("###") && !text.contains("%"))
        #expect(text.contains("500 kB, 250 kB/s"))
    }

    @Test(arguments: 1...120)
    func `never fill a line`(columns: Int) {
        #expect(line(1234, 99_999, columns: columns).count < max(columns, 1) || columns == 1)
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1500, "1.5 kB"), (99_960, "100 kB"), (999_499, "999 kB"),
        (999_500, "1 MB"), (2_700_000, "2.7 MB"), (Int.max, "9.2 EB"),
    ])
    func `say bytes as people do`(count: Int, text: String) {
        #expect(ByteText.of(count) == text)
    }
}

@Suite struct `Sizes of caches` {
    @Test(arguments: [
        (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (500 << 20, "500 MiB"), (1 << 30, "1 GiB"),
        ((1 << 20) - 1, "1 MiB"), (Int.max, "8 EiB"),
    ])
    func `are said in units of 1024`(count: Int, text: String) {
        #expect(CachePrune.size(count) == text)
    }
}

@Suite struct `Ages of entries` {
    @Test func `are numbers with a unit`() throws {
        #expect(try CachePrune.age("90s") == .seconds(90))
        #expect(try CachePrune.age("2w") == .seconds(1_209_600))
        #expect(try CachePrune.age("0d") == .zero)
    }

    @Test(arguments: ["", "7", "d", "-1d", "+1d", "1.5d", "1y", "99999999999999999999d"])
    func `are nothing else`(text: String) {
        #expect(throws: (any Error).self) { try CachePrune.age(text) }
    }
}
