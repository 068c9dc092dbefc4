import CommandLineKit
import Testing

@Suite(.timeLimit(.minutes(40))) struct `A glob pattern` {
    @Test(arguments: [
        ("*.jpg", "a.jpg", true), ("*.jpg", "b/c/a.jpg", true), ("*.jpg", "a.jpeg", false), ("*.jpg", "A.JPG", true),
        ("*.JPG", "a.jpg", false), ("*.{jpg,png}", "x/a.png", true), ("*.{jpg,png}", "a.gif", false),
        ("img_[0-9]?.png", "img_12.png", true), ("img_[!0-9].png", "img_1.png", false), ("raw/*", "raw/a.png", true),
        ("raw/*", "raw/b/a.png", false), ("raw/**", "raw/b/a.png", true), ("**/a.png", "a.png", true),
        ("**/a.png", "x/y/a.png", true), ("x/**/a.png", "x/a.png", true), ("\\*.png", "*.png", true),
        ("\\*.png", "a.png", false), ("*", "", true), ("?", "ä", true), ("?", "äb", false), ("*ä*", "xäy", true),
    ])
    func `matches names and paths`(pattern: String, path: String, isMatch: Bool) throws {
        #expect(try GlobPattern(pattern).matches(path) == isMatch)
    }

    @Test(arguments: ["", "[a", "{a,b", "{a,{b}}", "a\\", String(repeating: "{a,b}", count: 20)])
    func `is refused if it is malformed`(pattern: String) {
        #expect(throws: UsageError.self) { try GlobPattern(pattern) }
    }

    @Test func `costs no more than its length for each byte`() throws {
        let pattern = try GlobPattern(String(repeating: "*a", count: 200) + "b")

        #expect(!pattern.matches(String(repeating: "a", count: 5000)))
    }

    @Test func `lists are separated by NUL if they contain one, else by line ends`() {
        #expect(ParsedArguments.names(in: Array("a b\n-\r\n\nc".utf8)) == ["a b", "./-", "c"])
        #expect(ParsedArguments.names(in: Array("a\nb\0c\0".utf8)) == ["a\nb", "c"])
    }
}
