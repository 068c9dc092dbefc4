import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// `isolation.read` in a manifest: `Tests/ThirdParty/isolation/draws-text.c` draws a letter of a font.
@Suite(.timeLimit(.minutes(40))) struct `A plugin that reads fonts` {
    private static let font = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"

    /// The digit 8 of DejaVu Sans 2.37 at 24 pixels per em, drawn by FreeType 2.12.1 (no hinting, one bit per pixel).
    private static let eight = """
        .........#####..................
        .......#########................
        .......###....###...............
        ......###......##...............
        ......##.......##...............
        ......##.......##...............
        ......###.....###...............
        .......###...###................
        .........######.................
        .......#########................
        ......###.....###...............
        ......##.......##...............
        ......##.......###..............
        ......##.......###..............
        ......##.......##...............
        ......###.....###...............
        .......##########...............
        ........#######.................
        """.split(separator: "\n").map(String.init)

    /// A host, and the folder that must live as long as the host.
    private struct Installation {
        let folder: TemporaryDirectory
        let host: CoderHost

        func decode() throws(CoderError) -> DecodedImage { try host.manager.decode(badImage) }
    }

    private func host(
        font: String = font, reads: [String] = ["fonts"], when: String = "IN_INIT",
        _ policy: IsolationPolicy = IsolationPolicy(.require, needed: [])
    ) throws -> Installation {
        let folder = TemporaryDirectory()
        let list = reads.map { "\\\"\($0)\\\"" }.joined(separator: ", ")
        let flags = [
            "-DFONT=\"\(font)\"", "-DREADS=\(when)", #"-DMANIFEST_ISOLATION="{\"read\": [\#(list)]}""#,
        ]
        try PluginBuilder.build("isolation/draws-text.c", flags: flags, into: folder.path)
        return Installation(folder: folder, host: testHost(folder.path, isolation: policy))
    }

    /// The rows with ink.
    private func rows(_ host: Installation) throws -> [String] {
        let bytes = try host.decode().pixels.packed
        return (0..<32).map { row in
            String((0..<32).map { bytes[(row * 32 + $0) * 3] == 0 ? "#" : "." })
        }.filter { $0.contains("#") }
    }

    private func failure(_ host: Installation) -> CoderError? {
        #expect(throws: CoderError.self) { try host.decode() }
    }

    @Test(.enabled(if: readFile(font) != nil), arguments: [IsolationPolicy.Mode.require, .auto, .off])
    func `draws text with a font that it read while loading`(mode: IsolationPolicy.Mode) throws {
        let host = try host(IsolationPolicy(mode, needed: []))

        #expect(try rows(host) == Self.eight)
        // Another image in another worker.
        #expect(try rows(host) == Self.eight)
    }

    @Test(.enabled(if: readFile(font) != nil)) func `cannot read a font unless its manifest requests fonts`()
        throws
    {
        let error = failure(try host(reads: []))

        #expect(error?.code == .pluginRefused)
        #expect(
            error?.message.contains("init-failed): the font \(Self.font) cannot be read: ") == true, "\(error as Any)")
        // The same plugin reads it without a sandbox.
        #expect(try rows(host(reads: [], IsolationPolicy(.off))) == Self.eight)
    }

    @Test(.enabled(if: readFile(font) != nil)) func `cannot open a font after it is sealed`() throws {
        let error = failure(try host(when: "IN_DECODE"))

        #expect(error?.message.contains("cannot be read: Permission denied") == true, "\(error as Any)")
        #expect(try rows(host(when: "IN_DECODE", IsolationPolicy(.off))) == Self.eight)
    }

    @Test(.enabled(if: readFile(font) != nil)) func `cannot read a file in a worker that it opened in init`() throws {
        let error = failure(try host(when: "KEPT"))

        #expect(error?.message.contains("cannot be read: Bad file descriptor") == true, "\(error as Any)")
    }

    @Test(arguments: ["a home folder", "/etc/passwd", "/usr/share/fonts/../../../etc/passwd", "/etc/fonts/../hostname"])
    func `reads no other file`(place: String) throws {
        let home = TemporaryDirectory()
        let path = place == "a home folder" ? home.write(Array("font".utf8), to: "font.ttf") : place
        try #require(readFile(path) != nil)

        let error = failure(try host(font: path))

        #expect(error?.code == .pluginRefused, "\(error as Any)")
        #expect(error?.message.contains("cannot be read: ") == true, "\(error as Any)")
    }

    @Test func `can read only system folders`() {
        for resource in SystemResource.allCases {
            for folder in resource.folders {
                #expect(["/usr/", "/etc/", "/var/"].contains { folder.hasPrefix($0) })
                #expect(!folder.contains("home"))
            }
        }
    }

    @Test(arguments: [#"["cameras"]"#, #"["fonts", "FONTS"]"#, #"[""]"#])
    func `is refused if it requests an unknown resource`(list: String) throws {
        let folder = TemporaryDirectory()
        let words = list.replacing("\"", with: "\\\"")
        try BuiltPlugin.put(
            "claims-formats", [#"-DMANIFEST_ISOLATION="{\"read\": \#(words)}""#], into: folder)

        let record = try #require(testHost(folder.path).plugins.first)

        #expect(record.status.state == .badManifest)
        #expect(record.status.reason.hasPrefix("isolation.read[") == true)
        #expect(record.status.reason.contains("unknown to this version (fonts)"))
        #expect(record.status.remedy == "update coderhost")
    }

    @Test(arguments: [#""fonts""#, "[1]", "{}"]) func `is refused if read is not a list of names`(list: String) throws {
        let text =
            #"{"schema": 1, "plugin": {"id": "a", "version": "1"}, "isolation": {"read": "# + list
            + #"}, "abi": {"major": 1, "minor_built": 0, "minor_needed": 0}, "coders": []}"#

        let failure = #expect(throws: PluginManifest.Failure.self) { try PluginManifest(json: Array(text.utf8)) }

        #expect(failure?.message.hasPrefix("isolation.read") == true)
    }
}
