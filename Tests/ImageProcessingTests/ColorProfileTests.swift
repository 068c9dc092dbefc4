import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Color profile of a file` {
    private let hlg = CodePoints(primaries: 9, transfer: 18, matrix: 0, isFullRange: true)
    private let profile = MetadataBlob(.icc, [1, 2, 3])
    private let gamma: UInt32 = 34_464

    private func info(_ color: ColorDescription, _ format: PixelFormat = .rgb8) -> ImageInfo {
        ImageInfo(size: PixelSize(1, 1), nativeFormat: format, color: color)
    }

    @Test func `preferred code points take precedence`() {
        let color = ColorDescription(codePoints: hlg, hasProfile: true, prefersCodePoints: true, gamma: gamma)
        #expect(ColorProfile(of: info(color), metadata: [profile]) == .codePoints(hlg))
    }

    @Test func `a profile comes before sRGB and gamma`() {
        let color = ColorDescription(codePoints: .sRGB, hasProfile: true, gamma: gamma)
        #expect(ColorProfile(of: info(color), metadata: [profile]) == .icc([1, 2, 3]))
    }

    @Test func `sRGB comes before gamma`() {
        #expect(ColorProfile(of: info(ColorDescription(codePoints: .sRGB, gamma: gamma)), metadata: []) == .sRGB)
    }

    @Test func `gamma comes last, and nothing is assumed sRGB`() throws {
        let calibrated = try #require(CalibratedColor(gamma: 34_464))
        #expect(ColorProfile(of: info(ColorDescription(gamma: gamma)), metadata: []) == .calibrated(calibrated))
        let nothing = ColorProfile(of: info(ColorDescription()), metadata: [])
        #expect(nothing == .assumed && nothing.description == "assumed sRGB")
    }

    @Test func `unspecified code points are ignored`() {
        let none = CodePoints(primaries: 2, transfer: 2, matrix: 2, isFullRange: true)
        #expect(ColorProfile(of: info(ColorDescription(codePoints: none)), metadata: []) == .assumed)
        let preferred = ColorDescription(codePoints: none, hasProfile: true, prefersCodePoints: true)
        #expect(ColorProfile(of: info(preferred), metadata: [profile]) == .icc([1, 2, 3]))
    }

    @Test func `CMYK has no code points and no gamma`() {
        let color = ColorDescription(codePoints: .sRGB, gamma: gamma)
        #expect(ColorProfile(of: info(color, .cmyk8), metadata: []) == .assumed)
    }

    @Test func `a gamma like that of sRGB is ignored`() {
        let points: [UInt32] = [31_270, 32_900, 64_000, 33_000, 30_000, 60_000, 15_000, 6000]
        #expect(CalibratedColor(gamma: 45_455) == nil)
        #expect(CalibratedColor(gamma: 45_000) == nil)
        #expect(CalibratedColor(gamma: 45_455, chromaticities: points) == nil)
        #expect(CalibratedColor(gamma: nil, chromaticities: points.reversed()) == nil)
        #expect(CalibratedColor(gamma: 0) == nil)
        #expect(CalibratedColor(gamma: .max) == nil)
    }

    @Test func `primaries that define no color space are ignored`() throws {
        let line: [UInt32] = [31_270, 32_900, 10_000, 10_000, 20_000, 20_000, 30_000, 30_000]
        #expect(try #require(CalibratedColor(gamma: 100_000, chromaticities: line)).chromaticities == nil)
        let zeros = [UInt32](repeating: 0, count: 8)
        #expect(try #require(CalibratedColor(gamma: 100_000, chromaticities: zeros)).chromaticities == nil)
        let huge = [UInt32](repeating: .max, count: 8)
        #expect(try #require(CalibratedColor(gamma: 100_000, chromaticities: huge)).chromaticities == nil)
    }

    @Test func `high dynamic range is detected from code points and from a tag`() throws {
        #expect(ColorProfile.codePoints(hlg).isHighDynamicRange)
        #expect(!ColorProfile.displayP3.isHighDynamicRange)
        #expect(ColorProfile.icc(try tagged(9, 16)).isHighDynamicRange)
    }

    /// Returns an sRGB profile with a tag that declares other code points.
    private func tagged(_ primaries: UInt8, _ transfer: UInt8) throws -> [UInt8] {
        var bytes = try #require(ColorProfile.sRGB.iccBytes())
        // The tag replaces the copyright.
        let entry = 132 + 12
        #expect(Array(bytes[entry..<entry + 4]) == Array("cprt".utf8))
        bytes.replaceSubrange(entry..<entry + 4, with: Array("cicp".utf8))
        let offset = Int(bytes[entry + 6]) << 8 | Int(bytes[entry + 7])
        bytes.replaceSubrange(offset..<offset + 12, with: Array("cicp".utf8) + [0, 0, 0, 0, primaries, transfer, 0, 1])
        return bytes
    }

    @Test func `a tag of code points counts for PQ`() throws {
        let byTag = try ColorTransform(from: .icc(try tagged(9, 16)), .rgb8, to: .sRGB, .rgb8)
        let byCode = try ColorTransform(
            from: .codePoints(CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true)), .rgb8, to: .sRGB,
            .rgb8)
        #expect(byTag.bytes([100, 150, 120]) == byCode.bytes([100, 150, 120]))
        #expect(try !ColorTransform(from: .icc(try tagged(1, 13)), .rgb8, to: .sRGB, .rgb8).changesColors)
    }
}

@Suite struct `Written profiles` {
    private static let linear = ColorProfile.codePoints(
        CodePoints(primaries: 9, transfer: 8, matrix: 0, isFullRange: true))

    @Test(arguments: [ColorProfile.sRGB, .displayP3, linear], [false, true])
    func `are small, valid and always the same`(profile: ColorProfile, isGray: Bool) throws {
        let bytes = try #require(profile.iccBytes(isGray: isGray))
        #expect(bytes.count < 640 && bytes == profile.iccBytes(isGray: isGray))
        #expect(try ICCHeader(bytes).space == (isGray ? .gray : .rgb))
        guard case .shape(let shape) = try #require(ProfileReader.read(bytes, isGray: isGray)) else {
            Issue.record("the library finds more than curves and a matrix")
            return
        }
        #expect(shape.isSRGBInEffect == (profile == .sRGB || isGray && profile == .displayP3))
    }

    @Test func `are equivalent to their code points`() throws {
        for profile in [ColorProfile.displayP3, Self.linear] {
            let written = ColorProfile.icc(try #require(profile.iccBytes()))
            let colors: [UInt8] = [200, 100, 50, 3, 250, 90, 0, 0, 0, 255, 255, 255, 17, 17, 200]
            let a = try ColorTransform(from: profile, .rgb8, to: .sRGB, .rgb8).bytes(colors)
            let b = try ColorTransform(from: written, .rgb8, to: .sRGB, .rgb8).bytes(colors)
            #expect(zip(a, b).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
        }
    }

    @Test func `white is the white of the connection space`() throws {
        let bytes = try #require(ColorProfile.displayP3.iccBytes())
        guard case .shape(let shape) = try #require(ProfileReader.read(bytes, isGray: false)) else {
            Issue.record("the profile has no matrix")
            return
        }
        for (value, white) in zip(shape.toConnectionSpace * [1, 1, 1], [0.9642, 1, 0.8249]) {
            #expect(abs(value - white) < 0.0001)
        }
    }

    @Test func `do not exist for high dynamic range`() {
        for transfer: UInt8 in [16, 18, 2, 9] {
            let points = CodePoints(primaries: 9, transfer: transfer, matrix: 0, isFullRange: true)
            #expect((ColorProfile.codePoints(points).iccBytes() == nil) == (transfer != 2))
        }
    }
}
