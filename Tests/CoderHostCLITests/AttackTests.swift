import Glibc
import TestSupport
import Testing

/// Command lines and files that broke earlier versions of the command.
@Suite(.timeLimit(.minutes(40))) struct `Regressions of the command` {
    @Test func `an input of a batch is not replaced before its turn`() throws {
        let place = TemporaryDirectory()
        let png = readFile(Repository.fixture("images/f.png"))!
        place.write(readFile(Repository.fixture("images/gray.jpg"))!, to: "a.jpg")
        place.write(png, to: "a.png")

        let result = try Tool.run(["convert", "a.jpg", "a.png", "-o", "./", "-f", "png"], directory: place.path)

        #expect(result.status == 1)
        #expect(readFile(place.file("a.png")) == png)
    }

    @Test func `a template's width may be any number`() throws {
        let place = TemporaryDirectory()

        let result = try Tool.run(
            ["convert", Repository.fixture("images/f.png"), "-o", "x{n:-9223372036854775808}.png"],
            directory: place.path)

        #expect(result.status == 0)
        #expect(readFile(place.file("x0.png")) != nil)
    }

    @Test func `a name that begins with a combining mark stays in its folder`() throws {
        let place = TemporaryDirectory()
        _ = place.folder("in")
        _ = place.folder("out")
        place.write(readFile(Repository.fixture("images/f.png"))!, to: "in/\u{301}x.png")

        let result = try Tool.run(["convert", "in/\u{301}x.png", "-o", "out/", "-f", "jpeg"], directory: place.path)

        #expect(result.status == 0)
        #expect(readFile(place.file("out/\u{301}x.jpg")) != nil)
    }

    @Test(arguments: [["list"], ["list", "--json"], ["list", "--formats"], ["doctor"]])
    func `a failed write to standard output is an error`(words: [String]) throws {
        let command = words.joined(separator: " ")
        let result = try run(["sh", "-c", "\(Repository.products)/coderhost \(command) > /dev/full"])

        #expect(result.status == 74)
        #expect(result.stderr.contains("cannot write to standard output"))
    }

    @Test func `texts of a plugin cannot control the terminal`() throws {
        let place = TemporaryDirectory()
        place.write(Array("no plugin".utf8), to: "libcoder-\u{1B}[31m.so")

        let result = try Tool.run(["list", "--plugin-dir", place.path])

        #expect(!result.stdout.contains("\u{1B}"))
        #expect(result.stdout.contains("\\u{1b}[31m"))
    }

    @Test func `an output above the file size limit is an error`() throws {
        let place = TemporaryDirectory()
        let command =
            "ulimit -f 1; \(Repository.products)/coderhost convert "
            + "\(Repository.fixture("images/photo.png")) -o \(place.file("x.pam"))"
        let result = try run(["sh", "-c", command])

        #expect(result.status == 74)
        #expect(readFile(place.file("x.pam")) == nil)
    }

    static let unread = [
        ["--help"], ["help", "frames"], ["--version"], ["list"], ["list", "--json"], ["doctor"],
        ["info", "images/f.png"], ["info", "--json", "nowhere", "images/f.png"],
        ["frames", "info", "images/three-frames.gif"], ["frames", "info", "--json", "images/three-frames.gif"],
        ["progressive", "images/f.png"], ["convert", "images/f.png", "-o", "-", "-f", "pam"],
    ]

    @Test(arguments: unread) func `a closed pipe ends the command silently with one exit code`(words: [String]) throws {
        // The reader is gone before the command starts.
        let script = #"exec 3> >(exec true); sleep 0.3; "$coderhost" "$@" >&3"#
        let result = try run(
            ["bash", "-c", script, "sh"] + words, directory: "\(Repository.root)/Fixtures",
            environment: ["coderhost": Tool.path])

        #expect(result.status == 74)
        #expect(result.stderr.isEmpty, "\(result.stderr)")
    }

    @Test func `an unwritable output does not blame the decoder`() throws {
        let place = TemporaryDirectory()
        try Tool.link("/dev/full", at: place.file("x0.png"))
        let image = Repository.fixture("images/three-frames.gif")

        for words in [
            ["convert", image, "-o", "x0.png"], ["frames", "extract", image, "-o", "x{n}.png"],
            ["frames", "extract", image, "-o", "/proc/nowhere/x{n}.png"],
            ["frames", "extract", image, "-o", "nowhere/x{n}.png", "--no-mkdir"],
            ["frames", "extract", image, "-o", "x{n}.xyz"],
        ] {
            let result = try Tool.run(words, directory: place.path)
            #expect([69, 73, 74].contains(result.status))
            #expect(!result.stderr.contains("[org.coderhost"), "\(result.stderr)")
        }
    }

    @Test func `a name that is not UTF-8 has its own error`() throws {
        let place = TemporaryDirectory()
        let image = Repository.fixture("images/f.png")
        let result = try run(
            [
                "bash", "-c", #"cp "$0" "$1"/$'bad\xff.png' && "$2" info "$1"/$'bad\xff.png'"#, image, place.path,
                Tool.path,
            ])

        #expect(result.status == 66)
        #expect(result.stderr.contains("not UTF-8"), "\(result.stderr)")
        #expect(result.stderr.contains("try: rename it"))
    }

    @Test func `nothing is written under a garbled name`() throws {
        let place = TemporaryDirectory()
        let image = Repository.fixture("images/f.png")
        let script = #"cd "$1" && "$2" convert "$0" -o $'bad\xff.png'; code=$?; ls -A; exit $code"#
        let result = try run(["bash", "-c", script, image, place.path, Tool.path])

        #expect(result.status == 64)
        #expect(result.stderr.contains("the value of -o is not valid UTF-8"), "\(result.stderr)")
        #expect(result.stdout.isEmpty)
        // Any UTF-8 name is valid.
        let named = try Tool.run(["convert", image, "-o", "a\u{FFFD}.png"], directory: place.path)
        #expect(named.status == 0)
        #expect(readFile(place.file("a\u{FFFD}.png")) != nil)
    }
}
