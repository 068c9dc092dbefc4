import CoderHost
import Foundation
import ImageModel
import TestSupport
import Testing

/// `--dynamic-range` with 50.75 cd/m² in PQ: 28947 of 65535, and 137 of 255 as sRGB.
@Suite(.timeLimit(.minutes(40))) struct `Dynamic range on the command line` {
    private let place = TemporaryDirectory()

    init() throws {
        let pixels = try PixelBuffer(size: PixelSize(16, 16), format: .rgb16)
        for y in 0..<16 {
            pixels.withMutableRow(y) { row in
                for offset in stride(from: 0, to: row.byteCount, by: 2) {
                    row.storeBytes(of: 28_947, toByteOffset: offset, as: UInt16.self)
                }
            }
        }
        var info = ImageInfo(size: pixels.size, nativeFormat: .rgb16, bitDepth: 16)
        info.color.codePoints = CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true)
        let image = DecodedImage(info: info, pixels: pixels, format: "png", coder: "test")
        let host = CoderHost(
            configuration: HostConfiguration(directories: [.init(Repository.products, origin: .argument)]))
        let bytes = try host.manager.encode(image, to: "png")
        try Data(bytes).write(to: URL(fileURLWithPath: place.path + "/pq.png"))
    }

    private func tool(_ words: [String]) throws -> CommandResult { try Tool.run(words, directory: place.path) }

    private func warnings(_ words: String...) throws -> [String] {
        let result = try tool(words + ["--json"])
        #expect(result.status == 0, "\(result.stderr)")
        return try #require(result.documents.first)["warnings"].list.compactMap(\.text)
    }

    /// The first sample of a file, of 255.
    private func level(_ name: String) throws -> Int {
        #expect(try tool(["convert", name, "-o", name + ".ppm"]).status == 0)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(place.path)/\(name).ppm"))
        return Int(bytes[bytes.count - 16 * 16 * 3])
    }

    @Test(arguments: [([], 137), (["--dynamic-range", "sdr"], 137), (["--dynamic-range", "keep"], 113)])
    func `decides the levels of JPEG`(options: [String], expected: Int) throws {
        #expect(try tool(["convert", "pq.png", "-o", "x.jpg", "-q", "100"] + options).status == 0)
        #expect(try abs(level("x.jpg") - expected) <= 1)
    }

    @Test func `of a format that cannot describe it is told in JSON`() throws {
        let told = "the format cannot store the high dynamic range of code points 9/16: it is tone mapped to sRGB; "
        for words in [["convert", "pq.png", "-o", "x.jpg"], ["thumbnail", "pq.png", "-s", "8", "-o", "y.jpg"]] {
            let result = try tool(words + ["--json"])
            let warnings = try #require(result.documents.first)["warnings"].list.compactMap(\.text)
            #expect(warnings.contains(told + "--dynamic-range keep keeps the stored values"), "\(warnings)")
        }
        #expect(
            try warnings("convert", "pq.png", "-o", "z.jpg", "--dynamic-range", "sdr").allSatisfy {
                !$0.contains("tone mapped")
            })
        let kept = try warnings("convert", "pq.png", "-o", "k.jpg", "--dynamic-range", "keep")
        #expect(kept.contains { $0.hasPrefix("the format cannot store the color space code points 9/16") })
    }

    @Test(arguments: [["--strip", "all"], ["--keep", "exif"], ["--strip", "icc"]])
    func `of a format that cannot describe it is told if metadata is removed, too`(options: [String]) throws {
        for (range, isTold, level) in [("auto", true, 137), ("sdr", false, 137), ("keep", false, 113)] {
            let words = ["convert", "pq.png", "-o", "x.jpg", "-q", "100", "--dynamic-range", range, "--json"] + options
            let told = try tool(words).documents.first?["warnings"].list.compactMap(\.text) ?? []
            #expect(told.contains { $0.contains("tone mapped to sRGB") } == isTold, "\(range): \(told)")
            #expect(try abs(self.level("x.jpg") - level) <= 1)
        }
    }

    @Test func `of PNG stays, unless standard range is requested`() throws {
        for (options, isHigh) in [(["--flip", "both"], true), (["--dynamic-range", "sdr"], false)] {
            #expect(try tool(["convert", "pq.png", "-o", "x.png"] + options).status == 0)
            #expect(try tool(["info", "x.png"]).stdout.contains("9/16") == isHigh)
        }
    }

    @Test func `with a mistyped value is a usage error`() throws {
        let result = try tool(["convert", "pq.png", "-o", "x.jpg", "--dynamic-range", "kep"])
        #expect(result.status == 64 && result.stderr.contains("did you mean keep?"))
    }
}
