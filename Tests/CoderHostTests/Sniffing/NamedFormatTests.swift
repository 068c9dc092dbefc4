import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// A format without signatures among others that have signatures; only manifests are used.
@Suite(.timeLimit(.minutes(40))) struct `Formats known by their bytes or their names` {
    private static let manifests: [(id: String, format: String)] = [
        (
            "svg",
            #"{"id": "svg", "extensions": ["svg", "svgz"], "signatures": [{"xml-root": "svg"}, {"gzip": {"xml-root": "svg"}}]}"#
        ),
        ("pdf", #"{"id": "pdf", "extensions": ["pdf"], "signatures": [{"find": "255044462d", "within": 1024}]}"#),
        ("dng", #"{"id": "dng", "extensions": ["dng"], "signatures": [{"tiff-tag": 50706}]}"#),
        (
            "tiff",
            #"{"id": "tiff", "extensions": ["tif"], "signatures": [{"at": 0, "bytes": "49492a00"}, {"at": 0, "bytes": "4d4d002a"}]}"#
        ),
        ("tga", #"{"id": "tga", "extensions": ["tga", "icb"], "signatures": []}"#),
    ]

    /// Plugins of which only the manifest is valid.
    private func folder(_ ids: [String] = manifests.map(\.id)) throws -> TemporaryDirectory {
        let folder = TemporaryDirectory()
        for (id, format) in Self.manifests where ids.contains(id) {
            let text =
                "{\"schema\": 1, \"plugin\": {\"id\": \"org.example.\(id)-plugin\", \"version\": \"1.0.0\"}, "
                + "\"abi\": {\"major\": 1, \"minor_built\": 0, \"minor_needed\": 0}, "
                + "\"coders\": [{\"id\": \"org.example.\(id)\", \"roles\": [\"decode\"], \"formats\": [\(format)]}]}"
            let literal = "\"" + text.replacing("\"", with: "\\\"") + "\""
            try BuiltPlugin.put(
                "claims-formats", ["-DNAME=\(id)", "-DMANIFEST=\(literal)"], into: folder, as: "libcoder-\(id).so")
        }
        return folder
    }

    private func order(_ bytes: [UInt8], _ name: String, _ manager: CodersManager) -> [String] {
        manager.candidates(for: ImageSource(bytes, name: name)).map(\.format.id)
    }

    private static let noise = (0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) }

    @Test func `a search signature selects a plugin`() throws {
        let folder = try folder()
        let manager = testHost(folder.path).manager
        let svg = Array("<?xml version=\"1.0\"?><svg/>".utf8)

        #expect(order(svg, "x", manager) == ["svg"])
        #expect(order(try SniffedSample.gzipped(svg), "x.gz", manager) == ["svg"])
        #expect(order(Array("junk\n%PDF-1.7".utf8), "x.svg", manager) == ["pdf"])
        #expect(order(SniffedSample.tiff([50706], isLittle: false, isBig: false), "x", manager) == ["dng", "tiff"])
        #expect(order(SniffedSample.tiff([256], isLittle: true, isBig: false), "x.dng", manager) == ["tiff"])
        #expect(order(Array("<svg><!--%PDF-1.4--></svg>".utf8), "x.pdf", manager) == ["svg", "pdf"])
    }

    @Test func `a file that only begins like another format is read by its name`() throws {
        // An uncompressed TGA without footer begins like a cursor. TGA stores blue first.
        let head: [UInt8] = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 24, 0x20]
        let source = ImageSource(head + [1, 2, 3, 4, 5, 6], name: "a.tga")

        let image = try testHost(Repository.products).manager.decode(source)

        #expect(image.format == "tga" && image.pixels.packed == [3, 2, 1, 6, 5, 4])
    }

    @Test(arguments: ["x.tga", "x.TGA", "a.b.icb", "/folder.svg/x.tga"])
    func `a format without signatures is recognized by the file name extension`(name: String) throws {
        let folder = try folder()
        let manager = testHost(folder.path).manager

        let found = manager.candidates(for: ImageSource(Self.noise, name: name))

        #expect(found.map(\.format.id) == ["tga"])
        #expect(found.map(\.isCertain) == [false])
        let image = try manager.decode(ImageSource(Self.noise, name: name))
        #expect(image.coder == "org.example.tga")
    }

    @Test(arguments: ["x", "x.tgax", "tga", ".tga", "x.svg", ""])
    func `a format without signatures is not used for another extension`(name: String) throws {
        let folder = try folder()
        let manager = testHost(folder.path).manager

        #expect(order(Self.noise, name, manager) == [])
        let error = #expect(throws: CoderError.self) { try manager.decode(ImageSource(Self.noise, name: name)) }
        #expect(error?.code == .unrecognizedFormat)
    }

    @Test func `a format without signatures is not used if a signature matches`() throws {
        let folder = try folder()
        let administration = TemporaryDirectory()
        administration.write(Array("priority = 900\n".utf8), to: "org.example.tga-plugin.conf")
        let manager = testHost(folder.path, administration: [administration.path]).manager
        let bytes = Array("<svg/>".utf8)

        #expect(order(bytes, "x.tga", manager) == ["svg"])
        var options = DecodeOptions()
        options.hint.fileExtension = "tga"
        let image = try manager.decode(ImageSource(bytes, name: "x.tga"), options)
        #expect(image.coder == "org.example.svg")
    }

    @Test func `a hint selects a format without signatures, whatever the name is`() throws {
        let folder = try folder()
        let manager = testHost(folder.path).manager
        var options = DecodeOptions()
        options.hint.fileExtension = "TGA"

        #expect(try manager.decode(ImageSource(Self.noise, name: "noending"), options).coder == "org.example.tga")
    }

    @Test func `an unusable format without signatures is named in the error`() throws {
        let folder = try folder(["tga"])
        let administration = TemporaryDirectory()
        administration.write(Array("enabled = no\n".utf8), to: "org.example.tga-plugin.conf")
        let manager = testHost(folder.path, administration: [administration.path]).manager

        let error = #expect(throws: CoderError.self) { try manager.decode(ImageSource(Self.noise, name: "x.tga")) }

        #expect(error?.code == .noCoder)
        #expect(error?.attempts.first?.hasPrefix("libcoder-tga.so could decode it, but is disabled") == true)
    }

    // MARK: Sources that grow

    @Test func `a growing source is not recognized before its head is complete`() throws {
        let folder = try folder()
        let manager = testHost(folder.path).manager
        let comment = Array(("<!--" + String(repeating: "x", count: 3000) + "--><svg/>").utf8)
        let source = try ImageSource(growingTo: 10_000, name: "x.tga")
        var options = DecodeOptions()
        options.hint.fileExtension = "tga"
        for start in stride(from: 0, to: 3000, by: 500) {
            try source.append(Array(comment[start..<start + 500]))
            let early = #expect(throws: CoderError.self) { _ = try manager.openSession(source) }
            #expect(early?.code == .needsInput)
            let hinted = #expect(throws: CoderError.self) { try manager.decode(source, options) }
            #expect(hinted?.code == .needsInput)
        }
        try source.append(Array(comment[3000...]))

        #expect(try manager.openSession(source).coder.id == "org.example.svg")
    }

    @Test(arguments: [4096, 100]) func `a growing source is recognized by name after its head`(count: Int) throws {
        let folder = try folder()
        let manager = testHost(folder.path).manager
        let source = try ImageSource(growingTo: 10_000, name: "x.tga")
        try source.append(Array(Self.noise.prefix(count)))
        if count < FormatSniffer.headCount {
            let early = #expect(throws: CoderError.self) { _ = try manager.openSession(source) }
            #expect(early?.code == .needsInput)
            source.finish()
        }

        #expect(try manager.openSession(source).coder.id == "org.example.tga")
    }
}
