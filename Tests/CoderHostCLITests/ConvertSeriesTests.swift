import TestSupport
import Testing

/// Several outputs of each input.
@Suite(.timeLimit(.minutes(40))) struct `A series in convert` {
    private let image = QuarterImage()

    private func convert(_ words: String...) throws -> CommandResult {
        image.place.write(Fixture.named("images/f.png").bytes, to: "f.png")
        return try image.convert(["f.png"] + words)
    }

    @Test func `has every width in every format, and reports each file`() throws {
        let result = try convert("-o", "{stem}-{w}.{ext}", "--sizes", "8,16", "-f", "webp,jpeg,png", "--json")

        #expect(result.status == 0)
        let documents = result.documents
        #expect(documents.map { $0["format"].text } == ["webp", "jpeg", "png", "webp", "jpeg", "png"])
        #expect(documents.map { $0["width"].integer } == [8, 8, 8, 16, 16, 16])
        for document in documents {
            let file = try #require(document["output"].text)
            #expect(file.hasPrefix("f-\(document["width"].integer ?? 0)."))
            #expect(try image.size(file) == "\(document["width"].integer ?? 0)x\(document["height"].integer ?? 0)")
            #expect(try image.info("format", file) == document["format"].text)
        }
    }

    @Test func `equals single outputs`() throws {
        #expect(try convert("-o", "{stem}-{w}.png", "--sizes", "8,16").status == 0)
        #expect(try convert("-o", "one.png", "--resize", "16x").status == 0)
        #expect(try image.hash("f-16.png") == image.hash("one.png"))
    }

    /// The image is decoded once at a reduced size: the largest output equals a single one, and the others are made
    /// from at least as many pixels.
    @Test(arguments: [
        ("jpg", []), ("jpg", ["-O", "jpeg.progressive=true"]), ("webp", []), ("webp", ["--lossless"]), ("png", []),
    ])
    func `equals single outputs if its input is decoded at a reduced size`(suffix: String, options: [String]) throws {
        let image = QuarterImage()
        let photo = Repository.fixture("images/photo.png")
        #expect(
            try image.convert([photo, "-o", "big.\(suffix)", "--resize", "1203x", "--enlarge"] + options).status == 0)

        #expect(try image.convert("big.\(suffix)", "-o", "{stem}-{w}.png", "--sizes", "40,101,80").status == 0)

        for width in [40, 80, 101] {
            #expect(
                try image.convert("big.\(suffix)", "-o", "one.png", "--resize", "\(width)x", "--overwrite").status == 0)
            let several = "big-\(width).png"
            if width == 101 { #expect(try image.hash(several) == image.hash("one.png")) }
            let within = try Tool.run(
                "compare", several, "one.png", "--within", "psnr=35", directory: image.place.path)
            #expect(within.status == 0, "\(width): \(within.stdout)")
        }
    }

    @Test(arguments: [["--crop", "1:1"], ["--crop", "12x8+3+2"], ["--filter", "box"], ["--linear"]])
    func `equals single outputs with other changes`(changes: [String]) throws {
        let image = QuarterImage()
        let source = Repository.fixture("images/f.jpg")
        #expect(try image.convert([source, "-o", "s-{w}.png", "--sizes", "3,6"] + changes).status == 0)
        #expect(try image.convert([source, "-o", "one.png", "--resize", "6x"] + changes).status == 0)
        #expect(try image.hash("s-6.png") == image.hash("one.png"))
    }

    @Test func `never enlarges, writes each size once and tells why`() throws {
        let result = try convert("-o", "{stem}-{w}.png", "--sizes", "8,50,60", "--json")

        #expect(result.documents.map { $0["width"].integer } == [8, 31])
        let warnings = result.documents.flatMap { $0["warnings"].list }.compactMap(\.text)
        #expect(
            warnings
                == ["--sizes 50,60: the image is only 31 pixels wide and is not enlarged; --enlarge enlarges it"])
        let many = try convert(
            "-o", "{stem}-{w}.png", "--sizes", (8...500).map(String.init).joined(separator: ","), "--json")
        let told = many.documents.flatMap { $0["warnings"].list }.compactMap(\.text)
        #expect(
            told.count == 1 && told[0].hasPrefix("--sizes 32,33 … 500 (469 widths): the image is only 31 pixels wide"))
        let enlarged = try convert("-o", "{stem}-{w}.png", "--sizes", "50", "--enlarge", "--json")
        #expect(enlarged.documents.map { $0["width"].integer } == [50])
    }

    @Test func `needs fewer bytes in each better format of a picture element, at no less similarity`() throws {
        let source = Repository.fixture("images/photo.png")
        let result = try image.convert(source, "-o", "{stem}.{ext}", "-f", "avif,webp,jpeg", "--json")
        let sizes = result.documents.compactMap { $0["bytes"].integer }
        #expect(sizes.count == 3 && sizes == sizes.sorted(), "\(result.stdout)")
        func similarity(_ file: String) throws -> Double {
            let words = ["compare", source, file, "--metric", "ssim", "--json"]
            let document = try Tool.run(words, directory: image.place.path).documents[0]
            return try #require(document["metrics"]["ssim"].number)
        }
        #expect(try similarity("photo.avif") >= similarity("photo.webp"))
    }

    @Test func `gets names with the width in a folder`() throws {
        image.place.folder("out")
        #expect(try convert("-o", "out/", "--sizes", "8,16", "-f", "webp").status == 0)
        #expect(try image.size("out/f-8.webp") == "8x5" && image.size("out/f-16.webp") == "16x9")
    }

    @Test func `of one format gets the extension of the format`() throws {
        #expect(try convert("-o", "{stem}-new.{ext}", "-f", "webp").status == 0)
        #expect(try image.info("format", "f-new.webp") == "webp")
    }

    @Test func `prints the picture element`() throws {
        let result = try convert(
            "-o", "{stem}-{w}.{ext}", "--sizes", "8,16", "-f", "webp,png", "--srcset", "html", "--alt", "A \"cat\"")

        #expect(
            result.stdout == """
                <picture>
                  <source type="image/webp" srcset="f-8.webp 8w, f-16.webp 16w" sizes="(max-width: 16px) 100vw, 16px">
                  <img src="f-16.png" srcset="f-8.png 8w, f-16.png 16w" sizes="(max-width: 16px) 100vw, 16px" \
                width="16" height="9" alt="A &quot;cat&quot;" loading="lazy" decoding="async">
                </picture>

                """)
    }

    @Test func `prints the data of the element as JSON`() throws {
        image.place.folder("a b")
        let result = try convert("-o", "a b/{w},{stem}.png", "--sizes", "8,16", "--srcset", "json")

        let document = try #require(result.documents.first)
        #expect(document["src"].text == "a%20b/16%2Cf.png")
        #expect(document["sources"][0]["type"].text == "image/png")
        #expect(document["sources"][0]["srcset"].text == "a%20b/8%2Cf.png 8w, a%20b/16%2Cf.png 16w")
        #expect(document["sources"][0]["files"].list.map { $0["height"].integer } == [5, 9])
        #expect(document["width"].integer == 16 && document["height"].integer == 9)
    }

    @Test func `of an animation keeps all frames where the format has them`() throws {
        let source = Repository.fixture("images/three-frames.gif")
        let result = try image.convert(
            source, "-o", "a-{w}.{ext}", "--sizes", "8,16", "-f", "webp,gif,jpeg", "--json")

        #expect(result.status == 0, "\(result.stderr)")
        let counts = try result.documents.map { try image.info("frame_count", $0["output"].text ?? "") }
        #expect(counts == ["3", "3", "1", "3", "3", "1"])
    }

    @Test(arguments: [
        (["-o", "x.png", "-f", "webp,png"], "{ext}"), (["-o", "{stem}.png", "--sizes", "8,16"], "{w}"),
        (["-o", "-", "--sizes", "8"], "standard output"),
        (["-o", "{w}.png", "--sizes", "8", "--srcset", "html", "--json"], "--srcset json"),
        (["-o", "{w}.png", "--sizes", "8", "--resize", "9"], "choose one"),
        (["-o", "{w}.png", "--sizes", "8", "--srcset", "xml"], "html"),
    ])
    func `is refused if its files would have one name`(words: [String], said: String) throws {
        let result = try image.convert(["q.ppm"] + words)
        #expect(result.status == 64)
        #expect(result.stderr.contains(said), "\(result.stderr)")
    }
}
