import TestSupport
import Testing

/// `convert` to a PNG of few colors.
@Suite(.timeLimit(.minutes(40))) struct `Palettes in convert` {
    let place = TemporaryDirectory()

    init() {
        // A ramp of 4096 colors.
        var samples: [UInt8] = []
        for y in 0..<64 {
            for x in 0..<64 {
                let blue = y * 4 + x / 16
                samples += [UInt8(x * 4), UInt8(y * 4), UInt8(blue)]
            }
        }
        place.write(Array("P6 64 64 255\n".utf8) + samples, to: "ramp.ppm")
    }

    private func convert(_ words: String...) throws -> CommandResult {
        try Tool.run(["convert", "ramp.ppm"] + words, directory: place.path)
    }

    /// The color type of a PNG, and the number of its palette entries.
    private func form(_ file: String) throws -> (type: UInt8, entries: Int) {
        let bytes = try #require(readFile(place.file(file)))
        guard let mark = bytes.firstRange(of: Array("PLTE".utf8))?.lowerBound else { return (bytes[25], 0) }
        return (bytes[25], bytes[mark - 4..<mark].reduce(0) { $0 << 8 | Int($1) } / 3)
    }

    @Test func `reduces the colors by count and quality`() throws {
        let result = try convert(
            "-o", "a.png", "--colors", "200", "--dither", "diffusion", "--quality-range", "10-80")

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        let form = try form("a.png")
        #expect(form.type == 3 && (2...200).contains(form.entries))
        #expect(try convert("-o", "b.png", "--colors", "16").status == 0)
        #expect(try self.form("b.png").entries <= 16)
    }

    @Test func `keeps true color below the least quality, with a warning`() throws {
        let result = try convert("-o", "a.png", "--colors", "2", "--quality-range", "90-95", "--json")

        #expect(result.status == 0)
        #expect(try form("a.png").type == 2)
        let warnings = result.documents[0]["warnings"].list.map(\.text)
        #expect(warnings.contains { $0?.hasPrefix("kept true color: 2 colors have a quality of ") == true })
    }

    @Test(arguments: [["--colors", "1"], ["--dither", "some"], ["--quality-range", "80-65"]])
    func `refuses invalid values before it writes`(words: [String]) throws {
        let result = try Tool.run(["convert", "ramp.ppm", "-o", "a.png"] + words, directory: place.path)

        #expect(result.status == 64, "\(result.stderr)")
        #expect(readFile(place.file("a.png")) == nil)
    }

    @Test(arguments: [
        ("a.jpg", ["--quality-range", "101-102"], "from 0 to 100"), ("a.jpg", ["--lossy", "201"], "range 0 to 200"),
        ("a.ppm", ["--colors", "1"], "range 2 to 256"), ("a.jpg", ["--dither", "some"], "diffusion"),
        ("a.webp", ["--quality-range", "x"], "MIN-MAX"),
    ])
    func `refuses values that no format takes, also where the format has no such option`(
        name: String, words: [String], hint: String
    ) throws {
        let result = try Tool.run(["convert", "ramp.ppm", "-o", name] + words, directory: place.path)

        #expect(result.status == 64 && result.stderr.contains(hint), "\(result.stderr)")
        #expect(readFile(place.file(name)) == nil)
    }

    @Test(arguments: ["ramp.ppm", Repository.fixture("images/photo.png"), Repository.fixture("images/rgba.png")])
    func `a lower quality never needs more bytes`(source: String) throws {
        var sizes: [Int] = []
        for range in ["0-10", "0-30", "0-45", "0-60", "0-80", "0-100"] {
            let result = try Tool.run(
                "convert", source, "-o", "a.png", "--quality-range", range, directory: place.path)
            #expect(result.status == 0, "\(result.stderr)")
            sizes.append(try #require(readFile(place.file("a.png"))).count)
        }
        #expect(sizes == sizes.sorted())
    }

    @Test func `warns where the format has no such option`() throws {
        let result = try convert("-o", "a.jpg", "--quality-range", "65-80")
        #expect(result.status == 0 && result.stderr.contains("--quality-range is ignored: jpeg has no such option"))
    }
}
