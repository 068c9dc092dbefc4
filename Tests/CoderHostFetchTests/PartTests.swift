import ImageLoading
import HostSystem
import Testing

@testable import CoderHostFetch

@Suite struct `File names from URLs` {
    @Test(arguments: [
        ("https://example.org/a/b.jpg", "b.jpg"), ("https://example.org/a%20b.jpg?w=3#x", "a b.jpg"),
        ("https://example.org/show.php?id=9", "show.php"), ("https://example.org/v1.2-final", "v1_2-final"),
        ("https://example.org/", "image"), ("https://example.org", "image"),
        ("https://example.org?x=/a.jpg", "image"),
        ("https://example.org/..", "image"), ("https://example.org/%2e%2e%2f%2e%2e%2fetc.png", "_.._etc.png"),
        ("https://example.org/.hidden.png", "hidden.png"), ("https://example.org/-rf.png", "_rf.png"),
        ("https://example.org/%1b%5b2J.gif", "_[2J.gif"), ("https://example.org/a%ff.gif", "a%ff.gif"),
        ("https://example.org/{n}.gif", "_n_.gif"), ("data:image/png;base64,AA/b.png", "image"),
        ("https://example.org/K%C3%A4se.webp", "Käse.webp"), ("https://example.org/%+f%-0.gif", "%+f%-0.gif"),
        ("https://example.org/%2e%cc%81a.png", "\u{301}a.png"), ("https://example.org/-%cc%81a.png", "_\u{301}a.png"),
    ])
    func `are valid names in the current folder`(url: String, name: String) {
        #expect(LocalName.of(url) == name)
    }

    @Test func `are short enough for the file system`() {
        let name = LocalName.of("https://example.org/" + String(repeating: "ä", count: 500) + ".jpg")

        #expect(name.utf8.count <= 200 && name.hasSuffix(".jpg"))
    }

    @Test(arguments: [".png", ".exe", ""])
    func `hide no file, even with long characters`(suffix: String) {
        let name = LocalName.of("https://example.org/a" + String(repeating: "%cc%81", count: 300) + suffix)

        #expect(name.utf8.first == UInt8(ascii: "a") && name.utf8.count <= 200)
        #expect(name.hasSuffix(suffix))
    }
}

@Suite struct `URLs in JSON output` {
    private let long = String(repeating: "x", count: 300)

    @Test func `are complete except for the password`() {
        #expect(wholeURL("https://example.org/\(long)?a=b@c") == "https://example.org/\(long)?a=b@c")
        #expect(wholeURL("https://joe:secret@example.org/\(long)") == "https://example.org/\(long)")
        #expect(wholeURL("data:image/png;base64,\(long)") == "data:image/png;base64,\(long)")
        #expect(wholeURL("https://example.org/a.png") == "https://example.org/a.png")
    }

    @Test func `contain no password and have a maximum length`() {
        for url in ["https://joe:secret@example.org/\(long)", "https://@@@joe@example.org/\(long)"] {
            #expect(wholeURL(url) == "https://example.org/\(long)")
        }
        let odd = "https://joe:s?cret@example.org/\(long)"
        #expect(wholeURL(odd).contains("s?cret") == redacted(odd).contains("s?cret"))
        #expect(wholeURL("data:," + String(repeating: "x", count: 1 << 20)).utf8.count < 66_000)
    }
}

@Suite struct `A queue of tickets` {
    private let tickets = TicketQueue()
    private let order = Numbers()

    @Test func `admits callers in ticket order, even if some never wait`() async {
        await withTaskGroup(of: Void.self) { group in
            for number in (0..<12).reversed() { group.addTask { await take(number) } }
        }
        #expect(order.value == [0, 1, 2, 4, 5, 6, 8, 9, 10])
    }

    private func take(_ number: Int) async {
        if number % 4 != 3 {
            await tickets.wait(for: number)
            order.append(number)
        }
        tickets.leave(number)
    }

    /// A list that several threads append to.
    private final class Numbers: Sendable {
        private let list = Mutex<[Int]>([])
        var value: [Int] { list.withLock { $0 } }
        func append(_ number: Int) { list.withLock { $0.append(number) } }
    }
}

@Suite struct `Download bars` {
    private func line(_ received: Int, _ expected: Int?, columns: Int = 80) -> String {
        let row = DownloadBars.Row(name: "photo.jpg", received: received, expected: expected, begun: 0)
        return DownloadBars.line(row, 2_000_000_000, columns: columns)
    }

    @Test func `show a percentage if the length is known`() {
        let text = line(500 << 10, 1000 << 10)

        #expect(text.contains("[##########          ]"))
        #expect(text.contains("50 %  500 KiB of 1000 KiB, 250 KiB/s"))
    }

    @Test func `show a moving marker if the length is unknown`() {
        let text = line(500 << 10, nil)

        #expect(text.contains("###") && !text.contains("%"))
        #expect(text.contains("500 KiB, 250 KiB/s"))
    }

    @Test func `begin in the same column for all values`() {
        let lines = [line(5, 1_000_000), line(99_900, 99_900), line(999, nil), line(1023 << 10, 1023 << 10)]

        #expect(Set(lines.map { $0.prefix { $0 != "[" }.count }).count == 1)
        #expect(lines.allSatisfy { $0.count < 80 })
    }

    @Test func `with equal names have numbers`() {
        let rows = [("a.png", 0), ("b.png", 1), ("a.png", 2)]

        #expect(DownloadBars(rows.map(\.0)).names == ["a.png (0)", "b.png", "a.png (2)"])
    }

    @Test(arguments: 1...120)
    func `are narrower than the terminal`(columns: Int) {
        #expect(line(1234, 99_999, columns: columns).count < max(columns, 1) || columns == 1)
    }

}

@Suite struct `Sizes` {
    @Test(arguments: [
        (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.5 KiB"), (500 << 20, "500 MiB"), (1 << 30, "1 GiB"),
        ((1 << 20) - 1, "1 MiB"), (2_831_155, "2.7 MiB"), (Int.max, "8 EiB"),
    ])
    func `have units of 1024`(count: Int, text: String) {
        #expect(ByteText.of(count) == text)
    }
}

@Suite struct `Ages of entries` {
    @Test func `are numbers with a unit`() throws {
        #expect(try CachePrune.age("90s") == .seconds(90))
        #expect(try CachePrune.age("2w") == .seconds(1_209_600))
        #expect(try CachePrune.age("0d") == .zero)
    }

    @Test(arguments: ["", "7", "d", "-1d", "+1d", "1.5d", "1y", "99999999999999999999d"])
    func `have no other form`(text: String) {
        #expect(throws: (any Error).self) { try CachePrune.age(text) }
    }
}
