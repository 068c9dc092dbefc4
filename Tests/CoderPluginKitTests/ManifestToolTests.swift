import Testing

@Suite struct `Manifest tool` {
    private static let good = """
        { "schema": 1,
          "plugin": { "id": "org.example.qoi-plugin", "version": "1.0.0", "name": "Q\\u00f6I \\"x\\"", "license": "MIT" },
          "abi": { "major": 1, "minor_built": 0, "minor_needed": 0 },
          "coders": [ { "id": "org.example.qoi", "roles": ["decode", "encode"],
                        "formats": [ { "id": "qoi", "extensions": [ ] } ] } ] }
        """

    private func run(_ text: String) throws -> BuiltTool.Outcome { try run(Array(text.utf8)) }

    private func run(_ bytes: [UInt8]) throws -> BuiltTool.Outcome {
        let tool = try #require(BuiltTool())
        defer { tool.remove() }
        return try #require(tool.run(bytes), "the build did not create the tool")
    }

    /// Returns the words of the note in a generated file, as bytes.
    private func note(_ source: String) -> [UInt8] {
        source.split(whereSeparator: { " ,\n()[]".contains($0) }).filter { $0.hasPrefix("0x") }
            .compactMap { UInt32($0.dropFirst(2), radix: 16) }
            .flatMap { word in [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: word >> $0) } }
    }

    @Test func `generates a note and an entry point from a manifest`() throws {
        let outcome = try run(Self.good)
        let source = try #require(outcome.source)
        let bytes = note(source)
        let json =
            #"{"schema":1,"plugin":{"id":"org.example.qoi-plugin","version":"1.0.0","name":"Q\u00f6I \"x\"","#
            + #""license":"MIT"},"abi":{"major":1,"minor_built":0,"minor_needed":0},"coders":[{"id":"org.example.qoi","#
            + #""roles":["decode","encode"],"formats":[{"id":"qoi","extensions":[]}]}]}"#

        #expect(outcome.exitStatus == 0 && outcome.messages.isEmpty)
        #expect(Array(bytes[..<12]) == [10, 0, 0, 0, UInt8(json.utf8.count & 0xFF), 1, 0, 0, 0x31, 0x49, 0x50, 0x43])
        #expect(Array(bytes[12..<24]) == Array("CoderHost\0\0\0".utf8))
        #expect(String(decoding: bytes[24..<24 + json.utf8.count], as: UTF8.self) == json)
        #expect(bytes.count == (24 + json.utf8.count + 3) / 4 * 4)
        #expect(bytes[(24 + json.utf8.count)...].allSatisfy { $0 == 0 })
        #expect(source.contains("@c(cpi_entry_1)") && source.contains("minorNeeded: 0"))
    }

    /// A replacement in the valid manifest, and the start of the expected message.
    @Test(arguments: [
        ("\"schema\": 1,", "", "1:1: error: the key \"schema\" is missing"),
        ("\"schema\": 1", "\"schema\": 2", "1:13: error: \"schema\" must be 1"),
        ("\"schema\": 1", "\"schema\": \"1\"", "1:13: error: \"schema\" must be 1"),
        ("\"schema\": 1", "\"schema\": 01", "1:14: error: a number must not begin with 0"),
        ("\"schema\": 1", "\"schema\": 1, \"schema\": 1", "1:16: error: duplicate key \"schema\""),
        ("\"version\": \"1.0.0\",", "", "2:13: error: the key \"version\" is missing"),
        ("\"MIT\"", "\"\"", "error: \"license\" must be a non-empty string"),
        ("\"major\": 1", "\"major\": 2", "3:21: error: \"major\" must be 1"),
        ("\"minor_built\": 0", "\"minor_built\": 9", "error: \"minor_built\" must be 0"),
        ("\"minor_needed\": 0", "\"minor_needed\": 2", "error: \"minor_needed\" must be 0"),
        ("\"decode\", \"encode\"", "", "4:51: error: \"roles\" must be an array with at least one element"),
        ("\"encode\"]", "\"fly\"]", "error: invalid role: expected"),
        (
            "\"extensions\": [ ]", #""signatures": [{"regex": "a"}]"#,
            "5:60: error: unknown rule: expected one of the keys find, xml-root"
        ),
        (
            "\"extensions\": [ ]", #""signatures": [{"find": "2", "within": 9}]"#,
            "\"find\" must be 2 to 128 hexadecimal"
        ),
        ("\"extensions\": [ ]", #""signatures": [{"find": "25"}]"#, "error: the key \"within\" is missing"),
        ("\"extensions\": [ ]", #""signatures": [{"find": "25", "within": 5000}]"#, "\"within\" must be 1 to 4096"),
        ("\"extensions\": [ ]", #""signatures": [{"all": [{"xml-root": "a:b"}]}]"#, "must be a name without prefix"),
        ("\"extensions\": [ ]", #""signatures": [{"tiff-tag": 65536}]"#, "\"tiff-tag\" must be 1 to 65535"),
        (
            "\"extensions\": [ ]", #""signatures": [{"gzip": {"gzip": {}}}]"#,
            "a gzip rule must not contain a gzip rule"
        ),
        ("\"schema\": 1", #""schema": 1, "isolation": {"required": 1}"#, "\"required\" must be true or false"),
        ("\"schema\": 1", #""schema": 1, "isolation": {"read": ["cameras"]}"#, "\"read\" takes fonts"),
        ("\"schema\": 1", #""schema": 1, "isolation": {"read": "fonts"}"#, "\"read\" must be an array"),
        ("\"extensions\": [ ]", "\"extensions\": [ ],", "5:64: error: expected a key in quotation marks"),
        ("\"extensions\": [ ]", "\"extensions\": [ 1 2 ]", "error: expected ','"),
        ("\"extensions\": [ ]", "\"extensions\": nul", "error: expected a value"),
        ("\"MIT\"", "\"\\x\"", "error: unknown escape in a string"),
        ("\"MIT\"", "\"\\ud800\"", "error: unpaired surrogate"),
        ("\"MIT\"", "\"M\tT\"", "error: control character in a string"),
        ("\"MIT\"", "'MIT'", "error: expected a value"),
        ("] } ] } ] }", "] } ] } ] } }", "error: unexpected bytes after the document"),
        ("\"MIT\" }", "\"MIT\" /* free */ }", "error: expected ','"),
    ])
    func `rejects a manifest and reports the position`(old: String, new: String, complaint: String) throws {
        var text = Self.good
        text.replaceSubrange(try #require(text.firstRange(of: old)), with: new)
        let outcome = try run(text)

        #expect(outcome.exitStatus == 1)
        #expect(outcome.messages.contains("manifest.json:") && outcome.messages.contains(complaint))
        #expect(outcome.source == nil)
    }

    @Test(arguments: ["", "[]", "{", "{\"schema\":", "\"", "nul", String(repeating: "[", count: 40)])
    func `rejects a manifest that is not an object`(text: String) throws {
        let outcome = try run(text)

        #expect(outcome.exitStatus == 1 && outcome.messages.contains("error: ") && outcome.source == nil)
    }

    @Test func `rejects bytes that are not UTF-8`() throws {
        let outcome = try run(Array("{\n \"a\": \"".utf8) + [0xC3, 0x28] + Array("\"}".utf8))

        #expect(outcome.exitStatus == 1 && outcome.messages.contains(":2:8: error: not valid UTF-8"))
    }

    @Test func `accepts 64 KiB and rejects one byte more`() throws {
        let full = Self.good + String(repeating: " ", count: 65_536 - Self.good.utf8.count)

        #expect(try run(full).exitStatus == 0)
        #expect(try run(full + " ").messages.contains("larger than 65536 bytes"))
    }
}
