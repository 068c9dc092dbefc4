import TestSupport
import Testing

/// A library inside a plugin neither ends the process nor writes to its output.
@Suite struct `Libraries of coders` {
    private static let bomb = Repository.fixture("found/avif/items-larger-than-the-file.avif")

    @Test(arguments: ["auto", "require", "off"])
    func `cannot be made to abort by items larger than the file`(isolation: String) throws {
        let place = TemporaryDirectory()
        for command in [
            ["info", "--hash", Self.bomb], ["thumbnail", Self.bomb, "-o", "a.png"], ["frames", "info", "--decode", Self.bomb],
            ["progressive", Self.bomb],
        ] {
            let result = try Tool.run(command + ["--isolation", isolation], directory: place.path)
            #expect(result.status == 65, "\(command): \(result.stderr)")
            #expect(result.stderr.contains("item 1 has 1099511627776 bytes, the file 329"))
        }
    }

    @Test func `do not end a batch because of one file`() throws {
        let place = TemporaryDirectory()
        let image = Repository.fixture("avif/alpha.avif")
        let result = try Tool.run(["info", "--hash", Self.bomb, Self.bomb, Self.bomb, image], directory: place.path)
        #expect(result.status == 1)
        #expect(result.lines.contains { $0.contains("alpha.avif: avif 64x48") })
        #expect(result.lines.allSatisfy { !$0.contains("quarantine") })
    }

    @Test(arguments: [
        ("webp/lossless-alpha.webp", "worker"), ("heif/alpha.heic", "worker"), ("avif/alpha.avif", "worker"),
        ("pictures/icc-wide.png", "in-process"),
    ])
    func `that end the process without memory run in a worker where memory is limited`(name: String, place: String) throws {
        let image = Repository.fixture(name)
        let free = try Tool.run("info", "--hash", "--json", image)
        #expect(free.stdout.contains("\"isolation\": {\"mode\": \"in-process\""))
        let limited = try Tool.shell("ulimit -d 4000000; \"$coderhost\" info --hash --json '\(image)'")
        #expect(limited.stdout.contains("\"isolation\": {\"mode\": \"\(place)\""))
    }

    @Test(
        arguments: ["avif/stream-that-dav1d-prints-about.avif", "heif/parameter-set-that-libde265-prints-about.heic"],
        ["require", "off"])
    func `print nothing about a damaged stream`(name: String, isolation: String) throws {
        let result = try Tool.run("info", "--hash", Repository.fixture("found/\(name)"), "--isolation", isolation)
        #expect(result.status == 65)
        #expect(result.output.isEmpty)
        let lines = result.stderr.split(separator: "\n")
        #expect(lines.count == 1 && lines.allSatisfy { $0.hasPrefix("coderhost: ") }, "\(result.stderr)")
    }
}
