import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command rewrite` {
    let place = TemporaryDirectory()

    private func rewrite(_ fixture: String, to name: String) throws -> CommandResult {
        try Tool.run(
            "rewrite", Repository.fixture(fixture), "--strip", "gps", "-o", name, directory: place.path)
    }

    @Test(arguments: [("pictures/photo.jpg", "x.png"), ("pictures/f.png", "x.jpg"), ("pictures/three-frames.gif", "x.webp")])
    func `refuses an ending that names another format, and writes nothing`(fixture: String, name: String) throws {
        let result = try rewrite(fixture, to: name)

        #expect(result.status == 64 && result.stderr.contains("\(name) names another format"), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
    }

    @Test(arguments: [
        ("pictures/photo.jpg", "x.jpeg"), ("apng/three-frames.png", "x.png"), ("apng/three-frames.png", "x.apng"),
        ("pictures/f.png", "x"), ("pictures/f.png", "x.backup"),
    ])
    func `takes every ending of the format, and unknown ones`(fixture: String, name: String) throws {
        #expect(try rewrite(fixture, to: name).status == 0)
        #expect(FileManager.default.fileExists(atPath: place.file(name)))
    }
}
