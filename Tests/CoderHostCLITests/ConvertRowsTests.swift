import Foundation
import ImageModel
import TestSupport
import Testing

/// Conversions of images large enough for band-wise processing.
@Suite(.timeLimit(.minutes(40))) struct `The command convert, band by band` {
    let place = TemporaryDirectory()

    /// A gradient of 2,301 × 2,003 pixels with noise.
    init() throws {
        let size = (width: 2301, height: 2003)
        var state: UInt32 = 3
        var bytes = Array("P6\n\(size.width) \(size.height)\n255\n".utf8)
        bytes.reserveCapacity(3 * size.width * size.height + 20)
        for y in 0..<size.height {
            for x in 0..<size.width {
                state = state &* 1_664_525 &+ 1_013_904_223
                for channel in 0..<3 {
                    bytes.append(UInt8(truncatingIfNeeded: x / 9 + y / (channel + 5)) &+ UInt8(state >> 29))
                }
            }
        }
        place.write(bytes, to: "in.ppm")
        for output in ["in.jpg", "in.png", "in.pam"] {
            let result = try Tool.run("convert", "in.ppm", "-o", output, directory: place.path)
            #expect(result.status == 0, "\(result.stderr)")
        }
    }

    private func converted(_ input: String, _ output: String, _ words: [String]) throws -> [UInt8]? {
        let result = try Tool.run(
            ["convert", input, "-o", output, "--overwrite"] + words, directory: place.path)
        #expect(result.status == 0, "\(result.stderr)")
        return readFile(place.file(output))
    }

    /// An option that makes the command decode the whole image first.
    private static let whole = ["--incomplete"]

    @Test(arguments: ["in.jpg", "in.png", "in.pam"], ["out.jpg", "out.png", "out.pam"])
    func `writes the same bytes as with whole images`(_ input: String, _ output: String) throws {
        let expected = try #require(try converted(input, output, Self.whole + ["--threads", "1"]))
        for isolation in ["off", "require"] {
            for threads in ["1", "3"] {
                let words = ["--isolation", isolation, "--threads", threads]
                #expect(try converted(input, output, words) == expected, "\(words)")
            }
        }
    }

    @Test(arguments: ["out.pgm", "out.pbm", "out.ppm"])
    func `writes the same bytes as with whole images in uncompressed formats`(_ output: String) throws {
        #expect(try converted("in.jpg", output, []) == converted("in.jpg", output, Self.whole))
    }

    @Test(arguments: [["--resize", "1700x"], ["--quality", "70"], ["--strip", "all"]])
    func `writes the same bytes as with whole images with changes`(_ words: [String]) throws {
        for output in ["out.jpg", "out.pam"] {
            #expect(try converted("in.jpg", output, words) == converted("in.jpg", output, words + Self.whole))
        }
    }

    @Test(arguments: ["out.png", "out.jpg", "out.pam"], ["in.png", "in.pam"])
    func `fails equally for any number of threads`(_ output: String, _ input: String) throws {
        let all = try #require(readFile(place.file(input)))
        place.write(Array(all.prefix(all.count * 2 / 5)), to: "early.\(input)")
        place.write(Array(all.prefix(all.count * 9 / 10)), to: "late.\(input)")
        let cases = [("early.\(input)", "default", 65), ("late.\(input)", "default", 65), (input, "output=100000", 77)]
        for (input, limits, status) in cases {
            let results = try ["1", "2", "5"].map { threads in
                try Tool.run(
                    "convert", input, "-o", output, "--limits", limits, "--threads", threads, directory: place.path)
            }
            #expect(results.map { Int($0.status) } == [status, status, status])
            #expect(Set(results.map(\.stderr)).count == 1, "\(results.map(\.stderr))")
            #expect(readFile(place.file(output)) == nil)
        }
    }

    @Test(arguments: ["out.png", "out.jpg", "out.pam"], ["off", "require"])
    func `leaves no output if writing fails or the input is truncated`(_ output: String, _ isolation: String) throws {
        let words = ["--isolation", isolation]
        let limited = try Tool.run(
            ["convert", "in.jpg", "-o", output, "--limits", "output=100000"] + words, directory: place.path)
        #expect(limited.status == 77, "\(limited.stderr)")
        let all = try #require(readFile(place.file("in.png")))
        place.write(Array(all[..<(all.count * 3 / 4)]), to: "cut.png")
        let cut = try Tool.run(["convert", "cut.png", "-o", output] + words, directory: place.path)
        #expect(cut.status != 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(Set(names) == ["in.ppm", "in.jpg", "in.png", "in.pam", "cut.png"])
    }
}
