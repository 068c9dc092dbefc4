import CoderHost
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `JSON parser` {
    @Test(
        arguments: [
            ("null", .null), (" [ ] ", .array([])), ("{}", .object([])), ("-12", .integer(-12)), ("1.5e2", .real(150)),
            ("9223372036854775807", .integer(.max)), ("\"\\u00e9\\ud83d\\ude00\\n\\/\\\"\"", .string("é😀\n/\"")),
            ("[true,false]", .array([.bool(true), .bool(false)])),
            ("{\"a\":{\"b\":[1]}}", .object([("a", .object([("b", .array([.integer(1)]))]))])),
        ] as [(String, JSONValue)])
    func `reads`(text: String, value: JSONValue) throws {
        #expect(try JSONParser.parse(Array(text.utf8)) == value)
    }

    @Test func `reads the first of duplicate keys, and refuses them in a source`() throws {
        let text = Array("{\"a\": 1, \"b\": [2], \"a\": 3}".utf8)

        #expect(try JSONParser.parse(text)["a"] == .integer(1))
        #expect(throws: JSONParser.Failure(message: "duplicate key \"a\"", offset: 19)) {
            try JSONParser.parseSource(text)
        }
    }

    @Test func `reports the offset of each value of a source in order`() throws {
        let text = Array(" {\"a\": [1, {\"b\": null}], \"c\" : \"x\"}".utf8)

        #expect(try JSONParser.parseSource(text).offsets == [1, 7, 8, 11, 17, 31])
    }

    @Test func `writes what it reads`() throws {
        let text = "{\"a\\u0001\\\"\": [1, -2.5, null, {\"é\": \"\\\\\\n\"}], \"b\": true}"

        #expect(try JSONParser.parse(Array(text.utf8)).text == text)
    }

    @Test(arguments: [
        "", " ", "nul", "nulls", "tru", "[1,]", "[1", "[,1]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}",
        "1 2",
        "[1]]", "\"a", "\"\u{1}\"", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800x\"", "\"\\ud800\\u0041\"",
        "\"\\udc00\"", "-", "+", ".", "1e", "1e999", "99999999999999999999", "--1", "NaN", "Infinity", "// a",
        "\u{FEFF}{}", "01", "-01", "1.", ".5", "-.5", "1.e2", "+1", "[1 2]", "{\"a\":1 \"b\":2}",
    ]) func `refuses`(text: String) {
        let failure = #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(Array(text.utf8)) }

        #expect((0...text.utf8.count).contains(failure?.offset ?? -1))
    }

    @Test(arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3]] as [[UInt8]])
    func `refuses invalid UTF-8`(bytes: [UInt8]) {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([0x22] + bytes + [0x22]) }
    }

    @Test(arguments: ["[", "{\"a\":"]) func `bounds the nesting`(opening: String) {
        let text = String(repeating: opening, count: 200_000)

        let failure = #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(Array(text.utf8)) }

        #expect(failure?.message == "nested too deeply")
    }
}
