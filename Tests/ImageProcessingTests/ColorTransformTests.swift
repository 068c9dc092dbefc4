import HostSystem
import ImageModel
@testable import ImageProcessing
import TestSupport
import Testing

/// A profile below Fixtures/color.
func colorFixture(_ name: String) -> ColorProfile { .icc(readFile(Repository.fixture("color/\(name)")) ?? []) }

/// Returns the native-endian bytes of a number.
private func stored<Number: FixedWidthInteger>(_ value: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: value.littleEndian >> (8 * $0)) }
}

extension ColorTransform {
    /// Converts one row of bytes.
    func bytes(_ source: [UInt8]) -> [UInt8] {
        let count = source.count / sourceFormat.bytesPerPixel
        var target = [UInt8](repeating: 0xAA, count: count * targetFormat.bytesPerPixel)
        source.withSpan { source in target.withMutableSpan { convert(source, &$0, count: count) } }
        return target
    }

    /// Converts one row of 16-bit samples.
    func samples(_ source: [Int]) -> [Int] {
        let result = bytes(source.flatMap { stored(UInt16($0)) })
        return result.withSpan { span in
            (0..<result.count / 2).map { Int(span.native(at: 2 * $0, as: UInt16.self)) }
        }
    }
}

private func codes(_ primaries: UInt8, _ transfer: UInt8) -> ColorProfile {
    .codePoints(CodePoints(primaries: primaries, transfer: transfer, matrix: 0, isFullRange: true))
}

@Suite(.timeLimit(.minutes(40))) struct `Color transform` {
    private func toSRGB(
        _ source: ColorProfile, _ format: PixelFormat = .rgb8, _ target: PixelFormat? = nil
    ) throws -> ColorTransform {
        try ColorTransform(from: source, format, to: .sRGB, target ?? format)
    }

    private func largestDifference(_ a: [UInt8], _ b: [UInt8]) -> Int {
        #expect(a.count == b.count)
        return zip(a, b).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
    }

    private static func cube(_ channels: Int) -> [UInt8] {
        var colors: [[UInt8]] = [[]]
        for _ in 0..<channels { colors = colors.flatMap { color in [0, 85, 170, 255].map { color + [$0] } } }
        return colors.flatMap { $0 }
    }

    // MARK: Compared with another program

    @Test func `agrees with Little CMS on a matrix and a gamma`() throws {
        let transform = try toSRGB(colorFixture("adobe-rgb.icc"))
        #expect(transform.warning == nil && transform.changesColors)
        #expect(largestDifference(transform.bytes(Self.cube(3)), ColorGoldens.adobeRGB) <= 1)
    }

    @Test func `agrees with Little CMS on a matrix and a sampled curve`() throws {
        let transform = try toSRGB(colorFixture("display-p3-sampled.icc"))
        #expect(largestDifference(transform.bytes(Self.cube(3)), ColorGoldens.displayP3) <= 1)
    }

    @Test func `agrees with Little CMS on a gray curve`() throws {
        let transform = try toSRGB(colorFixture("gray-gamma-18.icc"), .gray8, .rgb8)
        let levels = stride(from: 0, through: 255, by: 17).map { UInt8($0) }
        #expect(largestDifference(transform.bytes(levels), ColorGoldens.gray) <= 1)
    }

    @Test func `agrees with Little CMS on tables`() throws {
        let colors = try toSRGB(colorFixture("rgb-table.icc"))
        // For this table of 17 points the library uses a grid of 33 points.
        #expect(largestDifference(colors.bytes(Self.cube(3)), ColorGoldens.rgbTable) <= 3)
        let inks = try toSRGB(colorFixture("cmyk-table.icc"), .cmyk8, .rgb8)
        #expect(largestDifference(inks.bytes(Self.cube(4)), ColorGoldens.cmyk) <= 2)
    }

    @Test func `the kernel and Little CMS differ by one level at most`() throws {
        guard case .icc(let source) = colorFixture("adobe-rgb.icc"), let target = ColorProfile.sRGB.iccBytes() else {
            Issue.record("no profiles")
            return
        }
        let library = try #require(LibraryTransform(source, .rgb8, target, .rgb8, isExact: true))
        var random = SeededRandom(4)
        let pixels = (0..<3 * 5000).map { _ in UInt8.random(in: 0...255, using: &random) }
        var other = [UInt8](repeating: 0, count: pixels.count)
        pixels.withSpan { source in other.withMutableSpan { library.convert(source, &$0, count: 5000) } }
        #expect(largestDifference(try toSRGB(.icc(source)).bytes(pixels), other) <= 1)
    }

    // MARK: Computed values

    /// Computed from the published chromaticities, curves and Bradford matrix, in double precision, by independent
    /// code.
    @Test(
        arguments: [
            (12, 13, [255, 0, 0], [255, 0, 0]), (12, 13, [0, 255, 0], [0, 255, 0]),
            (12, 13, [200, 100, 50], [214.9, 92.61, 30.95]), (12, 13, [30, 60, 90], [17.31, 60.92, 92.6]),
            (12, 13, [128, 128, 128], [128, 128, 128]), (9, 14, [200, 100, 50], [241.27, 75.95, 29.14]),
            (9, 1, [90, 160, 120], [0, 166.51, 115.46]), (11, 13, [200, 100, 50], [210.61, 92.87, 32.13]),
            (11, 13, [200, 200, 200], [200, 200, 200]), (4, 13, [200, 100, 50], [231.66, 92.95, 29.78]),
            (5, 13, [90, 160, 120], [85.19, 160, 120.57]), (6, 6, [200, 100, 50], [195.58, 102.36, 48.9]),
            (7, 13, [90, 160, 120], [95.47, 158.52, 119.83]), (8, 13, [90, 160, 120], [35.34, 163.03, 117.54]),
            (22, 13, [200, 100, 50], [201.73, 102.07, 49.07]), (10, 8, [60, 50, 40], [157.24, 109.85, 109.17]),
            (1, 4, [10, 64, 200], [2.65, 61.74, 201.29]), (1, 5, [64, 128, 200], [39.6, 106.36, 188.6]),
            (2, 8, [10, 64, 128], [55.76, 137.21, 187.84]), (1, 17, [64, 128, 200], [48.37, 118.19, 200.39]),
        ] as [(UInt8, UInt8, [UInt8], [Double])])
    func `code points become sRGB`(primaries: UInt8, transfer: UInt8, color: [UInt8], expected: [Double]) throws {
        let transform = try toSRGB(codes(primaries, transfer))
        for (value, wanted) in zip(transform.bytes(color), expected) {
            // Rounding to nearest, plus a fifth of a level for the table.
            #expect(abs(Double(value) - wanted) <= 0.71, "\(primaries)/\(transfer) \(color)")
        }
    }

    @Test func `sixteen bits stay sixteen bits`() throws {
        let wide = try toSRGB(.displayP3, .rgb16).samples([51_400, 25_700, 12_850])
        for (value, wanted) in zip(wide, [55_229.48, 23_800.69, 7954.68]) { #expect(abs(Double(value) - wanted) <= 2) }
        let gray = try toSRGB(codes(1, 8), .gray16).samples([1000, 30_000])
        for (value, wanted) in zip(gray, [8497.7, 46_321.8]) { #expect(abs(Double(value) - wanted) <= 2) }
        // Neighboring values stay distinct.
        let ramp = Array(40_000..<40_256)
        #expect(Set(try toSRGB(codes(1, 4), .gray16).samples(ramp)).count == 256)
    }

    @Test func `a gamma of PNG with its own primaries becomes sRGB`() throws {
        let adobe = try #require(
            CalibratedColor(
                gamma: 45_455,
                chromaticities: [31_270, 32_900, 64_000, 33_000, 21_000, 71_000, 15_000, 6000]))
        let result = try toSRGB(.calibrated(adobe)).bytes([200, 100, 50])
        for (value, wanted) in zip(result, [227.06, 100.03, 42.32]) { #expect(abs(Double(value) - wanted) <= 0.71) }
    }

    @Test func `BT 709 is shown as sRGB`() throws {
        for transfer: UInt8 in [1, 6, 14, 15] { #expect(try !toSRGB(codes(1, transfer)).changesColors) }
    }

    // MARK: Alpha and formats

    @Test func `alpha is unchanged`() throws {
        let straight = try toSRGB(.displayP3, .rgba8).bytes([200, 100, 50, 0, 200, 100, 50, 7, 200, 100, 50, 255])
        #expect(straight == [215, 93, 31, 0, 215, 93, 31, 7, 215, 93, 31, 255])
        #expect(try toSRGB(.displayP3, .bgra8).bytes([50, 100, 200, 9]) == [31, 93, 215, 9])
        #expect(try toSRGB(.displayP3, .bgra8, .rgba8).bytes([50, 100, 200, 9]) == [215, 93, 31, 9])
        #expect(try toSRGB(.displayP3, .rgba8, .bgra8).bytes([200, 100, 50, 9]) == [31, 93, 215, 9])
        #expect(try toSRGB(.displayP3, .rgb8, .rgba8).bytes([200, 100, 50]) == [215, 93, 31, 255])
        let opaque = PixelFormat(.rgba, alpha: .opaque)
        #expect(try toSRGB(.displayP3, opaque, .rgb8).bytes([200, 100, 50, 255]) == [215, 93, 31])
    }

    @Test func `premultiplied colors are divided by alpha first`() throws {
        let format = PixelFormat(.rgba, bits: 16, alpha: .premultiplied)
        let result = try toSRGB(.displayP3, format).samples([25_700, 12_850, 6425, 32_768, 0, 0, 0, 0])
        let alpha = 32_768.0 / 65_535
        for (value, wanted) in zip(result, [55_229.48 * alpha, 23_800.69 * alpha, 7954.68 * alpha, 32_768, 0, 0, 0, 0])
        {
            #expect(abs(Double(value) - wanted) <= 3)
        }
    }

    @Test(arguments: [16, 32])
    func `floats go through the same curve`(bits: Int) throws {
        let format = PixelFormat(.rgb, bits: bits, numeric: .float)
        let source = try ColorTransform(from: .sRGB, .rgb8, to: .sRGB, format).bytes([200, 100, 50, 255, 0, 1])
        let result = try toSRGB(.displayP3, format, .rgb8).bytes(source)
        #expect(Array(result.prefix(3)) == [215, 93, 31])
        #expect(try ColorTransform(from: .sRGB, format, to: .sRGB, .rgb8).bytes(source) == [200, 100, 50, 255, 0, 1])
    }

    @Test func `floats that are not numbers become colors`() throws {
        let format = PixelFormat(.rgba, bits: 32, numeric: .float)
        let odd: [Float] = [.nan, .infinity, -.infinity, .nan, -1, 2, 0.5, .infinity]
        let bytes = odd.flatMap { stored($0.bitPattern) }
        #expect(try toSRGB(.sRGB, format, .rgba8).bytes(bytes) == [0, 255, 0, 0, 0, 255, 128, 255])
        #expect(try toSRGB(codes(9, 18), format, .rgba8).bytes(bytes).count == 8)
        #expect(try toSRGB(colorFixture("rgb-table.icc"), format, .rgba8).bytes(bytes).count == 8)
    }

    @Test func `colors become gray by their luma in sRGB`() throws {
        let gray = try toSRGB(.displayP3, .rgb8, .gray8).bytes([200, 100, 50, 128, 128, 128])
        // 0.2126, 0.7152 and 0.0722 of 214.9, 92.61 and 30.95.
        #expect(abs(Int(gray[0]) - 114) <= 1 && gray[1] == 128)
        #expect(try toSRGB(.displayP3, .rgba8, .grayAlpha8).bytes([128, 128, 128, 3]) == [128, 3])
    }

    @Test func `a transform that would drop transparency is refused`() {
        #expect(throws: CoderError.self) { try toSRGB(.displayP3, .rgba8, .rgb8) }
    }

    @Test func `rows of every width and alignment give the same result`() throws {
        let transform = try toSRGB(.displayP3, .rgb8)
        var random = SeededRandom(9)
        let pixels = (0..<3 * 600).map { _ in UInt8.random(in: 0...255, using: &random) }
        let all = transform.bytes(pixels)
        for width in 1...67 {
            let start = width * 3
            #expect(transform.bytes(Array(pixels[start..<start + 3 * width])) == Array(all[start..<start + 3 * width]))
        }
        let library = try toSRGB(colorFixture("rgb-table.icc"), .rgb8)
        let expected = library.bytes(pixels)
        for count in [1, 255, 256, 257, 599] {
            #expect(library.bytes(Array(pixels.prefix(3 * count))) == Array(expected.prefix(3 * count)))
        }
    }

    // MARK: No conversion

    @Test func `an effective sRGB profile changes no pixels`() throws {
        for profile in [ColorProfile.assumed, .sRGB, codes(1, 13), .icc(try #require(ColorProfile.sRGB.iccBytes()))] {
            #expect(try toSRGB(profile).isIdentity)
            #expect(try toSRGB(profile).warning == nil)
        }
        let buffer = try PixelBuffer.of(PixelSize(3, 2), .rgb8, [1, 2, 3, 4, 5])
        #expect(try toSRGB(.sRGB).convert(buffer) === buffer)
    }

    @Test func `the same profile on both sides changes nothing`() throws {
        let profile = colorFixture("cmyk-table.icc")
        #expect(try ColorTransform(from: profile, .cmyk8, to: profile, .cmyk8).isIdentity)
    }

    @Test func `an image is converted whole`() throws {
        let buffer = try PixelBuffer.of(PixelSize(5, 3), .rgb8, [200, 100, 50])
        let result = try toSRGB(.displayP3, .rgb8, .rgba8).convert(.padded(buffer, by: 7))
        #expect(result.packed == (0..<15).flatMap { _ in [215, 93, 31, 255] as [UInt8] })
        #expect(throws: CoderError.self) { try toSRGB(.displayP3, .rgba8).convert(buffer) }
    }

    // MARK: Other targets

    @Test func `a wide-gamut target gets its own values`() throws {
        let kernel = try ColorTransform(from: .sRGB, .rgb8, to: .displayP3, .rgb8)
        let result = kernel.bytes([215, 93, 31])
        #expect(largestDifference(result, [200, 100, 50]) <= 1)
        let library = try ColorTransform(from: .sRGB, .rgb8, to: colorFixture("display-p3-sampled.icc"), .rgb8)
        #expect(largestDifference(library.bytes([215, 93, 31]), [200, 100, 50]) <= 1)
    }

    @Test func `CMYK without a profile follows the formula`() throws {
        let transform = try toSRGB(.assumed, .cmyk8, .rgb8)
        #expect(transform.changesColors)
        // (255 − C)(255 − K) / 255
        #expect(transform.bytes([0, 128, 255, 0, 0, 128, 255, 128]) == [255, 127, 0, 127, 63, 0])
    }

    @Test(arguments: [ColorProfile.assumed, .displayP3, colorFixture("adobe-rgb.icc")])
    func `an unsupported target is refused`(profile: ColorProfile) {
        #expect(throws: CoderError.self) { try ColorTransform(from: .sRGB, .rgb8, to: profile, .cmyk8) }
        #expect(throws: CoderError.self) { try ColorTransform(from: profile, .rgb8, to: codes(9, 16), .rgb8) }
        #expect(throws: CoderError.self) { try ColorTransform(from: profile, .rgb8, to: .icc([1, 2, 3]), .rgb8) }
    }
}
