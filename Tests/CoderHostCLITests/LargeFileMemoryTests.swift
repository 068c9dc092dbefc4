import TestSupport
import Testing

/// The command reads only the needed parts of a large file.
@Suite struct `Memory of a large file` {
    private let place = TemporaryDirectory()

    /// A JPEG of 40 MB, mostly comments.
    private func write(_ name: String) throws {
        let image = try #require(readFile(Repository.fixture("images/f.jpg")))
        let comment = [0xFF, 0xFE, 0xFF, 0xFF] + [UInt8](repeating: 0x20, count: 0xFFFD)
        var bytes = Array(image[..<2])
        for _ in 0..<620 { bytes += comment }
        place.write(bytes + image[2...], to: name)
    }

    @Test func `is small while shrinking a JPEG`() throws {
        try write("large.jpg")

        let result = try run(
            [
                "bash", "-c", "ulimit -d 32768 && exec \"$0\" \"$@\"", Tool.path, "thumbnail", "large.jpg", "-s", "10",
                "-o", "small.png",
            ], directory: place.path, timeout: .seconds(300))

        #expect(result.status == 0, "\(result.stderr)")
        #expect(try Tool.run("info", "-f", "width,height", "small.png", directory: place.path).lines == ["10", "6"])
    }
}
