import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite(.timeLimit(.minutes(40))) struct `A font` {
    @Test(arguments: [nil, "Boxes", "DejaVu Sans"])
    func `that is not installed is an error with a remedy`(name: String?) throws {
        let place = TemporaryDirectory()
        let error = #expect(throws: CoderError.self) { try TextFont(name, folders: [place.path]) }
        #expect(error?.code == .notFound && error?.hint?.contains("apt install fonts-dejavu-core") == true)
        #expect(error?.hint?.contains("--font FILE.ttf") == true)
    }

    @Test(arguments: [nil, "boxes", "BOXES", "Bo Xes"])
    func `is found by name in a folder`(name: String?) throws {
        let place = TemporaryDirectory()
        #expect(try run(["mkdir", "-p", place.file("a/b")]).status == 0)
        place.write(try #require(readFile(TextOverlayFont.path)), to: "a/b/Boxes-Regular.ttf")

        #expect(try TextFont(name, folders: [place.path]).name == "Boxes-Regular.ttf")
        let error = #expect(throws: CoderError.self) { try TextFont("Boxes Bold", folders: [place.path]) }
        #expect(error?.code == .notFound && error?.message.contains("\"Boxes Bold\"") == true)
    }

    @Test func `that does not exist, is no font or is cut off is refused`() throws {
        let place = TemporaryDirectory()
        let bytes = try #require(readFile(TextOverlayFont.path))
        place.write(Array("not a font".utf8), to: "text.ttf")
        place.write([], to: "empty.ttf")
        place.write(Array(bytes.prefix(100)), to: "cut.ttf")
        for (name, code) in [
            ("none.ttf", CoderError.Code.notFound), ("text.ttf", .corrupt), ("empty.ttf", .corrupt),
            ("cut.ttf", .corrupt),
        ] {
            let error = #expect(throws: CoderError.self) { try TextFont(place.file(name)) }
            #expect(
                error?.code == code && error?.message.contains(name) == true, "\(name): \(String(describing: error))")
        }
    }

    @Test(arguments: 0..<200)
    func `with damage is an error or draws, and never fails otherwise`(seed: UInt64) throws {
        var random = SeededRandom(seed)
        var bytes = try #require(readFile(TextOverlayFont.path))
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let place = TemporaryDirectory()
        place.write(bytes, to: "damaged.ttf")
        let base = try PixelBuffer(size: PixelSize(20, 20), format: .gray8)
        do throws(CoderError) {
            let style = TextStyle(size: .pixels(20), outline: RGBAColor(red: 9, green: 9, blue: 9))
            let overlay = try TextOverlay(
                "AB fi\n\u{628}\u{628}\u{5d0}", font: try TextFont(place.file("damaged.ttf")), style: style)
            let size = try overlay.transform(base).size
            #expect(size == base.size)
        } catch {
            #expect([.corrupt, .limitExceeded, .outOfMemory].contains(error.code), "\(error)")
        }
    }

    @Test func `names the characters that it lacks`() throws {
        let font = try TextFont(TextOverlayFont.path)
        #expect(font.warnings(for: "AB\n\u{5d0}\u{200b}").isEmpty)
        let warning = try #require(font.warnings(for: "AéBéz").first)
        #expect(warning.contains("boxes.ttf lacks \"é\" (U+E9), \"z\" (U+7A);"), "\(warning)")
        #expect(try #require(font.warnings(for: "123456").first).contains("and 2 more"))
    }

    @Test func `without HarfBuzz has a warning for scripts that need it`() throws {
        let plain = try TextFont(TextOverlayFont.path, folders: nil, shapes: false)
        #expect(plain.warnings(for: "A").isEmpty)
        #expect(try #require(plain.warnings(for: "\u{628}").first).contains("HarfBuzz"))
    }
}

/// The font of boxes.
enum TextOverlayFont {
    static let path = Repository.fixture("fonts/boxes.ttf")
}

@Suite(.timeLimit(.minutes(40))) struct `Texts refuse` {
    static let font = TextOverlayFont.path

    @Test(arguments: [
        ("", CoderError.Code.invalidArgument), (String(repeating: "A", count: 10_001), .limitExceeded),
        (String(repeating: "\n", count: 1_000) + "A", .limitExceeded), (" \n ", .invalidArgument),
    ])
    func `texts without characters, or with too many`(text: String, code: CoderError.Code) throws {
        let font = try TextFont(Self.font)
        let error = #expect(throws: CoderError.self) { try TextOverlay(text, font: font) }
        #expect(error?.code == code)
    }

    @Test(arguments: [
        TextSize.pixels(0), .pixels(4_097), .pixels(.nan), .pixels(-1), .ofHeight(0), .ofHeight(1.1), .ofHeight(.nan),
    ])
    func `sizes that are no size`(size: TextSize) throws {
        let overlay = try TextOverlay("A", font: try TextFont(Self.font), style: TextStyle(size: size))
        let base = try PixelBuffer(size: PixelSize(20, 20), format: .gray8)
        let error = #expect(throws: CoderError.self) { try overlay.transform(base) }
        #expect(error?.code == .invalidArgument)
        #expect(overlay.outputSize(for: base.size) == .zero)
    }

    @Test(arguments: [String(repeating: "A", count: 1_000), String(repeating: "A\n", count: 100)])
    func `an area above the limit, before memory is taken`(text: String) throws {
        let overlay = try TextOverlay(text, font: try TextFont(Self.font), style: TextStyle(size: .pixels(4_096)))
        let base = try PixelBuffer(size: PixelSize(20, 20), format: .gray8)
        let error = #expect(throws: CoderError.self) { try overlay.transform(base) }
        #expect(error?.code == .limitExceeded && error?.hint == "choose a smaller text size")
    }
}

@Suite(.timeLimit(.minutes(40))) struct `The direction of a text` {
    // The expected order follows Unicode Standard Annex 9; capital letters stand for letters from right to left.
    @Test(arguments: [
        ("abc def", "abc def"), ("abc DEF ghi", "abc FED ghi"), ("DEF abc", "abc FED"), ("ABC 12 DEF", "FED 12 CBA"),
        ("ABC 12:30", "12:30 CBA"), ("abc 12 DEF", "abc 12 FED"), ("abc DEF 12.", "abc 12 FED."),
        ("ABC. abc", "abc .CBA"),
        ("ab (CD EF) gh", "ab (FE DC) gh"), ("", ""),
    ])
    func `orders letters and numbers`(stored: String, drawn: String) {
        let line = stored.unicodeScalars.map { scalar -> Unicode.Scalar in
            (65...90).contains(scalar.value) ? Unicode.Scalar(0x5D0 + scalar.value - 65)! : scalar
        }
        let runs = TextDirection.runs(line) { _ in 0 }
        let seen = runs.flatMap { $0.isRightToLeft ? $0.characters.reversed() : $0.characters }.map { value in
            Character(Unicode.Scalar((0x5D0...0x5EA).contains(value) ? value - 0x5D0 + 65 : value)!)
        }
        #expect(String(seen) == drawn)
    }

    @Test func `separates scripts, and spaces belong to the script before`() {
        let line = Array("ab вг д".unicodeScalars)
        let runs = TextDirection.runs(line) { $0 == 32 ? 0x5A79_7979 : $0 < 128 ? 0x4C61_746E : 0x4379_726C }
        #expect(runs.map(\.characters.count) == [3, 4])
    }
}
