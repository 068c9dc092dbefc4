import TestSupport
import Testing

/// Watermarks in convert.
@Suite(.timeLimit(.minutes(40))) struct `Overlays in convert` {
    private typealias Color = QuarterImage
    private let image = QuarterImage()

    @Test(arguments: [
        ([], [Color.red, Color.green, Color.blue, Color.red]),
        (["--gravity", "northeast"], [Color.red, Color.red, Color.blue, Color.white]),
        (["--margin", "1"], [Color.red, Color.green, Color.blue, Color.white]),
        (["--tile"], [Color.red, Color.red, Color.red, Color.red]),
        (["--opacity", "0"], [Color.red, Color.green, Color.blue, Color.white]),
        (["--opacity", "50%"], [Color.red, Color.green, Color.blue, [255, 127, 127]]),
        (["--opacity", "0.5"], [Color.red, Color.green, Color.blue, [255, 127, 127]]),
        (["--opacity", "0.5", "--gravity", "bottom-right"], [Color.red, Color.green, Color.blue, [255, 127, 127]]),
        (["--flip", "both"], [Color.white, Color.blue, Color.green, Color.red]),
    ])
    func `are drawn after the other changes`(words: [String], corners: [[UInt8]]) throws {
        let result = try image.convert(["q.ppm", "-o", "t.png", "--overlay", "dot.ppm"] + words)

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        let seen = try image.corners("t.png")
        for (color, wanted) in zip(seen.joined(), corners.joined()) { #expect(abs(Int(color) - Int(wanted)) <= 1) }
    }

    @Test func `are converted to the colors of the image`() throws {
        let source = Repository.fixture("images/icc-wide.png")
        #expect(try image.convert(source, "-o", "t.png", "--overlay", "dot.ppm").status == 0)
        #expect(try image.info("color_profile", "t.png") == image.info("color_profile", source))

        #expect(try image.corners("t.png")[3] != Color.red)
        #expect(try image.convert("t.png", "-o", "s.png", "--to-srgb").status == 0)
        let seen = try image.corners("s.png")[3]
        for (color, wanted) in zip(seen, Color.red) { #expect(abs(Int(color) - Int(wanted)) <= 3, "\(seen)") }
    }

    @Test(arguments: ["images/cmyk.jpg", "images/gray.jpg", "images/rgba.png", "images/sixteen.png"])
    func `work on every kind of pixels`(source: String) throws {
        let result = try image.convert(Repository.fixture(source), "-o", "t.png", "--overlay", "dot.ppm")

        #expect(result.status == 0, "\(result.stderr)")
        let seen = try image.corners("t.png")[3]
        for (color, wanted) in zip(seen, Color.red) { #expect(abs(Int(color) - Int(wanted)) <= 1, "\(seen)") }
        #expect(try image.info("bit_depth", "t.png") == (source.contains("sixteen") ? "16" : "8"))
    }

    @Test func `are drawn on every frame`() throws {
        let source = Repository.fixture("images/three-frames.gif")
        #expect(try image.convert(source, "-o", "t.png", "-f", "apng", "--overlay", "dot.ppm").status == 0)
        for frame in ["0", "1", "2"] {
            #expect(try image.convert("t.png", "-o", "one.png", "--frame", frame).status == 0)
            #expect(try image.corners("one.png")[3] == Color.red)
        }
    }

    @Test func `have a gravity of their own beside that of a crop`() throws {
        // The right half is cropped; the overlay goes to its top left corner.
        let words = ["q.ppm", "-o", "t.png", "--crop", "8x8", "--gravity", "east", "--overlay", "dot.ppm"]
        let result = try image.convert(words + ["--overlay-gravity", "northwest"])

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(try image.corners("t.png") == [Color.red, Color.green, Color.white, Color.white])
        // Without it, --gravity places the overlay, and the crop is central.
        #expect(try image.convert(words).status == 0)
        #expect(try image.corners("t.png") == [Color.red, Color.green, Color.blue, Color.white])
        // Tiles have no place, so --gravity places the crop.
        #expect(try image.convert(words + ["--tile", "--opacity", "0"]).status == 0)
        #expect(try image.corners("t.png") == [Color.green, Color.green, Color.white, Color.white])
    }

    @Test(arguments: [
        (["--overlay-gravity", "north"], "add --overlay FILE"),
        (["--overlay", "dot.ppm", "--tile", "--overlay-gravity", "north"], "remove one of the two"),
        (["--overlay", "dot.ppm", "--overlay-gravity", "nort"], "did you mean north?"),
        (["--overlay", "dot.ppm", "--overlay-gravity", "north", "--gravity", "south"], "--extend"),
    ])
    func `are refused without a place that has an effect`(words: [String], hint: String) throws {
        let result = try image.convert(["q.ppm", "-o", "t.png"] + words)
        #expect(result.status == 64 && result.stderr.contains(hint), "\(result.stderr)")
    }

    @Test(
        arguments: [
            ([], "the overlay of 16x8 pixels does not fit the image of 2x2: it is reduced"),
            (["--tile"], "the overlay of 16x8 pixels does not fit the image of 2x2: it is cut"),
            (["--extend", "20"], "the overlay of 16x8 pixels does not fit the image of 2x2: it is reduced"),
            (["--resize", "16x8!"], nil), (["--rotate", "90", "--resize", "8x16!"], nil),
            (
                ["--resize", "16x8!", "--margin", "1"],
                "the overlay of 16x8 pixels and a margin of 1 does not fit the image of 16x8: it is reduced"
            ),
        ] as [([String], String?)])
    func `that do not fit the image are told`(words: [String], warning: String?) throws {
        let result = try image.convert(["dot.ppm", "-o", "t.png", "--overlay", "q.ppm", "--json"] + words)

        #expect(result.status == 0, "\(result.stderr)")
        #expect(result.documents[0]["warnings"].list.compactMap(\.text) == (warning.map { [$0] } ?? []))
    }
}
