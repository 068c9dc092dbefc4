import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command compare` {
    let place = TemporaryDirectory()

    private func compare(_ words: String..., input: [UInt8] = []) throws -> CommandResult {
        try Tool.run(["compare"] + words, input: input, directory: place.path)
    }

    private func image(_ name: String) -> String { Repository.fixture("images/\(name)") }

    /// 2 × 2 pixels; the second file differs by 10 in red, where the first one has 0.
    private func writePair() {
        let header = Array("P6\n2 2\n255\n".utf8)
        place.write(header + [0, 1, 2, 20, 21, 22, 30, 31, 32, 40, 41, 42], to: "a.ppm")
        place.write(header + [0, 1, 2, 30, 21, 22, 30, 31, 32, 40, 41, 40], to: "b.ppm")
    }

    @Test(arguments: [("rgba.png", "rgba.pam"), ("rgba.png", "rgba.webp"), ("sixteen.png", "sixteen.ppm")])
    func `recognizes the same image in two formats`(a: String, b: String) throws {
        let result = try compare(image(a), image(b))

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(result.lines[0].hasSuffix(": identical"))
        #expect(result.stdout.contains("psnr    inf dB"))
    }

    @Test func `prints all metrics and the position of the largest difference`() throws {
        writePair()
        let text = try compare("a.ppm", "b.ppm")
        let document = try compare("a.ppm", "b.ppm", "--json").documents[0]
        let metrics = document["metrics"]

        #expect(text.status == 1)
        #expect(text.lines[0] == "a.ppm and b.ppm: 2x2, 8 bit: different")
        // The squares of 10 and 2 over 12 samples.
        let psnr = 10 * log10(255.0 * 255 * 12 / 104)
        #expect(abs(try #require(metrics["psnr"].number) - psnr) < 1e-9)
        #expect(text.stdout.contains("psnr    \((psnr * 100).rounded() / 100) dB"))
        #expect(metrics["mae"].number == 1)
        #expect(metrics["count"].integer == 2)
        #expect(text.stdout.contains("count   2         of 4 pixels, 50.00 %"), "\(text.stdout)")
        #expect(metrics["max"]["value"].integer == 10)
        #expect(metrics["max"]["x"].integer == 1 && metrics["max"]["y"].integer == 0)
        #expect(metrics["max"]["channel"].text == "red")
        #expect(document["same"].bool == false && document["bits"].integer == 8)
        #expect(!document["within"].exists && !document["frames"].exists)
    }

    @Test func `shows only the requested metrics`() throws {
        writePair()

        #expect(try compare("a.ppm", "b.ppm", "--metric", "max,count").lines.count == 4)
        let bounded = try compare("a.ppm", "b.ppm", "--metric", "mae", "--json", "--within", "max=9").documents[0]
        #expect(bounded["metrics"].keys == ["mae", "max"])
    }

    @Test(
        arguments: [
            ("max=10", 0), ("max=9", 1), ("psnr=38,count=2", 0), ("psnr=50", 1), ("psnr=38,count=1", 1), ("ssim=1", 1),
            ("mae=1.5,ssim=0.1", 0), ("psnr=0", 0),
        ] as [(String, Int32)])
    func `exits with 0 within bounds`(bounds: String, status: Int32) throws {
        writePair()
        let text = try compare("a.ppm", "b.ppm", "--within", bounds)
        let document = try compare("a.ppm", "b.ppm", "--within", bounds, "--json").documents[0]

        #expect(text.status == status)
        #expect(text.stdout.contains(", FAILED") == (status == 1))
        #expect(text.lines[0].hasSuffix(status == 0 ? "different, within bounds" : "out of bounds"))
        #expect(document["within"].bool == (status == 0) && document["same"].bool == false)
    }

    @Test func `does not compare images of different sizes`() throws {
        let text = try compare(image("f.png"), image("photo.png"), "--within", "psnr=0")
        let document = try compare(image("f.png"), image("photo.png"), "--json").documents[0]

        #expect(text.status == 1 && text.stdout.isEmpty)
        #expect(text.stderr.contains("f.png is 31x17 and "))
        #expect(!document["metrics"].exists && document["same"].bool == false)
        #expect(document["a"]["width"].integer == 31 && document["b"]["width"].integer == 160)
    }

    @Test(arguments: 2...8) func `compares images upright`(orientation: Int) throws {
        // PAM has no orientation tag, so conversion to PAM rotates the pixels.
        let turned = image("orientation-\(orientation).jpg")
        _ = try Tool.run("convert", turned, "-o", place.file("upright.pam"))

        #expect(try compare(turned, "upright.pam").status == 0)
    }

    @Test func `ignores the colors of transparent pixels, but not alpha`() throws {
        let header = Array("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n".utf8)
        place.write(header + [1, 2, 3, 0], to: "a.pam")
        place.write(header + [200, 2, 3, 0], to: "b.pam")
        place.write(header + [0, 0, 0, 8], to: "c.pam")

        #expect(try compare("a.pam", "b.pam").status == 0)
        let result = try compare("a.pam", "c.pam")
        #expect(result.status == 1 && result.stdout.contains("max     8         at 0,0 in alpha"), "\(result.stdout)")
    }

    // MARK: The difference image

    @Test func `writes the difference as an image, amplified`() throws {
        writePair()

        #expect(try compare("a.ppm", "b.ppm", "--diff", "d.ppm", "--amplify", "20").status == 1)
        let header = Array("P6\n2 2\n255\n".utf8)
        #expect(readFile(place.file("d.ppm")) == header + [0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 40])
        #expect(try compare("a.ppm", "b.ppm", "--diff", "d.png").status == 1)
        let result = try compare("d.png", "d.ppm", "--within", "max=120")
        #expect(result.status == 0, "\(result.stdout)")
        #expect(try Tool.run("info", "-f", "format", place.file("d.png")).stdout == "png\n")
        let document = try compare("a.ppm", "b.ppm", "--diff", "e.png", "--json").documents[0]
        #expect(document["diff"].text == "e.png")
    }

    @Test func `writes the difference to a pipe, and the report to standard error`() throws {
        writePair()
        let result = try compare("a.ppm", "b.ppm", "--diff", "-", "--json")

        #expect(result.status == 1 && result.output.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        #expect(Document(result.stderr)["diff"].text == "-")
    }

    @Test(
        arguments: [
            (["--diff", "a.ppm"], 73, "would overwrite the input"), (["--diff", "b.ppm"], 73, "is another input, "),
            (["--diff", "hard.ppm"], 73, "is another input, "),
            (["--diff", "there.png", "--no-overwrite"], 73, "exists"), (["--diff", "x.xyz"], 69, "xyz"),
            (["--diff", "none/x.png"], 73, "none/x.png"),
        ] as [([String], Int32, String)])
    func `overwrites no input and no protected file`(words: [String], status: Int32, message: String) throws {
        writePair()
        place.write([1], to: "there.png")
        try FileManager.default.linkItem(atPath: place.file("b.ppm"), toPath: place.file("hard.ppm"))
        let before = try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
        let b = readFile(place.file("b.ppm"))

        let result = try Tool.run(["compare", "a.ppm", "b.ppm"] + words, directory: place.path)

        #expect(result.status == status && result.stderr.contains(message), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).sorted() == before)
        #expect(readFile(place.file("b.ppm")) == b && readFile(place.file("there.png")) == [1])
    }

    // MARK: Animations

    @Test func `compares animations frame by frame`() throws {
        let gif = image("three-frames.gif")
        _ = try Tool.run("convert", gif, "-o", place.file("same.png"), "-f", "apng")
        let same = try compare(gif, "same.png")
        let other = try compare(gif, image("three-frames.webp"), "--json").documents[0]

        #expect(same.status == 0, "\(same.stdout)")
        #expect(same.lines[0].hasSuffix("8 bit, 3 frames: identical"))
        let frames = other["frames"].list
        #expect(frames.map { $0["index"].integer } == [0, 1, 2])
        let worst = try #require(frames.compactMap { $0["metrics"]["ssim"].number }.min())
        #expect(other["metrics"]["ssim"].number == worst)
        let index = try #require(other["worst_frames"]["ssim"].integer)
        #expect(frames[index]["metrics"]["ssim"].number == worst)
        let alone = try compare(gif, image("three-frames.webp"), "--frame", "\(index)", "--json").documents[0]
        #expect(alone["metrics"]["ssim"].number == worst && !alone["frames"].exists)
    }

    @Test func `reports different frame counts and durations`() throws {
        let still = image("f.png")
        func assemble(_ name: String, _ count: Int, _ fps: String) throws {
            let images = (0..<count).map { $0 % 2 == 0 ? still : image("rgba.png") }
            let result = try Tool.run(["frames", "assemble", "-o", place.file(name), "--fps", fps] + images)
            #expect(result.status == 0, "\(result.stderr)")
        }
        try assemble("two.png", 2, "10")
        try assemble("three.png", 3, "10")
        try assemble("slow.png", 2, "5")
        try assemble("same.gif", 2, "10")

        let more = try compare("two.png", "three.png", "--within", "max=0")
        #expect(more.status == 1 && more.stdout.contains("two.png has 2 frames and three.png has 3 frames"))
        let slower = try compare("two.png", "slow.png")
        #expect(slower.status == 1)
        #expect(slower.stdout.contains("2 frames of 2 have different durations"), "\(slower.stdout)")
        // With bounds, durations are reported but do not affect the exit code.
        #expect(try compare("two.png", "slow.png", "--within", "max=0").status == 0)
        #expect(try compare("two.png", "slow.png", "--frame", "1").status == 0)
        #expect(try compare("two.png", still, "--frame", "0").status == 0)
        // 1/10 s equals 10/100 s.
        #expect(try !compare("two.png", "same.gif").stdout.contains("different durations"))
    }

    // MARK: Errors

    @Test func `reads one of the two from standard input`() throws {
        let bytes = Fixture.named("images/f.ppm").bytes

        #expect(try compare(image("f.png"), "-", input: bytes).status == 0)
        #expect(try compare("-", image("f.png"), input: bytes).status == 0)
        #expect(try compare("-", "-", input: bytes).status == 64)
    }

    @Test(
        arguments: [
            (["--metric", "pnsr"], 64, "did you mean psnr?"), (["--within", "sim=1"], 64, "did you mean ssim?"),
            (["--within", "psnr"], 64, "psnr=40,max=3"), (["--within", "psnr=x"], 64, "psnr=40,max=3"),
            (["--metric", "zzzzzz"], 64, "psnr, ssim, max, mae, count"), (["--amplify", "3"], 64, "--diff"),
            (["--amplify", "0", "--diff", "x.png"], 64, "--amplify"), (["--frame", "7"], 64, "there is no frame 7"),
            (["--diff", ""], 64, "--diff needs a file name"), (["--metric", ""], 64, "unknown metric"),
        ] as [([String], Int32, String)])
    func `reports the error`(words: [String], status: Int32, message: String) throws {
        let result = try Tool.run(
            ["compare", image("f.png"), image("f.jpg")] + words, directory: place.path)

        #expect(result.status == status && result.stdout.isEmpty)
        #expect(result.stderr.contains(message), "\(result.stderr)")
    }

    @Test func `names the unreadable file`() throws {
        let missing = try compare(image("f.png"), "nowhere")
        let damaged = try compare(Repository.fixture("hostile/truncated-f.png"), image("f.png"), "--json")

        #expect(missing.status == 66 && missing.stderr.hasPrefix("coderhost: nowhere: "))
        #expect(damaged.status == 65)
        #expect(damaged.documents[0]["file"].text?.hasSuffix("truncated-f.png") == true)
        #expect(damaged.documents[0]["error"]["code"].text == "truncated")
    }

    /// AVIF stores the matrix of its samples even if the source describes no colors (code points 2/2/6).
    @Test func `does not warn about an untagged image and its AVIF`() throws {
        let made = try Tool.run("convert", image("f.png"), "-o", place.file("untagged.avif"))
        try #require(made.status == 0, "\(made.stderr)")

        let result = try compare(image("f.png"), "untagged.avif", "--json")

        #expect(result.stderr.isEmpty && result.documents[0]["warnings"].list.isEmpty, "\(result.stdout)")
        let info = try Tool.run("info", "--json", place.file("untagged.avif")).documents[0]
        #expect(info["format"].text == "avif" && info["color_profile"].text == nil)
    }

    @Test func `warns about different color profiles`() throws {
        let result = try compare(image("icc-wide.png"), image("icc-srgb-like.png"))

        #expect(result.stderr.contains("color profiles differ"), "\(result.stderr)")
    }
}
