import TestSupport
import Testing

/// Texts in convert, drawn in the font of boxes: at 16 pixels, `i` is a bar of 1x6 pixels, `B` a box of 4x4 pixels.
@Suite(.timeLimit(.minutes(40))) struct `Texts in convert` {
    private typealias Color = QuarterImage
    private let image = QuarterImage()
    private static let font = Repository.fixture("fonts/boxes.ttf")
    private static let small = ["--font", font, "--text-size", "16"]

    private func convert(_ words: String...) throws -> CommandResult { try image.convert(words + Self.small) }

    /// The samples of a PPM as a grid of colors.
    private func pixels(_ file: String) throws -> [[[UInt8]]] {
        #expect(try image.convert(file, "-o", "grid.ppm", "--first-frame").status == 0)
        let bytes = try #require(readFile(image.place.file("grid.ppm")))
        let header = String(decoding: bytes.prefix(40), as: UTF8.self).split(whereSeparator: \.isWhitespace)
        let (width, height) = (try #require(Int(header[1])), try #require(Int(header[2])))
        // Of 16-bit samples, the first byte counts.
        let length = header[3] == "65535" ? 2 : 1
        let all = Array(bytes.suffix(width * height * 3 * length))
        let samples = stride(from: 0, to: all.count, by: length).map { all[$0] }
        return (0..<height).map { y in
            (0..<width).map { x in Array(samples[(y * width + x) * 3..<(y * width + x + 1) * 3]) }
        }
    }

    /// Writes a black image of 40x40 pixels.
    private func black() {
        image.place.write(Array("P6 40 40 255\n".utf8) + [UInt8](repeating: 0, count: 4800), to: "black.ppm")
    }

    /// Returns whether exactly these pixels, given as columns and rows, have the color.
    private func expect(_ boxes: [(Range<Int>, Range<Int>)], _ color: [UInt8], in file: String) throws {
        for (y, row) in try pixels(file).enumerated() {
            for (x, seen) in row.enumerated() {
                let isInside = boxes.contains { $0.0.contains(x) && $0.1.contains(y) }
                #expect(seen == (isInside ? color : [0, 0, 0]), "\(x),\(y)")
            }
        }
    }

    @Test func `are drawn at the gravity with margin, size and color`() throws {
        black()
        let result = try convert(
            "black.ppm", "-o", "t.png", "--text", "B", "--gravity", "northeast", "--margin", "3", "--text-color",
            "#ff8000")
        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        // The text is 5 pixels wide; the baseline is 12 pixels below its top.
        try expect([(32..<36, 11..<15)], [255, 128, 0], in: "t.png")
    }

    @Test(arguments: ["", " ", "\u{A0} \u{3000}", "\\n", "\t"])
    func `of spaces alone are refused`(text: String) throws {
        black()
        let result = try convert("black.ppm", "-o", "t.png", "--text", text)
        #expect(result.status == 64 && result.stderr.contains("--text is empty"), "\(result.stderr)")
    }

    @Test func `have several lines and values of the image`() throws {
        black()
        #expect(try image.convert("black.ppm", "-o", "BA.ppm").status == 0)
        let result = try convert("BA.ppm", "-o", "t.png", "--gravity", "northwest", "--text", #"{stem}\nB{ext}{w}"#)
        #expect(result.status == 0, "\(result.stderr)")
        // The font has no p, m, 4 and 0.
        #expect(
            result.stderr.contains("lacks \"p\" (U+70), \"m\" (U+6D), \"4\" (U+34), \"0\" (U+30)"), "\(result.stderr)")
        let missing = (0..<5).map { (5 + 6 * $0 + 1..<5 + 6 * $0 + 5, 20..<28) }
        try expect([(0..<4, 8..<12), (6..<12, 2..<12), (0..<4, 24..<28)] + missing, [255, 255, 255], in: "t.png")
    }

    @Test func `are repeated, and transparent by the opacity`() throws {
        black()
        #expect(
            try convert("black.ppm", "-o", "t.png", "--text", "B", "--tile", "--margin", "15", "--opacity", "20%")
                .status
                == 0)
        // Tiles of 5x16 pixels with 15 pixels between them.
        try expect([(15..<19, 23..<27), (35..<39, 23..<27)], [51, 51, 51], in: "t.png")
    }

    @Test func `have literal braces and backslashes`() throws {
        black()
        let result = try convert("black.ppm", "-o", "t.png", "--text", #"B\{n\}\\"#)
        #expect(result.stderr.contains(#"lacks "{" (U+7B), "n" (U+6E), "}" (U+7D), "\" (U+5C)"#), "\(result.stderr)")
    }

    @Test(arguments: [
        "images/cmyk.jpg", "images/gray.jpg", "images/rgba.png", "images/sixteen.png", "images/icc-wide.png",
    ])
    func `work on every kind of pixels`(source: String) throws {
        let result = try image.convert(
            Repository.fixture(source), "-o", "t.png", "--text", "B", "--font", Self.font, "--text-size", "50%",
            "--text-color", "red")
        #expect(result.status == 0, "\(result.stderr)")
        #expect(try image.info("bit_depth", "t.png") == (source.contains("sixteen") ? "16" : "8"))
        #expect(try image.convert("t.png", "-o", "s.ppm", "--to-srgb").status == 0)
        let isRed = { (seen: [UInt8]) in zip(seen, Color.red).allSatisfy { abs(Int($0) - Int($1)) <= 3 } }
        #expect(try pixels("s.ppm").joined().contains(where: isRed))
    }

    @Test func `are drawn on every frame`() throws {
        let source = Repository.fixture("images/three-frames.gif")
        #expect(
            try image.convert([
                source, "-o", "t.png", "-f", "apng", "--text", "B", "--font", Self.font, "--text-size", "100%",
                "--gravity",
                "southwest",
            ]).status == 0)
        for frame in ["0", "1", "2"] {
            #expect(try image.convert("t.png", "-o", "one.png", "--frame", frame).status == 0)
            // The box of B begins at the left edge and ends on the baseline, a quarter above the lower edge.
            let rows = try pixels("one.png")
            #expect(rows[rows.count * 3 / 4 - 1][0] == Color.white, "frame \(frame)")
        }
    }

    @Test(arguments: [
        (["--text", "{date}", "--font", font], 0, "--text: the image has no capture date, so {date} is empty"),
        (["--text", "A", "--font", "No Such Font"], 4, "the font \"No Such Font\" is not installed"),
        (["--text", "A", "--font", "none.ttf"], 4, "cannot read the font none.ttf"),
        (["--text", ""], 2, "--text is empty"), (["--text", #"a\t"#], 2, "a backslash comes before"),
        (["--text", "{who}"], 2, "unknown placeholder {who}"), (["--text", "A", "--text-size", "0"], 2, "--text-size"),
        (["--text", "A", "--text-color", "blu"], 2, "did you mean blue?"), (["--text-size", "9"], 2, "needs --text"),
        (["--text", "A", "--overlay", "dot.ppm", "--font", font], 2, "--overlay and --text"),
        (["--margin", "3"], 2, "--margin needs --overlay or --text"),
    ])
    func `are refused or warned about with a reason`(words: [String], status: Int32, message: String) throws {
        let result = try image.convert(["q.ppm", "-o", "t.png"] + words)
        #expect(result.stderr.contains(message), "\(result.stderr)")
        #expect((result.status == 0) == (status == 0), "\(result.status)")
    }

    @Test func `load no library unless one is drawn`() throws {
        for words in ["--help", "list", "convert q.ppm -o t.png"] {
            let shown = try Tool.shell(
                #"LD_DEBUG=files "$coderhost" \#(words) 2>&1 >/dev/null | cat"#, directory: image.place.path)
            #expect(shown.stdout.contains("libc.so.6"))
            #expect(
                ["freetype", "harfbuzz", "fontconfig"].allSatisfy { !shown.stdout.contains("lib\($0).so") }, "\(words)")
        }
        let shown = try Tool.shell(
            #"LD_DEBUG=files "$coderhost" convert q.ppm -o t.png --text A --font '\#(Self.font)' 2>&1 >/dev/null | cat"#,
            directory: image.place.path)
        #expect(shown.stdout.contains("libfreetype.so"))
    }
}
