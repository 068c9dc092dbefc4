import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command info` {
    static let images = "\(Repository.root)/Fixtures/images"

    /// The documented keys, in order.
    static let promised = [
        "file", "format", "coder", "width", "height", "frame_count", "loop_count", "has_alpha", "bit_depth",
        "orientation",
        "color_profile",
    ]

    @Test func `prints one line per image`() throws {
        let result = try Tool.run("info", "orientation-6.jpg", directory: Self.images)

        #expect(result.status == 0)
        #expect(result.stdout == "orientation-6.jpg: jpeg 31x17, rgb8, 8 bit, orientation 6  [org.coderhost.jpeg]\n")
    }

    @Test func `writes one JSON object per line with the documented keys first`() throws {
        let result = try Tool.run("info", "--json", "f.png", "three-frames.gif", "rgba.ff", directory: Self.images)

        #expect(result.status == 0)
        #expect(result.lines.count == 3)
        let more: Set = ["isolation", "pixel_format", "is_animated", "density", "metadata"]
        for (line, document) in zip(result.lines, result.documents) {
            #expect(document.keys == Set(Self.promised).union(more))
            #expect(document["isolation"]["mode"].text == "in-process")
            let places = Self.promised.map { line.firstRange(of: "\"\($0)\": ")?.lowerBound }
            #expect(!places.contains(nil) && places.compactMap { $0 } == places.compactMap { $0 }.sorted())
        }
        #expect(result.documents[1]["frame_count"].integer == 3)
        #expect(result.documents[1]["is_animated"].bool == true)
        #expect(result.documents[2]["bit_depth"].integer == 16)
    }

    @Test func `summarizes colors on request`() throws {
        let keys = ["blur_hash", "dominant_color", "average_color", "palette", "has_transparent_pixels"]
        let plain = try Tool.run("info", "--json", "photo.jpg", directory: Self.images).documents[0]
        let document = try Tool.run("info", "--json", "--summary", "photo.jpg", directory: Self.images).documents[0]

        #expect(document.keys == plain.keys.union(keys))
        #expect(document["blur_hash"].text?.count == 28)
        let shares = document["palette"].list.compactMap { $0["share"].number }
        #expect((2...5).contains(shares.count) && shares == shares.sorted(by: >))
        #expect(abs(shares.reduce(0, +) - 1) < 0.001)
        #expect(document["has_transparent_pixels"].bool == false)
        let text = try Tool.run("info", "--summary", "photo.jpg", directory: Self.images)
        #expect(text.lines.count == 4)
        #expect(try text.lines[1] == "  blur hash \(#require(document["blur_hash"].text))")
        let fields = try Tool.run("info", "-f", "dominant_color,blur_hash", "photo.jpg", directory: Self.images)
        #expect(fields.lines == [document["dominant_color"], document["blur_hash"]].compactMap(\.text))
    }

    @Test(arguments: ["jpg", "webp", "avif"])
    func `has the same dominant color after a lossy encoding, the first of the palette`(suffix: String) throws {
        let place = TemporaryDirectory()
        let made = try Tool.run(
            "convert", Repository.fixture("images/photo.png"), "-q", "90", "-o", "a.\(suffix)", directory: place.path)
        #expect(made.status == 0, "\(made.stderr)")
        var colors: [[Int]] = []
        for file in [Repository.fixture("images/photo.png"), "a.\(suffix)"] {
            let document = try Tool.run("info", "--json", "--summary", file, directory: place.path).documents[0]
            let color = try #require(document["dominant_color"].text)
            #expect(color == document["palette"][0]["color"].text)
            let number = try #require(Int(color.dropFirst(), radix: 16))
            colors.append([16, 8, 0].map { number >> $0 & 255 })
        }
        for (a, b) in zip(colors[0], colors[1]) { #expect(abs(a - b) <= 8, "\(colors)") }
    }

    @Test func `limits the palette, and needs a summary for it`() throws {
        let result = try Tool.run("info", "--json", "--summary", "--palette", "2", "photo.jpg", directory: Self.images)
        #expect(result.documents[0]["palette"].list.count == 2)
        #expect(try Tool.run("info", "--palette", "2", "photo.jpg", directory: Self.images).status == 64)
    }

    /// One transparent pixel in a large image is not visible in the small one.
    @Test func `finds a single transparent pixel`() throws {
        let place = TemporaryDirectory()
        let header = "P7\nWIDTH 700\nHEIGHT 500\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n"
        var pixels = [UInt8](repeating: 255, count: 700 * 500 * 4)
        place.write(Array(header.utf8) + pixels, to: "opaque.pam")
        pixels[(250 * 700 + 350) * 4 + 3] = 254
        place.write(Array(header.utf8) + pixels, to: "clear.pam")

        let result = try Tool.run(
            "info", "-f", "has_transparent_pixels", "opaque.pam", "clear.pam", directory: place.path)
        #expect(result.lines == ["false", "true"])
    }

    @Test func `adds frames and hashes only on request`() throws {
        let document = Document(
            try Tool.run("info", "--json", "--frames", "--hash", "three-frames.gif", directory: Self.images).stdout)

        #expect(document["frames"].list.count == 3)
        for (index, frame) in document["frames"].list.enumerated() {
            #expect(
                frame.keys == [
                    "index", "x", "y", "width", "height", "duration_ms", "duration", "blend", "disposal", "key_frame",
                    "pixel_sha256",
                ])
            #expect(frame["index"].integer == index)
        }
        #expect(document["pixel_sha256"].text == document["frames"][0]["pixel_sha256"].text)
        let plain = Document(
            try Tool.run("info", "--json", "--frames", "three-frames.gif", directory: Self.images).stdout)
        #expect(!plain["pixel_sha256"].exists && !plain["frames"][0]["pixel_sha256"].exists)
    }

    /// Truncated in the third frame, in the second, and between the first two.
    @Test(arguments: [
        (1100, 2, "truncated in frame 2"), (700, 1, "truncated in frame 1"),
        (350, 1, "the file ends without a trailer"),
    ])
    func `lists the frames of a cut animation, and warns`(bytes: Int, count: Int, warning: String) throws {
        let place = TemporaryDirectory()
        place.write(Array(Fixture.named("images/three-frames.gif").bytes.prefix(bytes)), to: "cut.gif")

        let result = try Tool.run("info", "--json", "--frames", "cut.gif", directory: place.path)
        let text = try Tool.run("info", "--frames", "cut.gif", directory: place.path)

        #expect(result.status == 0 && text.status == 0, "\(result.stderr)")
        #expect(Document(result.stdout)["frames"].list.count == count)
        #expect(text.stdout.contains("frame \(count - 1): ") && !text.stdout.contains("frame \(count): "))
        #expect(Document(result.stdout)["warnings"].list.map(\.text) == [warning])
        #expect(text.stderr.contains("warning: \(warning)"))
    }

    @Test func `continues after a bad file and exits with 1`() throws {
        let result = try Tool.run(
            "info", "--json", "f.png", "nowhere.png", "../hostile/noise", "f.jpg", directory: Self.images)

        #expect(result.status == 1)
        #expect(result.stderr.isEmpty)
        let documents = result.documents
        #expect(documents.map { $0["file"].text } == ["f.png", "nowhere.png", "../hostile/noise", "f.jpg"])
        #expect(documents.map { $0["error"]["code"].text } == [nil, "notFound", "unrecognizedFormat", nil])
        for failed in documents[1...2] {
            #expect(failed.keys == ["file", "error"])
            #expect(failed["error"]["message"].text?.isEmpty == false)
            #expect(failed["error"]["hint"].text?.isEmpty == false)
        }
    }

    @Test func `prints plain field values, one per line`() throws {
        let result = try Tool.run(
            "info", "-f", "width,height", "-f", "format", "f.png", "f.jpg", directory: Self.images)

        #expect(result.lines == ["31", "17", "png", "31", "17", "jpeg"])
    }

    @Test func `computes expensive fields on request`() throws {
        let digest = try Tool.run("info", "-f", "pixel_sha256", "f.png", directory: Self.images)
        let frames = try Tool.run("info", "--json", "-f", "frames", "three-frames.gif", directory: Self.images)

        #expect(digest.lines == [Fixture.named("images/f.png").expect?.pixelSHA256])
        #expect(frames.documents[0].keys == ["file", "frames"])
        #expect(frames.documents[0]["frames"].list.count == 3)
    }

    @Test func `reads standard input`() throws {
        let result = try Tool.run("info", "-", input: Fixture.named("images/f.webp").bytes)

        #expect(result.stdout == "-: webp 31x17, rgb8, 8 bit  [org.coderhost.webp]\n")
    }

    @Test func `uses only the selected coder`() throws {
        let right = try Tool.run("info", "--coder", "org.coderhost.png", "f.png", directory: Self.images)
        let wrong = try Tool.run("info", "--coder", "org.coderhost.jpeg", "f.png", directory: Self.images)

        #expect(right.status == 0)
        #expect(wrong.status == 65)
        #expect(wrong.stderr.contains("tried: org.coderhost.jpeg: "))
    }

    @Test func `applies the given limits`() throws {
        let result = try Tool.run("info", "--json", "--limits", "side=30", "f.png", directory: Self.images)

        #expect(result.status == 77)
        let error = result.documents[0]["error"]
        #expect(error["code"].text == "limitExceeded")
        #expect(error["limit"]["allowed"].integer == 30)
        #expect(error["limit"]["requested"].integer == 31)
        #expect(try Tool.run("info", "--limits", "strict,side=1k", "f.png", directory: Self.images).status == 0)
    }

    // MARK: All fixtures, with the installed plugins

    @Test func `reports the documented properties of every valid fixture`() throws {
        let fixtures = Fixture.valid
        let result = try Tool.run(
            ["info", "--json", "--hash", "--limits", "time=0"] + fixtures.map(\.name),
            directory: "\(Repository.root)/Fixtures")

        #expect(result.status == 0)
        let documents = result.documents
        try #require(documents.count == fixtures.count)
        for (fixture, document) in zip(fixtures, documents) {
            #expect(document["file"].text == fixture.name)
            #expect(document["format"].text == fixture.format.id, "\(fixture.name) \(document)")
            let expect = try #require(fixture.expect)
            #expect(document["width"].integer == expect.width, "\(fixture.name)")
            #expect(document["height"].integer == expect.height, "\(fixture.name)")
            if let value = expect.frameCount { #expect(document["frame_count"].integer == value, "\(fixture.name)") }
            if let value = expect.orientation { #expect(document["orientation"].integer == value, "\(fixture.name)") }
            if let value = expect.hasAlpha { #expect(document["has_alpha"].bool == value, "\(fixture.name)") }
            if let value = expect.bitDepth { #expect(document["bit_depth"].integer == value, "\(fixture.name)") }
            if expect.colorProfile == "icc" {
                #expect(document["color_profile"].text?.hasPrefix("icc: ") == true, "\(fixture.name)")
            }
            if let value = expect.pixelSHA256 { #expect(document["pixel_sha256"].text == value, "\(fixture.name)") }
        }
    }

    /// A BMP with a header of 108 bytes, calibrated colors and one gamma for all channels, in 1/65 536.
    private static func bitmap(gamma: UInt32) -> [UInt8] {
        func little(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        var bytes: [UInt8] = [0x42, 0x4D] + little(126) + little(0) + little(122)
        bytes += little(108) + little(1) + little(1) + [1, 0, 24, 0] + little(0) + little(4)
        bytes += [UInt8](repeating: 0, count: 16 + 16 + 4 + 36)
        return bytes + little(gamma) + little(gamma) + little(gamma) + [10, 100, 200, 0]
    }

    @Test(arguments: [(117_965, "gamma: 0.55555"), (144_179, nil)] as [(UInt32, String?)])
    func `names a gamma that is not that of sRGB`(gamma: UInt32, expected: String?) throws {
        let place = TemporaryDirectory()
        place.write(Self.bitmap(gamma: gamma), to: "g.bmp")

        let result = try Tool.run("info", "--json", "g.bmp", directory: place.path)
        #expect(result.status == 0)
        #expect(result.documents[0]["color_profile"].text == expected)

        // The colors that `convert` changes are those that `info` names.
        let image = try Tool.run(
            "convert", "g.bmp", "-f", "ppm", "--strip", "all", "-o", "g.ppm", directory: place.path)
        #expect(image.status == 0)
        let bytes = try #require(readFile(place.file("g.ppm"))).suffix(3)
        #expect((Array(bytes) == [200, 100, 10]) == (expected == nil))
    }

    @Test(arguments: ["ppm", "pgm", "pbm", "pnm"]) func `knows the extensions of its own Netpbm files`(suffix: String)
        throws
    {
        let name = "own.\(suffix)"
        let photo = Repository.fixture("images/f.png")
        let place = TemporaryDirectory()
        #expect(try Tool.run("convert", photo, "-o", name, "--bg", "white", directory: place.path).status == 0)

        let result = try Tool.run("info", name, directory: place.path)

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
    }

    @Test func `refuses every bad fixture with the expected code`() throws {
        let fixtures = Fixture.bad
        let result = try Tool.run(
            ["info", "--json", "--hash"] + fixtures.map(\.name), directory: "\(Repository.root)/Fixtures")

        #expect(result.status == 1)
        let documents = result.documents
        try #require(documents.count == fixtures.count)
        for (fixture, document) in zip(fixtures, documents) {
            #expect(document["file"].text == fixture.name)
            let code = document["error"]["code"].text
            #expect(
                code.map(fixture.errors.contains) == true,
                "\(fixture.name): \(code ?? "it decodes"), not \(fixture.errors)")
        }
    }
}
