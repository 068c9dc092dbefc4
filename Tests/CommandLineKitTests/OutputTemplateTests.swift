import CommandLineKit
import Testing

private func fill(_ template: String, _ values: [String: String], digits: Int = 0) throws -> String {
    try OutputTemplate(template).filled(values, digits: digits)
}

@Suite struct `An output template` {
    @Test func `fills placeholders with values`() throws {
        #expect(try fill("{stem}-{w}x{h}.{ext}", ["stem": "cat", "w": "8", "h": "6", "ext": "png"]) == "cat-8x6.png")
    }

    @Test func `pads numbers to the stated width, or to the width of all`() throws {
        #expect(try fill("{n:04}", ["n": "7"], digits: 2) == "0007")
        #expect(try fill("{n}", ["n": "7"], digits: 3) == "007")
        #expect(try fill("{w}", ["w": "7"], digits: 3) == "7")
        #expect(try fill("{n:99}", ["n": "7"]).count == 16)
    }

    @Test func `never doubles the slash of a folder`() throws {
        #expect(try fill("{dir}/{stem}", ["dir": "a/", "stem": "b"]) == "a/b")
        #expect(try fill("{dir}/{stem}", ["dir": "", "stem": "b"]) == "b")
    }

    @Test(
        arguments: [
            ("{stm}", "did you mean {stem}?"), ("{{n}}", "did you mean {n}?"), ("{n:x}", "write {n:04}"),
            ("{zzzzzzzz}", "placeholders: {stem} {dir} {ext} {n} {w} {h} {item} {tree}"), ("{n", "did you mean {n}?"),
        ])
    func `refuses unknown placeholders with a hint`(text: String, hint: String) {
        let error = #expect(throws: UsageError.self) { try OutputTemplate(text) }
        #expect(error?.hint == hint)
    }

    @Test func `can lose its extension`() throws {
        #expect(try OutputTemplate("{stem}.{ext}").withoutExtension?.filled(["stem": "a"]) == "a")
        #expect(try OutputTemplate("{stem}.png").withoutExtension == nil)
        #expect(try OutputTemplate("{ext}").withoutExtension == nil)
    }
}
