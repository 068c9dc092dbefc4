import ClassicsCodec
import CoderPluginKit
import Foundation
import ImageModel
import TestSupport
import Testing

/// The pixels of whole files are those of the fixtures, which every bundled coder must decode.
@Suite(.timeLimit(.minutes(40))) struct `Codecs of the classics` {
    private func error(_ name: String, _ bytes: [UInt8]) -> CoderError? {
        #expect(throws: CoderError.self) { try Classic.decode(name, bytes) }
    }

    // MARK: All formats

    @Test(arguments: Classic.fixtures) func `decode the same rows in bands`(fixture: Fixture) throws {
        let (info, all) = try Classic.decode(fixture.format.id, fixture.bytes)
        let decoder = try Classic.decoder(fixture.format.id, ByteSource(fixture.bytes))
        #expect(try decoder.readHeader() == info)
        let rowBytes = info.size.width * info.nativeFormat.bytesPerPixel

        // Also in an order that no host uses.
        for (y, height) in [(0, 3), (3, 3), (6, 1), (2, 2), (0, 4)] where y + height <= info.size.height {
            let region = PixelRect(x: 0, y: y, width: info.size.width, height: height)
            let band = try PixelBuffer(size: region.size, format: info.nativeFormat)
            #expect(try decoder.decode(DecodeRequest(region: region), into: Surface(band)) == .complete)
            #expect(band.packed == Array(all[y * rowBytes..<(y + height) * rowBytes]), "rows from \(y)")
        }
    }

    @Test(arguments: Classic.fixtures) func `decode the same pixels from a source that grows`(fixture: Fixture) throws {
        let (info, all) = try Classic.decode(fixture.format.id, fixture.bytes)
        let source = ByteSource(fixture.bytes, arrived: 0)
        let decoder = try Classic.decoder(fixture.format.id, source)
        var buffer: PixelBuffer?
        var (isDone, parts) = (false, 0)
        for count in 1...fixture.bytes.count {
            count == fixture.bytes.count ? source.arrive() : source.arrive(1)
            do throws(CoderError) {
                let now = try decoder.readHeader()
                if buffer == nil { buffer = try PixelBuffer(size: info.size, format: info.nativeFormat) }
                guard let target = buffer else { continue }
                #expect(now == info)
                let outcome = try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(target))
                if outcome == .complete { isDone = true } else { parts += 1 }
            } catch {
                #expect(error.code == .needsInput, "\(error)")
            }
            if isDone { break }
        }
        #expect(isDone)
        #expect(buffer?.packed == all)
        // Each row is delivered alone, unless the format is decoded as a whole.
        if fixture.format != "dds" { #expect(parts == 0 || parts >= 5) }
        if ["qoi", "ras", "sgi"].contains(fixture.format.id), !fixture.name.contains("sixteen") { #expect(parts >= 5) }
    }

    @Test(arguments: Classic.fixtures) func `refuse every shorter file with a typed error`(fixture: Fixture) throws {
        for count in 0..<fixture.bytes.count {
            do throws(CoderError) {
                let decoder = try Self.decoder(fixture, Array(fixture.bytes.prefix(count)))
                let info = try decoder.readHeader()
                let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
                _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
            } catch {
                #expect([.truncated, .corrupt, .notMine].contains(error.code), "\(count) bytes: \(error)")
            }
        }
    }

    private static func decoder(_ fixture: Fixture, _ bytes: [UInt8]) throws(CoderError) -> any ImageDecoder {
        let coder = Classics.coders.first { $0.id == "org.coderhost.\(fixture.format.id)" }
        return try coder!.decoder!.init(DecoderSession(source: ByteSource(bytes)))
    }

    @Test(arguments: Classic.fixtures) func `survive damage`(fixture: Fixture) throws {
        var random = SeededRandom(19)
        for _ in 0..<2000 {
            let bytes = fixture.bytes.mutated([0, 1, 0x7f, 0x80, 0xc0, 0xfe, 0xff, 0x22, 0x20], &random)
            do throws(CoderError) {
                let decoder = try Self.decoder(fixture, bytes)
                let info = try decoder.readHeader()
                guard let area = info.size.area, area < 1 << 20 else { continue }
                let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
                _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
            } catch {
                #expect(error.code != .misuse && error.code != .needsInput, "\(error)")
            }
        }
    }

    @Test(arguments: ["qoi", "tga", "pfm", "hdr", "pcx", "dcx", "sgi", "ras", "wbmp", "xbm", "xpm", "dds"])
    func `do not accept zeros and text`(name: String) {
        for bytes in [
            [UInt8](repeating: 0, count: 4096), Array(String(repeating: "This is no image. ", count: 40).utf8),
        ] {
            #expect(error(name, bytes)?.code == .notMine)
        }
    }

    @Test(
        arguments: [
            ("pfm", Array("Pf\n1 4294967296\n-1\n".utf8)), ("wbmp", [0, 0, 13, 0x90, 0x80, 0x80, 0x80, 0]),
            ("xbm", Array("#define a_width 4294967296\n#define a_height 1\nchar a_bits[] = { 0 };".utf8)),
            ("xpm", Array("/* XPM */ {\"4294967296 1 1 1\", \"a c red\", \"a\"};".utf8)),
        ] as [(String, [UInt8])])
    func `refuse sides of more than 32 bits`(name: String, bytes: [UInt8]) {
        #expect(error(name, bytes)?.code == .corrupt)
    }

    // MARK: One format

    @Test func `QOI states linear light`() throws {
        var bytes = Fixture.named("classics/every-chunk.qoi").bytes
        #expect(try Classic.decode("qoi", bytes).info.color.codePoints?.transfer == 13)
        bytes[13] = 1
        #expect(try Classic.decode("qoi", bytes).info.color.codePoints?.transfer == 8)
    }

    @Test func `TGA without a footer is decoded, with alpha in 32 bits`() throws {
        let head: [UInt8] = [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 32, 0]
        let (info, pixels) = try Classic.decode("tga", head + [1, 2, 3, 4, 5, 6, 7, 8])

        #expect(info.nativeFormat == .bgra8)
        #expect(pixels == [5, 6, 7, 8, 1, 2, 3, 4])
    }

    @Test func `TGA does not take a cursor for an image`() {
        let cursor: [UInt8] = [0, 0, 2, 0, 1, 0, 32, 32, 0, 0, 0, 0, 0, 0, 0xa8, 0x0c, 0, 0, 22, 0, 0, 0]
        #expect(error("tga", cursor + [UInt8](repeating: 0, count: 3240))?.code == .notMine)
    }

    @Test(arguments: [false, true]) func `PFM is read from the bottom in both byte orders`(isLittle: Bool) throws {
        let samples: [Float] = [1, 2.5, -3, 0.25]
        let bytes = samples.flatMap { sample in
            (0..<4).map { UInt8(truncatingIfNeeded: sample.bitPattern >> (8 * UInt32(isLittle ? $0 : 3 - $0))) }
        }
        let (info, found) = try Classic.light("pfm", Array("Pf\n2 2\n\(isLittle ? "-" : "")1.0\n".utf8) + bytes)

        #expect(info.nativeFormat.channels == .gray)
        #expect(info.color.codePoints?.transfer == 13)
        #expect(found == [-3, 0.25, 1, 2.5])
    }

    private static func grayFloats(_ samples: [Float]) -> [UInt8] {
        let bytes = samples.flatMap { sample in
            (0..<4).map { UInt8(truncatingIfNeeded: sample.bitPattern >> (8 * UInt32($0))) }
        }
        return Array("Pf\n\(samples.count) 1\n-1.0\n".utf8) + bytes
    }

    private func sixteenBits(_ pixels: [UInt8]) -> [Int] {
        stride(from: 0, to: pixels.count, by: 2).map { Int(pixels[$0]) | Int(pixels[$0 + 1]) << 8 }
    }

    @Test func `light becomes sRGB of 16 bits, off by at most one step`() throws {
        let samples = (0..<4000).map { Float($0) * Float($0) / 16_000_000 } + [-1, 0, 1e-9, 0.003_130_8, 1, 7, .nan]
        let found = sixteenBits(try Classic.decode("pfm", Self.grayFloats(samples)).pixels)

        for (light, sample) in zip(samples, found) {
            let light = light.isNaN ? 0 : min(1, max(0, Double(light)))
            let exact = light <= 0.003_130_8 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
            #expect(abs(exact * 65_535 - Double(sample)) <= 1, "\(light)")
        }
    }

    @Test(arguments: [(-2.0, 4 as Float), (1, 0.5), (0, 1)])
    func `the exposure multiplies light`(stops: Double, light: Float) throws {
        let coder = try #require(Classics.coders.first { $0.id == "org.coderhost.pfm" })
        let session = DecoderSession(
            source: ByteSource(Self.grayFloats([light, light / 2])), options: ["pfm.exposure": .real(stops)])
        let decoder = try #require(coder.decoder).init(session)
        let buffer = try PixelBuffer(size: try decoder.readHeader().size, format: PixelFormat(.gray, bits: 16))
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)

        #expect(sixteenBits(buffer.packed) == [65_535, 48_192])
    }

    private static func radiance(_ lines: String, _ rows: [UInt8]) -> [UInt8] {
        Array("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\(lines)".utf8) + rows
    }

    /// 128 · 2^(129 − 136) is 1.
    @Test func `HDR multiplies mantissas by the exponent`() throws {
        let bytes = Self.radiance("\n-Y 1 +X 3\n", [128, 64, 32, 129, 128, 255, 0, 136, 9, 9, 9, 0])
        #expect(try Classic.light("hdr", bytes).samples == [1, 0.5, 0.25, 128, 255, 0, 0, 0, 0])
    }

    @Test func `HDR decodes both kinds of runs`() throws {
        let packed: [UInt8] = [2, 2, 0, 8, 136, 128, 136, 64, 4, 1, 2, 3, 4, 132, 5, 136, 136]
        let old: [UInt8] = [128, 64, 1, 136, 1, 1, 1, 7]
        let bytes = Self.radiance("\n-Y 2 +X 8\n", packed + old)

        let samples = try Classic.light("hdr", bytes).samples

        #expect(samples[..<24] == [1, 2, 3, 4, 5, 5, 5, 5].flatMap { [128, 64, $0] }[...])
        #expect(samples[24...] == [Float](repeating: 0, count: 8).flatMap { _ in [128, 64, 1] as [Float] }[...])
    }

    @Test(arguments: [("-Y 1 +X 2", 1), ("+Y 1 +X 2", 4), ("-X 1 -Y 2", 6), ("+X 1 -Y 2", 5), ("+X 1 +Y 2", 8)])
    func `HDR states the order of its rows as orientation`(order: String, expected: Int) throws {
        let bytes = Self.radiance("\n\(order)\n", [1, 2, 3, 136, 4, 5, 6, 136])
        let (info, samples) = try Classic.light("hdr", bytes)

        #expect((info.orientation ?? .up).rawValue == expected)
        #expect(info.size == PixelSize(2, 1))
        #expect(samples == [1, 2, 3, 4, 5, 6])
    }

    /// The white of D65 is x 0.9505, y 1, z 1.089; a mantissa has a step of 1/128.
    @Test func `HDR in XYZ becomes linear light of sRGB`() throws {
        let bytes = Array("#?RADIANCE\nFORMAT=32-bit_rle_xyze\n\n-Y 1 +X 1\n".utf8) + [122, 128, 139, 129]
        for sample in try Classic.light("hdr", bytes).samples { #expect(abs(sample - 1) < 0.02) }
    }

    @Test func `HDR with other primaries describes them`() throws {
        let line = "PRIMARIES=0.708 0.292 0.17 0.797 0.131 0.046 0.3127 0.329\n"
        let color = try Classic.light("hdr", Self.radiance("\(line)\n-Y 1 +X 1\n", [1, 2, 3, 136])).info.color

        #expect(color.codePoints == nil)
        #expect(color.gamma == 45_455)
        #expect(color.primaries?.redX == 70_800)
    }

    @Test func `HDR refuses a run beyond its row`() {
        let bytes = Self.radiance("\n-Y 1 +X 8\n", [2, 2, 0, 8, 137, 1])
        #expect(error("hdr", bytes)?.code == .corrupt)
    }

    @Test func `WBMP has white bits of 1, and may extend its header`() throws {
        let (info, pixels) = try Classic.decode("wbmp", [0, 0x80, 0x81, 0x01, 9, 1, 0b1010_0000, 0x80])

        #expect(info.size == PixelSize(9, 1))
        #expect(pixels == [255, 0, 255, 0, 0, 0, 0, 0, 255])
        #expect(
            try Classic.decode("wbmp", [0, 0, 0x81, 0x00, 1] + [UInt8](repeating: 255, count: 16)).info.size.width
                == 128)
    }

    @Test func `XBM of version 10 has numbers of 16 bits`() throws {
        let text = "/* old */ #define a_width 17\n#define a_height 1\nstatic short a_bits[] = { 0x8001, 0x1 };"
        let pixels = try Classic.decode("xbm", Array(text.utf8)).pixels
        #expect(pixels.indices.filter { pixels[$0] == 0 } == [0, 15, 16])
    }

    /// The colors are those of `rgb.txt` of X.Org.
    @Test(
        arguments: [
            ("gray50", [127, 127, 127]), ("Grey 90", [229, 229, 229]), ("gray10", [26, 26, 26]),
            ("gray", [190, 190, 190]),
            ("AntiqueWhite3", [205, 192, 176]), ("light goldenrod", [238, 221, 130]), ("DebianRed", [215, 7, 81]),
            ("#123", [17, 34, 51]), ("#FFFF80800000", [255, 128, 0]),
        ] as [(String, [UInt8])])
    func `XPM knows the color`(name: String, expected: [UInt8]) throws {
        let text = "/* XPM */\nstatic char * a[] = {\"1 1 1 1\", \"c\tm white c \(name)\", \"c\"};"
        #expect(try Classic.decode("xpm", Array(text.utf8)).pixels == expected)
    }
}
