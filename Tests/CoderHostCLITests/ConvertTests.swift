import Foundation
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command convert` {
    let place = TemporaryDirectory()

    /// Copies images to the folder of the test.
    private func put(_ names: String...) throws {
        for name in names {
            try FileManager.default.copyItem(
                atPath: Repository.fixture("images/\(name)"), toPath: place.file(name))
        }
    }

    private func convert(_ words: String..., input: [UInt8] = []) throws -> CommandResult {
        try Tool.run(["convert"] + words, input: input, directory: place.path)
    }

    private func info(_ file: String, _ field: String) throws -> String? {
        try Tool.run("info", "-f", field, file, directory: place.path).lines.first
    }

    private func names(_ folder: String = ".") throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: place.file(folder)))
    }

    @Test(arguments: [
        ("avif", [], "16 bits become 10 bits; avif.bit-depth=12 keeps 12"), ("avif", ["-O", "avif.bit-depth=12"], nil),
        ("heic", [], "16 bits become 10 bits; heif.bit-depth=12 keeps 12"), ("webp", [], "16 bits become 8 bits"),
        ("png", [], nil),
    ])
    func `warns if the format reduces the bit depth`(format: String, words: [String], said: String?) throws {
        let result = try Tool.run(
            ["convert", Repository.fixture("images/sixteen.png"), "-o", "out.\(format)", "--effort", "0"] + words,
            directory: place.path)

        #expect(result.status == 0)
        if let said {
            #expect(result.stderr.contains(said), "\(result.stderr)")
        } else {
            #expect(result.stderr.isEmpty)
        }
    }

    // MARK: Outputs

    @Test(
        arguments: BundledPlugin.written.map(\.id) + ["pam", "pnm"],
        ["f.png", "f.jpg", "f.webp", "f.heic", "f.avif", "f.gif", "rgba.ff", "rgba.pam", "f.ppm"])
    func `writes every format from every format`(format: String, input: String) throws {
        try put(input)

        let result = try convert(input, "-o", "out/", "-f", format, "--no-mkdir")
        #expect(result.status == 73, "the folder is not there yet")
        #expect(try convert(input, "-o", "out/", "-f", format).status == 0)

        let written = try #require(try names("out").first)
        #expect(try info("out/\(written)", "format,width,height") == format)
        #expect(
            try Tool.run("info", "-f", "width,height", "out/\(written)", directory: place.path).lines == ["31", "17"])
    }

    @Test func `keeps every pixel through lossless formats`() throws {
        try put("rgba.png")

        #expect(try convert("rgba.png", "-o", "1.ff").status == 0)
        #expect(try convert("1.ff", "-o", "2.webp", "--lossless", "-O", "webp.exact=true").status == 0)
        #expect(try convert("2.webp", "-o", "3.pam").status == 0)
        #expect(try convert("3.pam", "-o", "4.png").status == 0)

        #expect(try info("4.png", "pixel_sha256") == Fixture.named("images/rgba.png").expect?.pixelSHA256)
    }

    @Test func `accepts a file extension as format, in any case`() throws {
        try put("f.png")

        #expect(try convert("f.png", "-o", "a", "-f", "jpg").status == 0)
        #expect(try convert("f.png", "-o", "b.JPG").status == 0)
        #expect(try info("a", "format") == "jpeg")
        #expect(try info("b.JPG", "format") == "jpeg")
    }

    @Test func `chooses PNG with alpha and JPEG without by default`() throws {
        try put("rgba.webp", "f.webp")
        place.folder("out")

        #expect(try convert("rgba.webp", "f.webp", "-o", "out").status == 0)
        #expect(try names("out") == ["rgba.png", "f.jpg"])
    }

    @Test func `fills templates`() throws {
        try put("f.png", "gray.png")
        place.folder("out")

        #expect(try convert("f.png", "gray.png", "-o", "out/{n:03}-{stem}-{w}x{h}.{ext}").status == 0)
        #expect(try names("out") == ["000-f-31x17.png", "001-gray-31x17.png"])
        #expect(try convert("f.png", "./gray.png", "-o", "{dir}{stem}.webp").status == 0)
        #expect(try names().isSuperset(of: ["f.webp", "gray.webp"]))
    }

    @Test func `works in a pipe`() throws {
        let result = try convert("-", "-o", "-", "-f", "png", input: Fixture.named("images/f.webp").bytes)

        #expect(result.status == 0)
        #expect(result.stderr.isEmpty)
        place.write(result.output, to: "f.png")
        #expect(try info("f.png", "pixel_sha256") == Fixture.named("images/f.webp").expect?.pixelSHA256)
    }

    @Test func `reports its outputs with --verbose and --json`() throws {
        try put("f.png")

        #expect(
            try convert("f.png", "-o", "f.webp", "-v").stderr
                == "f.png (png 31x17) -> f.webp (webp 31x17)  [org.coderhost.png -> org.coderhost.webp]\n")
        let report = try convert("f.png", "-o", "f.jpg", "--json").documents[0]
        #expect(
            report.keys == [
                "file", "output", "format", "width", "height", "coder", "encoder", "incomplete", "isolation",
                "encoder_isolation", "item", "warnings", "input_bytes", "bytes",
            ])
        // The image goes to standard output, so the report goes to standard error.
        let piped = try convert("f.png", "-o", "-", "-f", "pam", "--json")
        #expect(piped.stdout.hasPrefix("P7"))
        #expect(Document(piped.stderr)["format"].text == "pam")
    }

    // MARK: Options

    @Test func `passes on quality, effort and coder options`() throws {
        try put("photo.png")

        for words in [["-q", "10"], ["-q90"], ["--quality=90", "-O", "jpeg.progressive=true"]] {
            #expect(
                try Tool.run(["convert", "photo.png", "-o", "o\(words.count).jpg"] + words, directory: place.path)
                    .status == 0)
        }
        let small = try #require(readFile(place.file("o2.jpg"))).count
        let large = try #require(readFile(place.file("o1.jpg"))).count
        #expect(small * 2 < large)
        // SOF2 marks a progressive image, SOF0 a baseline image.
        func has(_ marker: UInt8, _ file: String) -> Bool {
            let bytes = readFile(place.file(file)) ?? []
            return zip(bytes, bytes.dropFirst()).contains { $0 == 0xFF && $1 == marker }
        }
        #expect(has(0xC2, "o3.jpg") && !has(0xC0, "o3.jpg") && has(0xC0, "o1.jpg"))
    }

    @Test func `warns about options that the encoder lacks`() throws {
        try put("f.png", "rgba.png")

        #expect(
            try convert("f.png", "-o", "a.png", "-q", "5").stderr.contains(
                "warning: --quality is ignored: png has no such option"))
        #expect(try convert("f.png", "-o", "a.jpg", "--lossless").stderr.contains("jpeg is always lossy"))
        #expect(try convert("f.png", "-o", "b.png", "--lossless").stderr.isEmpty)
        #expect(try convert("rgba.png", "-o", "b.jpg").stderr.contains("warning: the format has no alpha"))
    }

    @Test func `converts the requested frame`() throws {
        try put("three-frames.gif")
        let digests = Document(
            try Tool.run("info", "--json", "--frames", "--hash", "three-frames.gif", directory: place.path).stdout)[
                "frames"
            ].list

        for index in 0..<3 {
            #expect(try convert("three-frames.gif", "--frame", "\(index)", "-o", "\(index).png").status == 0)
            #expect(try info("\(index).png", "pixel_sha256") == digests[index]["pixel_sha256"].text)
        }
        let absent = try convert("three-frames.gif", "--frame", "3", "-o", "3.png")
        #expect(absent.status == 64)
        #expect(absent.stderr.contains("it has 3, counted from 0"))
    }

    @Test func `keeps and strips metadata`() throws {
        try put("orientation-6.jpg", "icc-wide.png")
        func kinds(_ file: String) throws -> [String] {
            let document = Document(try Tool.run("info", "--json", file, directory: place.path).stdout)
            return document["metadata"].list.compactMap { $0["kind"].text }
        }

        #expect(try convert("orientation-6.jpg", "-o", "kept.jpg").status == 0)
        #expect(try kinds("kept.jpg").contains("exif"))
        #expect(try info("kept.jpg", "orientation") == "6")
        #expect(try convert("orientation-6.jpg", "-o", "bare.jpg", "--strip", "all").status == 0)
        #expect(try kinds("bare.jpg").isEmpty)
        // The orientation is applied to the pixels instead of the metadata.
        #expect(
            try Tool.run("info", "-f", "width,height,orientation", "bare.jpg", directory: place.path).lines == [
                "17", "31", "1",
            ])
        #expect(try convert("icc-wide.png", "-o", "icc.jpg", "--keep", "icc").status == 0)
        #expect(try kinds("icc.jpg") == ["icc"])
        #expect(try convert("icc-wide.png", "-o", "none.jpg", "--keep", "exif,xmp").status == 0)
        #expect(try kinds("none.jpg").isEmpty)
    }

    // MARK: Errors

    @Test func `continues after a bad file and exits with 1`() throws {
        try put("f.png", "f.jpg")
        place.write(Fixture.named("hostile/truncated-f.png").bytes, to: "bad.png")
        place.folder("out")

        let result = try convert("f.png", "bad.png", "nowhere.png", "f.jpg", "-o", "out/{stem}-{ext}.webp")

        #expect(result.status == 1)
        #expect(result.stderr.contains("coderhost: bad.png: "))
        #expect(result.stderr.contains("coderhost: nowhere.png: there is no such file"))
        #expect(result.stderr.hasSuffix("coderhost: 2 of 4 inputs failed\n"))
        #expect(try names("out") == ["f-png.webp", "f-jpg.webp"])
    }

    @Test func `writes no output twice per call`() throws {
        try put("f.png", "f.jpg")
        place.folder("out")

        let result = try convert("f.png", "f.jpg", "-o", "out/", "-f", "webp")

        #expect(result.status == 1)
        #expect(result.stderr.contains("out/f.webp was already written from f.png"))
        #expect(try convert("f.png", "-o", "out/", "-f", "webp").status == 0, "a second call may")
    }

    @Test func `refuses an output that is the input under any name`() throws {
        try put("f.png")
        let before = readFile(place.file("f.png"))
        try Tool.link("f.png", at: place.file("link.png"))

        for output in ["f.png", "./f.png", place.file("f.png"), "link.png", "{stem}.png"] {
            let result = try convert("f.png", "-o", output)
            #expect(result.status == 73, "\(output)")
            #expect(result.stderr.contains("would overwrite the input"))
        }
        #expect(readFile(place.file("f.png")) == before)
        #expect(try convert("f.png", "-o", "f.png", "--overwrite", "-O", "png.interlaced=true").status == 0)
        #expect(readFile(place.file("f.png")) != before)
        #expect(try info("f.png", "pixel_sha256") == Fixture.named("images/f.png").expect?.pixelSHA256)
    }

    @Test func `replaces an output unless --no-overwrite is given, and keeps permissions and links`() throws {
        try put("f.png")
        place.write([1], to: "old.jpg")
        try Tool.permit(0o640, place.file("old.jpg"))
        try Tool.link("old.jpg", at: place.file("link.jpg"))

        let refused = try convert("f.png", "-o", "old.jpg", "--no-overwrite")
        #expect(refused.status == 73)
        #expect(refused.stderr.contains("omit --no-overwrite"))
        #expect(readFile(place.file("old.jpg")) == [1])

        #expect(try convert("f.png", "-o", "link.jpg").status == 0)
        #expect(try info("old.jpg", "format") == "jpeg")
        let shell = try Tool.shell("stat -c %a old.jpg; readlink link.jpg", directory: place.path)
        #expect(shell.stdout == "640\nold.jpg\n")
    }

    @Test func `refuses an unknown file extension before decoding`() throws {
        place.write([], to: "empty.png")

        let result = try convert("empty.png", "-o", "out.xyz")

        #expect(result.status == 69)
        #expect(result.stderr.contains("no usable coder writes xyz"))
        #expect(result.stderr.contains("available formats: apng, avif, "))
        #expect(try names() == ["empty.png"])
    }

    @Test func `refuses to write an image to a terminal`() throws {
        try put("f.png")

        let result = try Tool.shell(
            "script -qec '\"$coderhost\" convert f.png -o -' /dev/null", directory: place.path)

        #expect(result.status == 73)
        #expect(result.stdout.contains("an image is not written to a terminal"))
        #expect(!result.stdout.contains("PNG"))
    }

    @Test(arguments: Fixture.bad.filter { $0.format != "none" })
    func `writes nothing for a damaged file`(fixture: Fixture) throws {
        let result = try convert(fixture.path, "-o", "out.pam")

        #expect([65, 69, 77].contains(result.status), "\(result.status)")
        #expect(try names().isEmpty)
    }

    @Test func `leaves no files when the encoder fails or the disk is full`() throws {
        try put("f.png", "photo.png")

        // GIF stores a side in 16 bits.
        place.write(Array("P5 70000 1 255\n".utf8) + [UInt8](repeating: 7, count: 70000), to: "wide.pgm")
        let failed = try convert("wide.pgm", "-o", "wide.gif", "--limits", "side=0")
        #expect(failed.status != 0)
        let full = try convert("f.png", "-o", "/dev/full", "-f", "png")
        #expect(full.status == 74)
        #expect(full.stderr.contains("No space left on device"))
        let limited = try convert("photo.png", "-o", "photo.pam", "--limits", "output=1000")
        #expect(limited.status == 77)
        #expect(try names() == ["f.png", "photo.png", "wide.pgm"])
    }

    @Test func `leaves no files when it is killed, and keeps the previous output`() throws {
        // A large image: the pipe blocks the process while the output is incomplete.
        place.write(
            Array("P6 3000 3000 255\n".utf8) + (0..<27_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) },
            to: "in.ppm")
        place.write([7], to: "out.png")

        let result = try Tool.shell(
            """
            "$coderhost" convert in.ppm -o out.png -O effort=9 & converter=$!
            # Its output is open once a file in this folder is among its descriptors, other than the input.
            for _ in $(seq 2000); do
                ls -l /proc/$converter/fd 2>/dev/null | grep -qE "$PWD/(#|\\.)" && break
                sleep 0.005
            done
            kill -9 $converter
            wait $converter || echo "ended with $?"
            """, directory: place.path)

        #expect(result.stdout == "ended with 137\n", "it was faster than the test: \(result.stdout)\(result.stderr)")
        #expect(try names() == ["in.ppm", "out.png"])
        #expect(readFile(place.file("out.png")) == [7])
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Options that contradict` {
    @Test func `are refused`() throws {
        let result = try Tool.run(
            "convert", Repository.fixture("images/three-frames.gif"), "-o", "/dev/null", "-f", "png", "--frame", "1",
            "--first-frame")

        #expect(result.status == 64)
        #expect(result.stderr.contains("--frame and --first-frame"), "\(result.stderr)")
    }
}
