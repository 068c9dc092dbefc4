import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Suggestions` {
    static let slips: [(words: [String], suggestion: String, status: Int32)] = [
        (["lits"], "list", 64),
        (["help", "convrt"], "convert", 64),
        (["--versoin"], "--version", 64),
        (["list", "--fromats"], "--formats", 64),
        (["list", "--format", "hecic"], "heic", 69),
        (["info", "-f", "widht", "f.png"], "width", 64),
        (["info", "--limits", "strct", "f.png"], "strict", 64),
        (["info", "--limits", "pixls=1", "f.png"], "pixels", 64),
        (["info", "--coder", "org.coderhost.pgn", "f.png"], "org.coderhost.png", 69),
        (["convert", "f.png", "-o", "out.jepg"], "jpeg", 69),
        (["convert", "f.png", "-o", "out", "-f", "wepb"], "webp", 69),
        (["convert", "f.png", "-o", "out.jpg", "-O", "jpeg.progresive=true"], "jpeg.progressive", 64),
        (["convert", "f.png", "-o", "out.jpg", "--strip", "exfi"], "exif", 64),
        (["convert", "f.png", "-o", "{stme}.jpg"], "{stem}", 64),
        (["convert", "f.png", "-o", "out.jpg", "--qualtiy", "3"], "--quality", 64),
        (["convert", "f.png", "-o", "out.jpg", "-Q", "3"], "-q 3", 64),
        (["convert", "f.png", "-resize", "8x8", "-o", "out.jpg"], "--resize 8x8", 64),
        (["convert", "f.png", "-quality", "80", "-o", "out.jpg"], "--quality 80", 64),
        (["convert", "f.png", "-quality=80", "-o", "out.jpg"], "--quality 80", 64),
        (["convert", "f.png", "-strip", "-o", "out.jpg"], "--strip", 64),
        (["convert", "f.png", "-o", "out.jpg", "-O", "progressive=true"], "jpeg.progressive", 64),
        (["convert", "f.png", "-o", "out.jpg", "-O", "progresive=true"], "jpeg.progressive", 64),
        (["plugin", "disable", "png"], "org.coderhost.png-plugin", 66),
        (["plugin", "disable", "webp"], "org.coderhost.webp-plugin", 66),
        (["plugin", "disable", "/nowhere/libcoder-heif.so"], "org.coderhost.heif-plugin", 66),
        (["plugin", "disable", "org.coderhost.gif"], "org.coderhost.gif-plugin", 66),
    ]

    @Test(arguments: slips.indices)
    func `name the most likely word`(index: Int) throws {
        let slip = Self.slips[index]
        let place = TemporaryDirectory()
        place.write(Fixture.named("images/f.png").bytes, to: "f.png")

        let result = try Tool.run(slip.words, directory: place.path)

        #expect(result.status == slip.status)
        #expect(result.stdout.isEmpty)
        #expect(result.stderr.hasPrefix("coderhost: "))
        let last = result.stderr.split(separator: "\n").last ?? ""
        let allowed = slip.suggestion == "jpeg" ? ["jpeg", "jpg"] : [slip.suggestion]
        #expect(allowed.contains { last.hasPrefix("  try: did you mean \($0)?") }, "\(result.stderr)")
    }

    @Test(arguments: [
        (
            ["convert", "-o", "o.jpg", "-O", "jpeg.progressive=true", "-O", "jpeg.progressive=false"],
            "-O sets jpeg.progressive twice: \"true\" and \"false\""
        ),
        (
            ["convert", "-o", "o.jpg", "-q", "80", "-O", "quality=50"],
            "--quality and -O quality=50 set the same option"
        ),
        (
            ["convert", "-o", "o.jpg", "--strip", "exif", "--keep", "icc,exif"],
            "--keep exif and --strip exif contradict each other"
        ),
        (
            ["thumbnail", "-o", "o.jpg", "--size", "8", "--strip", "all", "--keep", "icc"],
            "--keep icc and --strip all contradict each other"
        ),
        (
            ["rewrite", "-o", "o.png", "--strip", "gps", "--keep", "gps"],
            "--keep gps and --strip gps contradict each other"
        ),
        (
            ["rewrite", "-o", "o.png", "--strip", "all", "--keep", "exif"],
            "--keep exif and --strip all contradict each other"
        ),
    ])
    func `are one of the two options that contradict each other`(words: [String], message: String) throws {
        let place = TemporaryDirectory()
        place.write(Fixture.named("images/f.png").bytes, to: "f.png")

        let result = try Tool.run(words + ["f.png"], directory: place.path)

        #expect(result.status == 64)
        #expect(result.stderr.hasPrefix("coderhost: \(message)\n  try: "), "\(result.stderr)")
    }

    @Test(arguments: [
        ["convert", "-o", "o.jpg", "-O", "jpeg.progressive=true", "-O", "jpeg.progressive=true"],
        ["convert", "-o", "o.jpg", "--keep", "all", "--strip", "gps"],
        ["convert", "-o", "o.jpg", "--keep", "exif,icc", "--strip", "gps"],
        ["rewrite", "-o", "o.png", "--keep", "icc", "--strip", "all"],
    ])
    func `are not needed for options that add up`(words: [String]) throws {
        let place = TemporaryDirectory()
        place.write(Fixture.named("images/f.png").bytes, to: "f.png")

        let result = try Tool.run(words + ["f.png"], directory: place.path)

        #expect(result.status == 0, "\(result.stderr)")
    }

    static let nonsense: [(words: [String], status: Int32)] = [
        (["x"], 64), (["convert", "f.png", "-o", "o.jpg", "-Z"], 64), (["list", "one"], 64), (["info"], 64),
        (["convert", "f.png"], 64),
        (["info", "--json=1", "f.png"], 64),
        (["info", "--coder"], 64), (["list", "--explain"], 64), (["list", "--format", "zzz"], 69),
        (["info", "--limits", "side", "f.png"], 64), (["info", "--limits", "side=x", "f.png"], 64),
        (["convert", "f.png", "-o", "o.jpg", "-q", "101"], 64),
        (["convert", "f.png", "-o", "o.jpg", "-q", "high"], 64),
        (["convert", "f.png", "-o", "o.jpg", "--frame", "-1"], 64),
        (["convert", "f.png", "-o", "o.jpg", "-O", "x"], 64),
        (["convert", "f.png", "-o", "o.jpg", "-O", "quality=1000"], 64), (["convert", "f.png", "-o", ""], 64),
        (["convert", "f.png", "-o", "o.jpg", "-O", "jpeg.progressive=maybe"], 64),
        (["convert", "f.png", "-o", "none/", "--no-mkdir"], 73), (["convert", "f.png", "f.png", "-o", "o.jpg"], 64),
        (["convert", "f.png", "-o", "o.xyz"], 69),
    ]

    @Test(arguments: nonsense.indices)
    func `are absent for unrelated words, but every refusal has a hint`(index: Int) throws {
        let (words, status) = Self.nonsense[index]
        let place = TemporaryDirectory()
        place.write(Fixture.named("images/f.png").bytes, to: "f.png")

        let result = try Tool.run(words, directory: place.path)

        #expect(result.status == status, "\(words)")
        #expect(!result.stderr.contains("did you mean"), "\(result.stderr)")
        #expect(result.stderr.hasPrefix("coderhost: "))
        // The message or a hint states the valid values.
        let saysMore =
            result.stderr.contains("\n  try: ") || result.stderr.contains("above") || result.stderr.contains("neither")
        #expect(saysMore, "\(result.stderr)")
        #expect(try Tool.shell("ls -A", directory: place.path).stdout == "f.png\n")
    }

    @Test(arguments: [
        (["convert", "f.png", "b.webp"], "  try: coderhost convert f.png -o b.webp"),
        (["rewrite", "f.png", "B.PNG"], "  try: coderhost rewrite f.png -o B.PNG"),
        (["convert", "f.png", "g.png"], "  try: coderhost convert f.png -o g.png"),
        (["convert", "f.png", "g.png", "b.webp"], "  try: coderhost convert … -o b.webp"),
        (["convert", "f.png", "g.png", "f.png"], "  try: coderhost convert … -o OUT, a file or a folder/"),
        (["convert", "f.png", "f.png"], "  try: coderhost convert … -o OUT, a file or a folder/"),
        (["convert", "f.png"], "  try: coderhost convert f.png -o OUT, a file or a folder/"),
        (["convert", "f.png", "b.unknown"], "  try: coderhost convert --help"),
        (["convert", "b.webp"], "  try: coderhost convert --help"),
    ])
    func `name -o if the last operand looks like an output`(words: [String], hint: String) throws {
        let place = TemporaryDirectory()
        for name in ["f.png", "g.png"] { place.write(Fixture.named("images/f.png").bytes, to: name) }

        let result = try Tool.run(words, directory: place.path)

        #expect(result.status == 64)
        #expect(result.stderr.split(separator: "\n") == ["coderhost: missing option -o OUT", hint[...]])
    }

    @Test(arguments: [
        (["convert", "f.png", "--width", "640", "-o", "o.png"], "write --resize 640x"),
        (["convert", "f.png", "--width=640", "-o", "o.png"], "write --resize 640x"),
        (["convert", "f.png", "-w", "640", "-o", "o.png"], "write --resize 640x"),
        (["convert", "f.png", "--width"], "write --resize 800x"),
        (["convert", "f.png", "--height", "20", "-o", "o.png"], "write --resize x20"),
        (["thumbnail", "f.png", "-width", "64"], "write --size 64x"),
        (["convert", "f.png", "--scale", "25%", "-o", "o.png"], "write --resize 25%"),
        (["convert", "f.png", "--output-dir", "web/"], "write -o web/"),
        (["convert", "f.png", "--background", "red", "-o", "o.jpg"], "write --bg red"),
        (["convert", "f.png", "--grayscale", "-o", "o.png"], "write --effect grayscale"),
        (["convert", "f.png", "--greyscale"], "write --effect grayscale"),
        (["convert", "f.png", "--strip-gps", "-o", "o.png"], "write --strip gps"),
    ])
    func `name the own option for the option of another program`(words: [String], hint: String) throws {
        let place = TemporaryDirectory()
        place.write(Fixture.named("images/f.png").bytes, to: "f.png")

        let result = try Tool.run(words, directory: place.path)

        #expect(result.status == 64 && result.stderr.hasPrefix("coderhost: unknown option "))
        #expect(result.stderr.hasSuffix("\n  try: \(hint)\n"), "\(result.stderr)")
        // The remedy is accepted.
        let remedy = hint.dropFirst(6).split(separator: " ").map(String.init)
        let output = remedy.contains("-o") ? [] : ["-o", "new.jpg"]
        let fixed = try Tool.run([words[0], "f.png"] + remedy + output, directory: place.path)
        #expect(fixed.status == 0, "\(fixed.stderr)")
    }

    @Test(arguments: [
        (["rewrite", "f.png", "--strip-gps"], "write --strip gps"),
        (["convert", "f.png", "--annotate", "© Ann"], "write --text '© Ann'"),
        (["convert", "f.png", "--watermark", "logo.png"], "write --overlay logo.png"),
    ])
    func `quote a value with spaces, and fit the command`(words: [String], hint: String) throws {
        let result = try Tool.run(words)
        #expect(result.status == 64 && result.stderr.hasSuffix("\n  try: \(hint)\n"), "\(result.stderr)")
    }

    @Test(arguments: [
        (["optimize", "f.png"], "coderhost rewrite FILE --optimize -o OUT"),
        (["exif", "f.png"], "coderhost metadata FILE"),
        (["rotate", "f.png"], "coderhost convert IN --rotate 90 -o OUT"),
        (["crop"], "coderhost convert IN --crop 640x480+10+20 -o OUT"),
        (["Resize"], "coderhost convert IN --resize 800x600 -o OUT"),
    ])
    func `name the own command for the command of another program`(words: [String], remedy: String) throws {
        let result = try Tool.run(words)
        #expect(result.status == 64)
        #expect(result.stderr == "coderhost: unknown command \(words[0])\n  try: \(remedy)\n")
        let place = TemporaryDirectory()
        place.write(Fixture.named("images/photo.jpg").bytes, to: "FILE")
        place.write(Fixture.named("images/photo.png").bytes, to: "IN")
        let accepted = try Tool.run(
            Array(remedy.split(separator: " ").map(String.init).dropFirst()), directory: place.path)
        #expect(accepted.status == 0, "\(accepted.stderr)")
    }

    static let limits: [(value: String, message: String, hint: String)] = [
        ("", "has an empty part", "--limits strict"), ("x", "unknown profile \"x\"", "pass a profile"),
        ("strict,", "has an empty part", "--limits strict"),
        ("stric", "unknown profile \"stric\"", "did you mean strict?"),
        ("pixel", "unknown profile \"pixel\"", "did you mean pixels=N?"), ("pixels", "pixels has no value", "pixels=N"),
        ("pixels=", "pixels= has no value", "the default is pixels=250000000"),
        ("pixels=-1", "pixels=-1 is negative", "pixels=0 for no limit"),
        ("pixels=1e9", "pixels=1e9 is not a whole number", "k, M, G and T multiply by 1024"),
        ("threads=10X", "threads=10X is not a whole number", "the default is threads=4"),
        ("side=+5", "side=+5 is not a whole number", "side=65535"),
        ("pixels=99999999999G", "is too large", "pixels=0 for no limit"),
        ("memory=8388608T", "is too large", "memory=0 for no limit"),
        ("pixels=99999999999999999999", "is too large", "pixels=0 for no limit"),
        ("=5", "unknown limit \"\"", "limits: side, pixels"),
        ("pixls=5", "unknown limit \"pixls\"", "did you mean pixels?"),
        ("pixels=1,pixels=2", "sets pixels twice", "remove one of the two"),
        ("pixels=1,strict", "the profile strict must come first", "--limits strict,pixels=100M"),
    ]

    @Test(arguments: limits.indices) func `of limits name the error, the place and a remedy`(index: Int) throws {
        let (value, message, hint) = Self.limits[index]

        let result = try Tool.run("info", "--limits=\(value)", Repository.fixture("images/f.png"))

        #expect(result.status == 64 && result.stdout.isEmpty)
        let lines = result.stderr.split(separator: "\n")
        #expect(lines.count == 2, "\(result.stderr)")
        #expect(
            lines.first?.hasPrefix("coderhost: ") == true && lines.first?.contains("--limits") == true
                && lines.first?.contains(message) == true,
            "\(result.stderr)")
        #expect(lines.last?.hasPrefix("  try: ") == true && lines.last?.contains(hint) == true, "\(result.stderr)")
    }

    @Test func `are not needed for limits in two options`() throws {
        let image = Repository.fixture("images/f.png")

        let both = try Tool.run("info", "--limits", "strict", "--limits", "side=30", image)

        #expect(both.status == 77 && both.stderr.contains("above the limit of 30"))
        #expect(try Tool.run("info", "--limits", "strict,side=31", image).status == 0)
    }
}
