import CommandLineKit
import HostSystem
import ImageModel
import Testing

@Suite struct `Text of the command` {
    @Test func `is aligned in tables, without spaces at the end of a line`() {
        var table = TextTable("NAME", "SIZE", "NOTE")
        table.add("a", "1024", "")
        table.add("longer", "8", "last")
        #expect(table.lines == ["NAME    SIZE  NOTE", "a       1024", "longer  8     last"])
    }

    @Test(
        arguments: [
            ("plain é", "plain é"), ("a\nb\tc", "a\\nb\\tc"), ("\u{1B}[31m", "\\u{1b}[31m"),
            ("txt\u{202E}gpj", "txt\\u{202e}gpj"),
        ])
    func `escapes what a terminal would obey`(text: String, shown: String) {
        #expect(printable(text) == shown)
    }

    @Test func `of an error has file, coder, attempts and remedy`() {
        var error = CoderError(.corrupt, "bad header", hint: "download it again", coder: "org.example.x")
        error.attempts = ["org.example.y: not mine"]
        #expect(
            error.lines(file: "a\n.png") == [
                "coderhost: a\\n.png: bad header [org.example.x]", "  tried: org.example.y: not mine",
                "  try: download it again",
            ])
        #expect(
            CoderError(.corrupt, "bad header").lines(file: "a.png") == [
                "coderhost: a.png: bad header", "  try: the file is damaged: copy or download it again",
            ])
        #expect(CoderError(.truncated, "short").json["hint"]?.string?.hasPrefix("the file is incomplete") == true)
        #expect(CoderError(.cancelled, "stopped").lines(file: "a.png").count == 1)
        #expect(CoderError(.truncated, "").hintingAtIncomplete.hint == "--incomplete writes the available part")
        #expect(CoderError(.corrupt, "").hintingAtIncomplete.hint == nil)
    }
}
