import TestSupport
import Testing

/// Libraries inside plugins neither end the process nor write to its output.
@Suite struct `Libraries inside coders` {
    private static let bomb = Repository.fixture("found/avif/items-larger-than-the-file.avif")

    @Test(arguments: ["auto", "require", "off"])
    func `do not abort for items larger than the file`(isolation: String) throws {
        let place = TemporaryDirectory()
        for command in [
            ["info", "--hash", Self.bomb], ["thumbnail", Self.bomb, "-o", "a.png"],
            ["frames", "info", "--decode", Self.bomb],
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
        ("images/icc-wide.png", "in-process"),
    ])
    func `that abort without memory run in a worker under a memory limit`(name: String, place: String) throws {
        let image = Repository.fixture(name)
        let free = try Tool.run("info", "--hash", "--json", image)
        #expect(free.stdout.contains("\"isolation\": {\"mode\": \"in-process\""))
        let limited = try Tool.shell("ulimit -d 4000000; \"$coderhost\" info --hash --json '\(image)'")
        #expect(limited.stdout.contains("\"isolation\": {\"mode\": \"\(place)\""))
    }

    @Test(
        arguments: ["avif/stream-that-dav1d-prints-about.avif", "heif/parameter-set-that-libde265-prints-about.heic"],
        ["require", "off"])
    func `print nothing for a damaged stream`(name: String, isolation: String) throws {
        let result = try Tool.run("info", "--hash", Repository.fixture("found/\(name)"), "--isolation", isolation)
        #expect(result.status == 65)
        #expect(result.output.isEmpty)
        let lines = result.stderr.split(separator: "\n")
        #expect(lines.count == 2 && lines.first?.hasPrefix("coderhost: ") == true, "\(result.stderr)")
        #expect(lines.last == "  try: the file is damaged: copy or download it again")
    }
}
