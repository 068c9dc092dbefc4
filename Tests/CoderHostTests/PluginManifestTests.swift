import CoderHost
import Foundation
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Plugin manifest` {
    static let smallest = """
        {"schema": 1, "plugin": {"id": "a.b", "version": "1"},
         "abi": {"major": 1, "minor_built": 0, "minor_needed": 0},
         "coders": [{"id": "a", "roles": ["decode"], "formats": [{"id": "x"}]}]}
        """

    @Test func `needs only the required keys`() throws {
        let manifest = try PluginManifest(json: Array(Self.smallest.utf8))

        #expect(manifest.id == "a.b")
        #expect(manifest.name == "a.b")
        #expect(manifest.coders.map(\.priority) == [100])
        #expect(manifest.coders[0].roles == .decode)
        #expect(manifest.coders[0].formats[0].name == "X")
    }

    @Test func `ignores keys of a later version`() throws {
        let text = Self.smallest.replacing("\"decode\"", with: "\"decode\", \"hologram\"")
            .replacing("{\"schema\"", with: "{\"galaxy\": {\"arms\": [4, 4.5e0, null]}, \"schema\"")

        #expect(try PluginManifest(json: Array(text.utf8)).coders[0].roles == .decode)
    }

    @Test func `declares the images for which its format is a default`() throws {
        let text = Self.smallest.replacing(
            "\"id\": \"a\",",
            with: "\"id\": \"a\", \"default_for\": {\"alpha\": 1000, \"opaque\": 1, \"hologram\": \"x\"},")

        #expect(try PluginManifest(json: Array(text.utf8)).coders[0].defaultRanks == [.alpha: 1000, .opaque: 1])
        #expect(try PluginManifest(json: Array(Self.smallest.utf8)).coders[0].defaultRanks == [:])
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        var old: String
        var new: String
        /// A part of the expected message.
        var names: String
        init(_ old: String, _ new: String, _ names: String) { (self.old, self.new, self.names) = (old, new, names) }
        var testDescription: String { "\(old) → \(new.prefix(60))" }
    }

    static let faults = [
        Fault("\"schema\": 1,", "", "schema is missing"), Fault("\"schema\": 1", "\"schema\": 2", "schema 2"),
        Fault("\"schema\": 1", "\"schema\": \"1\"", "schema"), Fault("\"id\": \"a.b\", ", "", "plugin.id is missing"),
        Fault(", \"version\": \"1\"", "", "plugin.version is missing"), Fault("\"1\"", "1", "plugin.version"),
        Fault("a.b", "../../etc/x", "plugin.id"), Fault("a.b", "", "plugin.id"), Fault("a.b", ".a", "plugin.id"),
        Fault("a.b", String(repeating: "a", count: 129), "plugin.id"),
        Fault("a.b", "a\\u0000b", "plugin.id"), Fault("\"major\": 1, ", "", "abi.major is missing"),
        Fault("\"major\": 1", "\"major\": 1.5", "abi.major"), Fault("\"major\": 1", "\"major\": 1000001", "abi.major"),
        Fault("\"major\": 1", "\"major\": -9223372036854775808", "abi.major"),
        Fault("\"major\": 1", "\"major\": 9223372036854775807", "abi.major"),
        Fault("\"major\": 1", "\"major\": 99999999999999999999999", "at byte"),
        Fault("\"major\": 1", "\"major\": 1e999", "at byte"),
        Fault(", \"minor_needed\": 0", "", "abi.minor_needed is missing"),
        Fault("{\"major\": 1, \"minor_built\": 0, \"minor_needed\": 0}", "[]", "abi is not an object"),
        Fault("\"coders\": [", "\"coder\": [", "coders is empty"),
        Fault("\"id\": \"a\", ", "", "coders[0].id is missing"),
        Fault("[\"decode\"]", "\"decode\"", "coders[0].roles is not a list"),
        Fault("[\"decode\"]", "[1]", "coders[0].roles[0]"), Fault("[{\"id\": \"x\"}]", "[]", "supports no format"),
        Fault("{\"id\": \"x\"}", "{}", "coders[0].formats[0].id is missing"),
        Fault("{\"id\": \"x\"}", "{\"id\": \"x\", \"signatures\": [{\"all\": []}]}", "signatures[0]"),
        Fault("{\"id\": \"x\"}", "{\"id\": \"x\", \"signatures\": [{\"at\": 0, \"bytes\": \"4\"}]}", "bytes"),
        Fault("{\"id\": \"x\"}", "{\"id\": \"x\", \"signatures\": [{\"at\": 0, \"bytes\": \"zz\"}]}", "bytes"),
        Fault("{\"id\": \"x\"}", "{\"id\": \"x\", \"signatures\": [{\"bytes\": \"00\"}]}", "at is missing"),
        Fault(
            "{\"id\": \"x\"}", "{\"id\": \"x\", \"signatures\": [{\"at\": 0, \"bytes\": \"00\", \"mask\": \"0000\"}]}",
            "mask"),
        Fault("{\"id\": \"x\"}", "{\"id\": \"x\", \"signatures\": [{\"brands\": [\"heics\"]}]}", "four characters"),
        Fault(
            "[\"decode\"]", "[\"decode\"], \"options\": [{\"key\": \"a.b\", \"type\": \"color\"}]", "option a.b"),
        Fault("\"coders\": [", "\"coders\": [{\"id\": \"a\", \"formats\": [{\"id\": \"x\"}]}, ", "two coders"),
        Fault("\"x\"", "\"\(String(repeating: "x", count: 2000))\"", "formats[0].id"),
        Fault("[\"decode\"]", "[], \"default_for\": [\"alpha\"]", "coders[0].default_for is not an object"),
        Fault("[\"decode\"]", "[], \"default_for\": {\"alpha\": 0}", "default_for.alpha is not between 1 and 1000"),
        Fault("[\"decode\"]", "[], \"default_for\": {\"opaque\": 1.5}", "default_for.opaque is not an integer"),
        Fault("\"coders\"", "\"libraries\": \(repeating("{\"name\": \"a\"}", 257)), \"coders\"", "256"),
    ]

    private static func repeating(_ item: String, _ count: Int) -> String {
        "[" + Array(repeating: item, count: count).joined(separator: ",") + "]"
    }

    @Test(arguments: faults) func `names the wrong key`(fault: Fault) throws {
        let range = try #require(Self.smallest.range(of: fault.old))
        let text = Self.smallest.replacingCharacters(in: range, with: fault.new)

        let failure = #expect(throws: PluginManifest.Failure.self) { try PluginManifest(json: Array(text.utf8)) }

        #expect(failure?.message.contains(fault.names) == true, "\(failure?.message ?? "")")
    }

    /// Mutations of the project's manifests may be refused, but must not crash.
    @Test(arguments: ["JPEG", "PNG", "GIF", "WebP", "HEIF", "Farbfeld"])
    func `is read or refused after any damage`(room: String) throws {
        let whole = try #require(readFile("\(Repository.root)/Plugins/\(room)/Plugin/manifest.json"))
        #expect(throws: Never.self) { try PluginManifest(json: whole) }
        var random = SeededRandom(UInt64(whole.count))
        let words = [
            "-9223372036854775808", "9223372036854775807", "1e308", "null", "[]", "{}", "\"\"", "true", "\\uD800",
        ]
        for round in 0..<300 {
            var bytes = whole
            switch round % 3 {
            case 0:
                bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: bytes.removeLast(Int.random(in: 1..<bytes.count, using: &random))
            default:
                let start = Int.random(in: 0..<bytes.count, using: &random)
                let end = min(bytes.count, start + Int.random(in: 0..<12, using: &random))
                bytes.replaceSubrange(start..<end, with: words.randomElement(using: &random)!.utf8)
            }
            _ = try? PluginManifest(json: bytes)
        }
    }

    /// Replaces every value of a manifest by every kind of value.
    @Test func `is read or refused with any value`() throws {
        let whole = try #require(readFile("\(Repository.root)/Plugins/PNG/Plugin/manifest.json"))
        let document = try JSONParser.parse(whole)
        let values: [JSONValue] = [
            .null, .bool(true), .integer(.min), .integer(.max), .integer(-1), .real(-1e308), .string(""),
            .string("\u{0}é"), .array([]), .array([.array([])]), .object([]),
        ]
        for value in values {
            for variant in variants(of: document, by: value) { _ = try? PluginManifest(json: Array(variant.text.utf8)) }
        }
    }

    private func variants(of document: JSONValue, by value: JSONValue) -> [JSONValue] {
        switch document {
        case .array(let items):
            return [value]
                + items.indices.flatMap { index in
                    variants(of: items[index], by: value).map { item in
                        var copy = items
                        copy[index] = item
                        return .array(copy)
                    }
                }
        case .object(let members):
            return [value]
                + members.indices.flatMap { index in
                    variants(of: members[index].value, by: value).map { item in
                        var copy = members
                        copy[index].value = item
                        return .object(copy)
                    }
                }
        default: return [value]
        }
    }
}
