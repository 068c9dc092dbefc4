import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

/// A file of `Fixtures/avif`, coded without loss, whose samples `Fixtures/recipes/planes.py` defines.
private struct KnownSamples: Sendable, CustomTestStringConvertible {
    let name: String
    let size: PixelSize
    /// The number of pixels that share a color sample.
    let across: Int
    let down: Int
    /// The weights of red and blue in the luma; ITU-T H.273 table 4.
    let red: Double
    let blue: Double
    let isFullRange: Bool
    /// The digest of avifdec's output, see `Fixtures/avif/recipes.txt`.
    let digest: String
    /// libyuv's factor for blue is at most 2, that of BT.709 is 2.11: with differences of up to 64, it is off by seven
    /// steps.
    let blueTolerance: Int

    var testDescription: String { name }

    static let all = [
        KnownSamples(
            name: "known-samples-420-bt601", size: PixelSize(7, 70), across: 2, down: 2, red: 0.299, blue: 0.114,
            isFullRange: false, digest: "5eb0570336557a9c1a692e1be64bc3836e2bc683e249af413c37516ee85fc675",
            blueTolerance: 1),
        KnownSamples(
            name: "known-samples-422-bt709", size: PixelSize(7, 38), across: 2, down: 1, red: 0.2126, blue: 0.0722,
            isFullRange: false, digest: "3e4e657c84dfb96a89f341595fc023e566f264e52f8626bfd4dc807e6905a848",
            blueTolerance: 8),
        KnownSamples(
            name: "known-samples-444-bt2020-full", size: PixelSize(7, 35), across: 1, down: 1, red: 0.2627,
            blue: 0.0593, isFullRange: true,
            digest: "2f9becc5d948b8ad6dfedf4ff5204b676b7817898f2e0ab239134121d72f3eb5", blueTolerance: 1),
    ]

    /// The pixels by the equations of H.273, with color interpolated linearly from the nearest stored samples.
    func color(_ x: Int, _ y: Int) -> [Int] {
        var luma = Double(40 + (x * 37 + y * 11) % 176)
        var cb = between(x, y) { 64 + ($0 * 53 + $1 * 29) % 128 } - 128
        var cr = between(x, y) { 64 + ($0 * 71 + $1 * 17 + 90) % 128 } - 128
        if !isFullRange {
            luma = (luma - 16) * 255 / 219
            cb *= 255.0 / 224
            cr *= 255.0 / 224
        }
        let r = luma + 2 * (1 - red) * cr
        let b = luma + 2 * (1 - blue) * cb
        let g = (luma - red * r - blue * b) / (1 - red - blue)
        return [r, g, b].map { Int(min(255, max(0, $0)).rounded()) }
    }

    private func between(_ x: Int, _ y: Int, sample: (Int, Int) -> Int) -> Double {
        let columns = neighbors(x, of: size.width, sharing: across)
        let rows = neighbors(y, of: size.height, sharing: down)
        let sum = columns.reduce(0) { sum, column in
            sum + rows.reduce(0) { $0 + column.weight * $1.weight * sample(column.place, $1.place) }
        }
        let weight = columns.reduce(0) { $0 + $1.weight } * rows.reduce(0) { $0 + $1.weight }
        return ((Double(sum) / Double(weight)) + 0.5).rounded(.down)
    }

    /// The stored samples next to a pixel: the sample of its own pair with weight three, the next one with weight one.
    private func neighbors(_ place: Int, of count: Int, sharing: Int) -> [(place: Int, weight: Int)] {
        guard sharing == 2 else { return [(place, 1)] }
        guard place > 0, place < count - 1 else { return [(place / 2, 1)] }
        return [(place / 2, 3), (place / 2 + (place % 2 == 0 ? -1 : 1), 1)]
    }
}

private func decode(_ bytes: [UInt8], as format: PixelFormat = .rgb8) throws -> PixelBuffer {
    let decoder = try HEIFDecoder(DecoderSession(source: ByteSource(bytes), limits: .default))
    let buffer = try PixelBuffer(size: try decoder.readHeader().size, format: format)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return buffer
}

private func fixture(_ name: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture("avif/\(name).avif")), "the fixture \(name) is missing")
}

@Suite struct `Colors of AVIF` {
    @Test(arguments: KnownSamples.all)
    private func `follow the equations of their matrix and range`(known: KnownSamples) throws {
        let pixels = PixelDigest.rgba8(try decode(try fixture(known.name)))
        var differences = [0, 0, 0]
        for y in 0..<known.size.height {
            for x in 0..<known.size.width {
                for (channel, want) in known.color(x, y).enumerated() {
                    let got = Int(pixels[(y * known.size.width + x) * 4 + channel])
                    differences[channel] = max(differences[channel], abs(got - want))
                }
            }
        }
        #expect(differences[0] <= 1 && differences[1] <= 1)
        #expect(differences[2] <= known.blueTolerance)
    }

    @Test(arguments: KnownSamples.all)
    private func `equal the output of other decoders`(known: KnownSamples) throws {
        let bytes = try fixture(known.name)
        #expect(PixelDigest.of(try decode(bytes)) == known.digest)
        for channels in [PixelFormat.Channels.rgba, .bgra] {
            #expect(PixelDigest.of(try decode(bytes, as: PixelFormat(channels, alpha: .opaque))) == known.digest)
        }
    }

    @Test func `are converted before the image is rotated`() throws {
        let turned = try decode(try fixture("known-samples-422-bt709-turned"))
        #expect(turned.size == PixelSize(38, 7))
        #expect(PixelDigest.of(turned) == "32d408ae3c049c797ca3116f6f5e29ba70d9778863c2b63c7deb62f35af554af")
    }

    @Test(
        .enabled(if: ForeignImages.areThere, "the third-party images are missing"),
        arguments: [
            "fox.profile0.8bpc.yuv420.odd-width.odd-height.avif", "fox.profile1.8bpc.yuv444.odd-width.odd-height.avif",
            "fox.profile2.8bpc.yuv422.odd-width.odd-height.avif",
        ])
    func `of a photograph equal the output of two other decoders`(name: String) throws {
        let row = try #require(try ForeignImages.row(ending: name))
        let bytes = try #require(readFile("\(ForeignImages.folder)/open/\(row[0])"))
        #expect(PixelDigest.of(try decode(bytes)) == row[13])
    }
}

/// Third-party images, with digests on which independent decoders agree; only on machines that have them.
private enum ForeignImages {
    static let folder =
        ["..", "../.."].map { "\(Repository.root)/\($0)/shared/corpus" }
        .first { readFile("\($0)/manifest.tsv") != nil } ?? ""
    static let areThere = !folder.isEmpty

    /// The columns of an image: the file's name first, the digest in column fourteen.
    static func row(ending name: String) throws -> [String]? {
        let table = String(decoding: try #require(readFile("\(folder)/manifest.tsv")), as: UTF8.self)
        return table.split(separator: "\n").lazy
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
            .first { $0.count > 13 && $0[0].hasSuffix("/" + name) }
    }
}
