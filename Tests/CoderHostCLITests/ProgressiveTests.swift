import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command progressive` {
    let place = TemporaryDirectory()

    private func progressive(_ fixture: String, _ words: String...) throws -> CommandResult {
        try Tool.run(["progressive", Repository.fixture(fixture)] + words, directory: place.path)
    }

    @Test(arguments: ["pictures/photo.jpg", "pictures/photo.png", "pictures/photo.webp"])
    func `tells what can be seen when`(fixture: String) throws {
        let text = try progressive(fixture, "--chunk", "500", "--report")
        let document = try #require(try progressive(fixture, "--chunk", "500", "--json").documents.first)
        let count = Fixture.named(fixture).byteCount

        #expect(text.status == 0 && text.stderr.isEmpty)
        #expect(text.lines.first?.hasSuffix("160x120, \(count) bytes") == true)
        #expect(text.stdout.contains("  header after "))
        #expect(text.stdout.contains(" pictures shown, after "))
        #expect(text.stdout.contains("  cost "))
        #expect(document["bytes"].integer == count)
        #expect(document["width"].integer == 160 && document["height"].integer == 120)
        let pictures = document["pictures"].list
        #expect(pictures.count > 2)
        #expect(pictures.map { $0["incomplete"].bool } == pictures.indices.map { $0 < pictures.count - 1 })
        let places = pictures.compactMap { $0["bytes"].integer }
        #expect(places == places.sorted() && places.count == pictures.count && places[0] < count / 2)
        #expect(document["first_pixels_at"].integer == places[0])
        #expect(try #require(document["header_at"].integer) <= places[0])
        #expect(document["cost_ratio"].number != nil)
        #expect(!document["error"].exists)
    }

    @Test(arguments: ["pictures/three-frames.gif", "apng/three-frames.png", "pictures/three-frames.webp"])
    func `tells when each frame could be seen`(fixture: String) throws {
        let document = try #require(try progressive(fixture, "--chunk", "50", "--json").documents.first)
        let frames = document["frames_at"].list.compactMap(\.integer)

        #expect(frames.count == 3)
        #expect(frames == frames.sorted())
        #expect(frames[1] < Fixture.named(fixture).byteCount)
        #expect(try progressive(fixture, "--chunk", "50").stdout.contains("  3 frames, the first after "))
    }

    @Test func `writes a picture each time there is more to see, the last of them whole`() throws {
        let fixture = "pictures/f-progressive.jpg"
        let result = try progressive(fixture, "--chunk", "100", "-o", "{stem}-{n:02}.png", "--json")
        let names = result.documents[0]["pictures"].list.compactMap { $0["output"].text }

        #expect(result.status == 0)
        #expect(names.count > 1 && names[0] == "f-progressive-00.png")
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: place.path)) == Set(names))
        let hashes = try names.map { try Film(place.file($0)).hashes[0] }
        #expect(hashes.last == Fixture.named(fixture).expect?.pixelSHA256)
        #expect(Set(hashes).count > 1)
    }

    @Test func `shows what there is of a file that is cut, and then says that it is`() throws {
        let text = try progressive("hostile/truncated-f.jpg", "--chunk", "100")
        let document = try progressive("hostile/truncated-f.jpg", "--chunk", "100", "--json")

        #expect(text.status == 65)
        #expect(text.stdout.contains(" shown, after "))
        #expect(text.stderr.contains("ends too early"))
        #expect(document.status == 65)
        #expect(document.documents[0]["error"]["code"].text == "truncated")
        #expect(document.documents[0]["pictures"].list.allSatisfy { $0["incomplete"].bool == true })
        #expect(!document.documents[0]["pictures"].list.isEmpty)
    }

    @Test(
        arguments: [
            (["--chunk", "0"], 64, "--chunk"), (["--chunk", "x"], 64, "--chunk"),
            (["-o", "p.png"], 64, "put {n} into it"),
            (["-o", "p{n}.xyz"], 69, "xyz"),
        ] as [([String], Int32, String)])
    func `says what is wrong`(words: [String], status: Int32, message: String) throws {
        let result = try Tool.run(
            ["progressive", Repository.fixture("pictures/f.jpg")] + words, directory: place.path)

        #expect(result.status == status)
        #expect(result.stderr.contains(message), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
    }

    @Test func `prints nothing of a header that is damaged but the error`() throws {
        let result = try progressive("hostile/wrong-checksum-ihdr.png")

        #expect(result.status == 65 && result.stdout.isEmpty, "\(result.stdout)")
    }

    @Test func `counts in units, and says what it measured of an animation`() throws {
        let result = try progressive("pictures/three-frames.gif", "--chunk", "1k")

        #expect(result.status == 0)
        #expect(result.stdout.contains(" ms CPU, first frame at once "), "\(result.stdout)")
    }

    @Test func `refuses what is no picture`() throws {
        #expect(try progressive("hostile/noise").status == 65)
        #expect(try progressive("hostile/empty").status == 65)
        #expect(try Tool.run("progressive", "nowhere", directory: place.path).status == 66)
    }

    @Test func `reads what can be read only once`() throws {
        let picture = Repository.fixture("pictures/photo.png")
        let fifo = try Tool.shell(
            #"mkfifo ff; (cat "$picture" > ff) & "$coderhost" progressive ff --json; wait"#, directory: place.path,
            environment: ["picture": picture])
        let piped = try Tool.run(
            ["progressive", "-", "--json"], input: Fixture.named("pictures/photo.png").bytes, directory: place.path)

        for result in [fifo, piped] {
            #expect(result.status == 0, "\(result.stderr)")
            #expect(result.documents[0]["width"].integer == 160)
            #expect(result.documents[0]["cost_ratio"].number != nil)
        }
    }

    @Test(
        arguments: [
            (["nowhere"], 66, "notFound"), (["hostile/noise"], 65, "unrecognizedFormat"),
            (["hostile/wrong-checksum-ihdr.png"], 65, "corrupt"),
            (["hostile/header-65535x65535.png"], 77, "limitExceeded"),
            (["pictures/f.png", "--limits", "input=10"], 77, "limitExceeded"),
        ] as [([String], Int32, String)])
    func `tells programs, too, what keeps it from beginning`(words: [String], status: Int32, code: String) throws {
        let result = try Tool.run(["progressive", "--json"] + words, directory: "\(Repository.root)/Fixtures")

        #expect(result.status == status)
        #expect(result.documents.map { $0["error"]["code"].text } == [code], "\(result.stdout)")
        #expect(result.documents.first?["file"].text == words[0])
        #expect(result.stderr.isEmpty, "\(result.stderr)")
    }
}
