import ImageModel
import Testing

@testable import CoderHostCLI

@Suite(.timeLimit(.minutes(40))) struct `Input of a terminal` {
    static let inputs: [(text: String, events: [InputEvent])] = [
        ("a ", [.key(.character(0x61)), .key(.character(0x20))]),
        ("\u{1B}[C\u{1B}[D\u{1B}OC\u{1B}OD", [.key(.right), .key(.left), .key(.right), .key(.left)]),
        (
            "\u{1B}[H\u{1B}[F\u{1B}[1~\u{1B}[4~\u{1B}[1;5C",
            [
                .key(.home), .key(.end), .key(.home), .key(.end), .key(.right),
            ]
        ),
        ("\u{1B}[?62;4;22c", [.answer(.attributes([62, 4, 22]))]),
        ("\u{1B}P>|XTerm(370)\u{1B}\\", [.answer(.version("XTerm(370)"))]),
        ("\u{1B}_Gi=31;OK\u{1B}\\", [.answer(.graphics(isOK: true))]),
        ("\u{1B}_Gi=31;EINVAL:no\u{1B}\\", [.answer(.graphics(isOK: false))]),
        ("\u{1B}[6;20;9t", [.answer(.cellSize(PixelSize(9, 20)))]),
        ("\u{1B}[?1;0;1024S", [.answer(.colorRegisters(1024))]),
        ("\u{1B}[?1;3;0S", []),
        ("q\u{1B}[?1;2cn", [.key(.character(0x71)), .answer(.attributes([1, 2])), .key(.character(0x6E))]),
        ("\u{1B}]11;rgb:00/00/00\u{7}x", [.key(.character(0x78))]),
        ("é", [.key(.other), .key(.other)]),
    ]

    @Test(arguments: inputs.indices)
    func `is split into keys and answers`(index: Int) {
        var parser = InputParser()

        #expect(parser.feed(Array(Self.inputs[index].text.utf8)) == Self.inputs[index].events)
        #expect(!parser.isWaiting)
    }

    @Test(arguments: inputs.indices)
    func `can arrive byte by byte`(index: Int) {
        var parser = InputParser()

        let events = Self.inputs[index].text.utf8.flatMap { parser.feed([$0]) }

        #expect(events == Self.inputs[index].events)
    }

    @Test func `ends in the Escape key only if nothing follows`() {
        var parser = InputParser()

        #expect(parser.feed([0x1B]).isEmpty)
        #expect(parser.isWaiting)
        #expect(parser.flush() == [.key(.escape)])
        #expect(parser.feed(Array("[A".utf8)) == [.key(.character(0x5B)), .key(.character(0x41))])
    }

    @Test func `is dropped if a sequence never ends`() {
        var parser = InputParser()

        _ = parser.feed([0x1B, 0x50] + [UInt8](repeating: 0x61, count: 10_000))
        _ = parser.feed([0x1B, 0x5B] + [UInt8](repeating: 0x3B, count: 10_000))
        _ = parser.flush()

        #expect(parser.feed([0x71]) == [.key(.character(0x71))])
    }

    @Test func `never crashes the reader`() {
        var random = SystemRandomNumberGenerator()
        let letters = Array("\u{1B}[]_P?;0123456cStG\\OH\u{7}~>|".utf8)
        for _ in 0..<2000 {
            var parser = InputParser()
            for _ in 0..<8 {
                _ = parser.feed((0..<Int.random(in: 0..<12, using: &random)).map { _ in letters.randomElement()! })
            }
            _ = parser.flush()
            #expect(!parser.isWaiting)
        }
    }

    @Test func `reads color and character support from the environment`() {
        func facts(_ variables: [String: String]) -> TerminalFacts { TerminalFacts { variables[$0] } }

        #expect(facts(["LANG": "de_DE.UTF-8@euro"]).isUTF8)
        #expect(facts(["LC_ALL": "C.utf8", "LANG": "C"]).isUTF8)
        #expect(!facts(["LC_ALL": "C", "LANG": "C.UTF-8"]).isUTF8)
        #expect(!facts([:]).isUTF8)
        #expect(facts(["COLORTERM": "truecolor"]).hasTrueColor)
        #expect(facts(["TERM": "xterm-direct"]).hasTrueColor)
        #expect(!facts(["TERM": "xterm-256color"]).hasTrueColor)
    }

    @Test func `falls back without encoder for inline images`() {
        var facts = TerminalFacts { ["TERM_PROGRAM": "iTerm.app", "LANG": "C.UTF-8"][$0] }
        #expect(facts.best(asks: true, encodesPNG: true) == .iterm2)
        #expect(facts.best(asks: true, encodesPNG: false) == .blocks)
        facts.take(.attributes([62, 4]))
        #expect(facts.best(asks: true, encodesPNG: false) == .sixel)
        facts.take(.attributes([4, 6]))
        #expect(facts.best(asks: true, encodesPNG: false) == .blocks, "the first number is the terminal's class")
    }
}
