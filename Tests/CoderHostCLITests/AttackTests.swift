import Glibc
import TestSupport
import Testing

/// Command lines and files that somebody broke the command with once.
@Suite(.timeLimit(.minutes(40))) struct `What broke it once` {
    @Test func `an input of a batch is not replaced before its turn`() throws {
        let place = TemporaryDirectory()
        let png = readFile(Repository.fixture("pictures/f.png"))!
        place.write(readFile(Repository.fixture("pictures/gray.jpg"))!, to: "a.jpg")
        place.write(png, to: "a.png")

        let result = try Tool.run(["convert", "a.jpg", "a.png", "-o", "./", "-f", "png"], directory: place.path)

        #expect(result.status == 1)
        #expect(readFile(place.file("a.png")) == png)
    }

    @Test func `a template's width may be any number`() throws {
        let place = TemporaryDirectory()

        let result = try Tool.run(
            ["convert", Repository.fixture("pictures/f.png"), "-o", "x{n:-9223372036854775808}.png"],
            directory: place.path)

        #expect(result.status == 0)
        #expect(readFile(place.file("x0.png")) != nil)
    }

    @Test func `a name that begins with a combining mark stays in its folder`() throws {
        let place = TemporaryDirectory()
        _ = place.folder("in")
        _ = place.folder("out")
        place.write(readFile(Repository.fixture("pictures/f.png"))!, to: "in/\u{301}x.png")

        let result = try Tool.run(["convert", "in/\u{301}x.png", "-o", "out/", "-f", "jpeg"], directory: place.path)

        #expect(result.status == 0)
        #expect(readFile(place.file("out/\u{301}x.jpg")) != nil)
    }

    @Test(arguments: [["list"], ["list", "--json"], ["list", "--formats"], ["doctor"]])
    func `output that is lost is an error`(words: [String]) throws {
        let command = words.joined(separator: " ")
        let result = try run(["sh", "-c", "\(Repository.products)/coderhost \(command) > /dev/full"])

        #expect(result.status == 74)
        #expect(result.stderr.contains("standard output cannot be written"))
    }

    @Test func `a plugin's words cannot steer a terminal`() throws {
        let place = TemporaryDirectory()
        place.write(Array("no plugin".utf8), to: "libcoder-\u{1B}[31m.so")

        let result = try Tool.run(["list", "--plugin-dir", place.path])

        #expect(!result.stdout.contains("\u{1B}"))
        #expect(result.stdout.contains("\\u{1b}[31m"))
    }

    @Test func `a picture that may not grow ends with an error`() throws {
        let place = TemporaryDirectory()
        let command =
            "ulimit -f 1; \(Repository.products)/coderhost convert "
            + "\(Repository.fixture("pictures/photo.png")) -o \(place.file("x.pam"))"
        let result = try run(["sh", "-c", command])

        #expect(result.status == 74)
        #expect(readFile(place.file("x.pam")) == nil)
    }

    static let unread = [
        ["--help"], ["help", "frames"], ["--version"], ["list"], ["list", "--json"], ["doctor"],
        ["info", "pictures/f.png"], ["info", "--json", "nowhere", "pictures/f.png"],
        ["frames", "info", "pictures/three-frames.gif"], ["frames", "info", "--json", "pictures/three-frames.gif"],
        ["progressive", "pictures/f.png"], ["convert", "pictures/f.png", "-o", "-", "-f", "pam"],
    ]

    @Test(arguments: unread) func `output that nobody reads ends with one code, silently`(words: [String]) throws {
        // The reader is gone before the command begins.
        let script = #"exec 3> >(exec true); sleep 0.3; "$coderhost" "$@" >&3"#
        let result = try run(
            ["bash", "-c", script, "sh"] + words, directory: "\(Repository.root)/Fixtures",
            environment: ["coderhost": Tool.path])

        #expect(result.status == 74)
        #expect(result.stderr.isEmpty, "\(result.stderr)")
    }

    @Test func `an output that cannot be written is no fault of who decodes`() throws {
        let place = TemporaryDirectory()
        try Tool.link("/dev/full", at: place.file("x0.png"))
        let picture = Repository.fixture("pictures/three-frames.gif")

        for words in [
            ["convert", picture, "-o", "x0.png"], ["frames", "extract", picture, "-o", "x{n}.png"],
            ["frames", "extract", picture, "-o", "/nowhere/x{n}.png"],
            ["frames", "extract", picture, "-o", "x{n}.xyz"],
        ] {
            let result = try Tool.run(words, directory: place.path)
            #expect([69, 73, 74].contains(result.status))
            #expect(!result.stderr.contains("[org.coderhost"), "\(result.stderr)")
        }
    }

    @Test func `a name that is not UTF-8 is called what it is`() throws {
        let place = TemporaryDirectory()
        let picture = Repository.fixture("pictures/f.png")
        let result = try run(
            [
                "bash", "-c", #"cp "$0" "$1"/$'bad\xff.png' && "$2" info "$1"/$'bad\xff.png'"#, picture, place.path,
                Tool.path,
            ])

        #expect(result.status == 66)
        #expect(result.stderr.contains("not UTF-8"), "\(result.stderr)")
        #expect(result.stderr.contains("try: rename it"))
    }

    @Test func `nothing is written under a name that is not the wanted one`() throws {
        let place = TemporaryDirectory()
        let picture = Repository.fixture("pictures/f.png")
        let script = #"cd "$1" && "$2" convert "$0" -o $'bad\xff.png'; code=$?; ls -A; exit $code"#
        let result = try run(["bash", "-c", script, picture, place.path, Tool.path])

        #expect(result.status == 64)
        #expect(result.stderr.contains("the value of -o is not UTF-8"), "\(result.stderr)")
        #expect(result.stdout.isEmpty)
        // What is UTF-8 is a name like any other.
        let named = try Tool.run(["convert", picture, "-o", "a\u{FFFD}.png"], directory: place.path)
        #expect(named.status == 0)
        #expect(readFile(place.file("a\u{FFFD}.png")) != nil)
    }
}
