import TestSupport
import Testing

/// A folder with an image of four quarters: red, green / blue, white.
struct QuarterImage {
    static let (red, green, blue, white): ([UInt8], [UInt8], [UInt8], [UInt8]) = (
        [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]
    )

    let place = TemporaryDirectory()

    /// Writes `q.ppm` of 16x8 pixels, and `dot.ppm` of 2x2 red pixels.
    init() {
        var samples: [UInt8] = []
        for y in 0..<8 {
            for x in 0..<16 { samples += y < 4 ? (x < 8 ? Self.red : Self.green) : (x < 8 ? Self.blue : Self.white) }
        }
        place.write(Array("P6 16 8 255\n".utf8) + samples, to: "q.ppm")
        place.write(Array("P6 2 2 255\n".utf8) + Self.red + Self.red + Self.red + Self.red, to: "dot.ppm")
    }

    func convert(_ words: [String]) throws -> CommandResult {
        try Tool.run(["convert"] + words, directory: place.path)
    }

    func convert(_ words: String...) throws -> CommandResult { try convert(words) }

    func info(_ field: String, _ file: String) throws -> String {
        try Tool.run("info", "-f", field, file, directory: place.path).lines.joined(separator: "x")
    }

    func size(_ file: String) throws -> String { try info("width,height", file) }

    /// The digest of the stored pixels.
    func hash(_ file: String) throws -> String {
        try Tool.run("info", "--hash", "-f", "pixel_sha256", file, directory: place.path).lines.joined()
    }

    /// The kinds of metadata in a file.
    func metadata(_ file: String) throws -> [String] {
        Document(try Tool.run("info", "--json", file, directory: place.path).stdout)["metadata"].list
            .compactMap { $0["kind"].text }
    }

    /// The colors of the corners: top left, top right, bottom left, bottom right.
    func corners(_ file: String) throws -> [[UInt8]] {
        #expect(try convert(file, "-o", "corners.ppm", "--first-frame", "--dynamic-range", "keep").status == 0)
        let bytes = try #require(readFile(place.file("corners.ppm")))
        let header = String(decoding: bytes.prefix(40), as: UTF8.self).split(whereSeparator: \.isWhitespace).prefix(4)
        let (width, height) = (try #require(Int(header[1])), try #require(Int(header[2])))
        // Of 16-bit samples, the first byte counts.
        let length = header[3] == "65535" ? 2 : 1
        let pixels = Array(bytes.suffix(width * height * 3 * length))
        return [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)].map { x, y in
            (0..<3).map { pixels[((y * width + x) * 3 + $0) * length] }
        }
    }
}
