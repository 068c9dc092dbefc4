import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command progressive` {
    let place = TemporaryDirectory()

    private func progressive(_ fixture: String, _ words: String...) throws -> CommandResult {
        try Tool.run(["progressive", Repository.fixture(fixture)] + words, directory: place.path)
    }

    @Test(arguments: ["images/photo.jpg", "images/photo.png", "images/photo.webp"])
    func `reports when pixels become visible`(fixture: String) throws {
        let text = try progressive(fixture, "--chunk", "500", "--report")
        let document = try #require(try progressive(fixture, "--chunk", "500", "--json").documents.first)
        let count = Fixture.named(fixture).byteCount

        #expect(text.status == 0 && text.stderr.isEmpty)
        #expect(text.lines.first?.hasSuffix("160x120, \(count) bytes") == true)
        #expect(text.stdout.contains("  header after "))
        #expect(text.stdout.contains(" images shown, after "))
        #expect(text.stdout.contains("  cost "))
        #expect(document["bytes"].integer == count)
        #expect(document["width"].integer == 160 && document["height"].integer == 120)
        let images = document["images"].list
        #expect(images.count > 2)
        #expect(images.map { $0["incomplete"].bool } == images.indices.map { $0 < images.count - 1 })
        let places = images.compactMap { $0["bytes"].integer }
        #expect(places == places.sorted() && places.count == images.count && places[0] < count / 2)
        #expect(document["first_pixels_at"].integer == places[0])
        #expect(try #require(document["header_at"].integer) <= places[0])
        #expect(document["cost_ratio"].number != nil)
        #expect(!document["error"].exists)
    }

    @Test(arguments: ["images/three-frames.gif", "apng/three-frames.png", "images/three-frames.webp"])
    func `reports when each frame is complete`(fixture: String) throws {
        let document = try #require(try progressive(fixture, "--chunk", "50", "--json").documents.first)
        let frames = document["frames_at"].list.compactMap(\.integer)

        #expect(frames.count == 3)
        #expect(frames == frames.sorted())
        #expect(frames[1] < Fixture.named(fixture).byteCount)
        #expect(try progressive(fixture, "--chunk", "50").stdout.contains("  3 frames, the first after "))
    }

    @Test func `writes each partial image, the last one complete`() throws {
        let fixture = "images/f-progressive.jpg"
        let result = try progressive(fixture, "--chunk", "100", "-o", "{stem}-{n:02}.png", "--json")
        let names = result.documents[0]["images"].list.compactMap { $0["output"].text }

        #expect(result.status == 0)
        #expect(names.count > 1 && names[0] == "f-progressive-00.png")
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: place.path)) == Set(names))
        let hashes = try names.map { try Film(place.file($0)).hashes[0] }
        #expect(hashes.last == Fixture.named(fixture).expect?.pixelSHA256)
        #expect(Set(hashes).count > 1)
    }

    @Test func `shows the available part of a truncated file, then the error`() throws {
        let text = try progressive("hostile/truncated-f.jpg", "--chunk", "100")
        let document = try progressive("hostile/truncated-f.jpg", "--chunk", "100", "--json")

        #expect(text.status == 65)
        #expect(text.stdout.contains(" shown, after "))
        #expect(text.stderr.contains("ends too early"))
        #expect(document.status == 65)
        #expect(document.documents[0]["error"]["code"].text == "truncated")
        #expect(document.documents[0]["images"].list.allSatisfy { $0["incomplete"].bool == true })
        #expect(!document.documents[0]["images"].list.isEmpty)
    }

    @Test(
        arguments: [
            (["--chunk", "0"], 64, "--chunk"), (["--chunk", "x"], 64, "--chunk"),
            (["-o", "p.png"], 64, "-o must contain {n}"),
            (["-o", "p{n}.xyz"], 69, "xyz"),
        ] as [([String], Int32, String)])
    func `reports the error`(words: [String], status: Int32, message: String) throws {
        let result = try Tool.run(
            ["progressive", Repository.fixture("images/f.jpg")] + words, directory: place.path)

        #expect(result.status == status)
        #expect(result.stderr.contains(message), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
    }

    @Test func `prints only the error for a damaged header`() throws {
        let result = try progressive("hostile/wrong-checksum-ihdr.png")

        #expect(result.status == 65 && result.stdout.isEmpty, "\(result.stdout)")
    }

    @Test func `accepts units, and reports the measurements of an animation`() throws {
        let result = try progressive("images/three-frames.gif", "--chunk", "1k")

        #expect(result.status == 0)
        #expect(result.stdout.contains(" ms CPU, first frame at once "), "\(result.stdout)")
    }

    @Test func `refuses data that is not an image`() throws {
        #expect(try progressive("hostile/noise").status == 65)
        #expect(try progressive("hostile/empty").status == 65)
        #expect(try Tool.run("progressive", "nowhere", directory: place.path).status == 66)
    }

    @Test func `reads a pipe`() throws {
        let image = Repository.fixture("images/photo.png")
        let fifo = try Tool.shell(
            #"mkfifo ff; (cat "$image" > ff) & "$coderhost" progressive ff --json; wait"#, directory: place.path,
            environment: ["image": image])
        let piped = try Tool.run(
            ["progressive", "-", "--json"], input: Fixture.named("images/photo.png").bytes, directory: place.path)

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
            (["images/f.png", "--limits", "input=10"], 77, "limitExceeded"),
        ] as [([String], Int32, String)])
    func `reports early errors in JSON as well`(words: [String], status: Int32, code: String) throws {
        let result = try Tool.run(["progressive", "--json"] + words, directory: "\(Repository.root)/Fixtures")

        #expect(result.status == status)
        #expect(result.documents.map { $0["error"]["code"].text } == [code], "\(result.stdout)")
        #expect(result.documents.first?["file"].text == words[0])
        #expect(result.stderr.isEmpty, "\(result.stderr)")
    }
}
