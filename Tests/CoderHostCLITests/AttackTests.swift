import Glibc
import TestSupport
import Testing

/// Command lines and files that somebody broke the command with once.
@Suite(.timeLimit(.minutes(15))) struct `What broke it once` {
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
}
