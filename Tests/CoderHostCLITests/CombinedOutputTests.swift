import TestSupport
import Testing

/// One output for several images: sizes of an icon, pages of a document.
@Suite(.timeLimit(.minutes(40))) struct `Outputs with several images` {
    private let place = TemporaryDirectory()

    private func tool(_ words: String...) throws -> CommandResult { try Tool.run(words, directory: place.path) }

    private func sizes(_ file: String) throws -> [String] {
        let items = try #require(try tool("info", "--items", "--json", file).documents.first)["items"].list
        return items.map { "\($0["width"].integer ?? 0)x\($0["height"].integer ?? 0)" }
    }

    /// The bytes of a PAM: a square of 300 pixels with a smooth gradient.
    private func writeSquare(_ side: Int = 300) {
        var samples: [UInt8] = []
        for y in 0..<side { for x in 0..<side { samples += [UInt8(x * 255 / side), UInt8(y * 255 / side), 90] } }
        place.write(Array("P6 \(side) \(side) 255\n".utf8) + samples, to: "square.ppm")
    }

    @Test(arguments: ["off", "require"]) func `hold all sizes of an icon`(isolation: String) throws {
        writeSquare()
        let result = try tool(
            "convert", "square.ppm", "-o", "favicon.ico", "--sizes", "16,32,48,256", "--json", "--isolation", isolation)

        #expect(result.status == 0 && result.documents.count == 1, "\(result.stderr)")
        #expect(result.documents[0]["width"].integer == 256 && result.documents[0]["warnings"].list.isEmpty)
        #expect(try sizes("favicon.ico") == ["256x256", "48x48", "32x32", "16x16"])
        // Each size has the pixels of a file of its own.
        for (item, side) in [256, 48, 32, 16].enumerated() {
            #expect(try tool("convert", "favicon.ico", "--item", "\(item)", "-o", "a.png").status == 0)
            #expect(try tool("convert", "square.ppm", "--sizes", "\(side)", "-o", "b.png").status == 0)
            let same = try tool("compare", "a.png", "b.png")
            #expect(same.status == 0, "\(side): \(same.stdout)\(same.stderr)")
        }
    }

    @Test func `tell of sizes above that of the image`() throws {
        writeSquare(40)
        let result = try tool("convert", "square.ppm", "-o", "favicon.ico", "--sizes", "16,64,256", "--json")
        let enlarged = try tool("convert", "square.ppm", "-o", "big.ico", "--sizes", "16,64", "--enlarge", "--json")

        #expect(
            result.documents[0]["warnings"].list.compactMap(\.text) == [
                "--sizes 64,256: the image is only 40 pixels wide and is not enlarged; --enlarge enlarges it"
            ])
        #expect(try sizes("favicon.ico") == ["40x40", "16x16"])
        #expect(enlarged.documents[0]["warnings"].list.isEmpty)
        #expect(try sizes("big.ico") == ["64x64", "16x16"])
    }

    @Test(arguments: [
        (["--sizes", "16,32", "-o", "a.png"], "--sizes writes several files: -o must contain {w}"),
        (["--item", "all", "-o", "a.png"], "--item all writes several files: -o must contain {item}"),
        (["--item", "all", "--sizes", "16,32", "-o", "a.ico"], "--item all writes all images to one file"),
        (["--sizes", "16,32", "--target-size", "9k", "-o", "a.ico"], "--target-size applies to one image"),
    ])
    func `are refused where a file holds one image`(words: [String], message: String) throws {
        writeSquare(40)
        let result = try Tool.run(["convert", "square.ppm"] + words, directory: place.path)

        #expect(result.status != 0 && result.stderr.contains(message), "\(result.stderr)")
        #expect(!result.stderr.contains("internal"))
    }

    @Test func `hold all pages of the input on request, else one with a warning`() throws {
        let input = Repository.fixture("tiff/three-pages.tif")
        let before = try sizes(input)
        let one = try tool("convert", input, "-o", "one.tif", "--json")
        let all = try tool("convert", input, "-o", "all.tif", "--item", "all", "--json")

        #expect(one.documents[0]["warnings"].list.first?.text?.contains("only one is written") == true)
        #expect(try sizes("one.tif").count == 1)
        #expect(all.status == 0, "\(all.stderr)")
        let roles = try #require(try tool("info", "--items", "--json", input).documents.first)["items"].list
            .map { $0["role"].text ?? "" }
        let kept = zip(before, roles).filter { ["primary", "page"].contains($0.1) }.map(\.0)
        #expect(try sizes("all.tif") == kept && kept.count > 1)
    }

    @Test func `are assembled from files, each as it is`() throws {
        writeSquare(20)
        let gif = Repository.fixture("images/three-frames.gif")
        let frames = try #require(try tool("frames", "info", "--json", gif).documents.first)["frames"].list.count
        let result = try tool("frames", "assemble", "square.ppm", gif, "-o", "pages.tif", "--json")

        #expect(result.status == 0, "\(result.stderr)")
        #expect(result.documents[0]["frame_count"].integer == frames + 1)
        #expect(try sizes("pages.tif").count == frames + 1)
        #expect(try tool("convert", "pages.tif", "--item", "0", "-o", "first.ppm").status == 0)
        #expect(
            readFile(place.file("first.ppm")).map { $0.suffix(1200) }
                == readFile(place.file("square.ppm")).map { $0.suffix(1200) })
    }

    @Test func `have no durations`() throws {
        writeSquare(20)
        let result = try tool("frames", "assemble", "square.ppm", "-o", "pages.tif", "--fps", "10")

        #expect(result.status == 64 && result.stderr.contains("--fps has no effect: tiff holds pages or sizes"))
    }
}
