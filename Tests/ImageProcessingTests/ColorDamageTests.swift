import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite(.timeLimit(.minutes(40))) struct `Damaged color profiles` {
    private static let names = ["adobe-rgb.icc", "gray-gamma-18.icc"]

    private func bytes(_ name: String) -> [UInt8] {
        guard case .icc(let bytes) = colorFixture(name) else { return [] }
        return bytes
    }

    /// Converts a few pixels with any profile; a profile never makes a conversion fail.
    @discardableResult
    private func use(_ profile: [UInt8], _ format: PixelFormat) throws -> ColorTransform {
        let transform = try ColorTransform(
            from: .icc(profile), format, to: .sRGB, format.channels == .cmyk ? .rgb8 : format)
        let pixels = (0..<12 * format.bytesPerPixel).map { UInt8(truncatingIfNeeded: $0 * 37) }
        let result = transform.bytes(pixels)
        #expect(result.count == 12 * transform.targetFormat.bytesPerPixel)
        if transform.warning != nil, format.channels != .cmyk { #expect(result == pixels) }
        return transform
    }

    @Test(arguments: names) func `truncated at every byte are ignored with a warning`(name: String) throws {
        let whole = bytes(name)
        let format: PixelFormat = name.hasPrefix("gray") ? .gray8 : .rgb8
        #expect(try use(whole, format).warning == nil)
        for count in 0..<whole.count {
            #expect(try use(Array(whole.prefix(count)), format).warning != nil, "\(count) bytes")
        }
    }

    @Test func `truncated with a matching size do no harm`() throws {
        for name in ["adobe-rgb.icc", "cmyk-table.icc", "rgb-table.icc"] {
            let whole = bytes(name)
            for count in stride(from: 132, to: whole.count, by: whole.count < 1000 ? 1 : 97) {
                var cut = Array(whole.prefix(count))
                cut.replaceSubrange(0..<4, with: [0, 0, UInt8(count >> 8), UInt8(count & 255)])
                try use(cut, name.hasPrefix("cmyk") ? .cmyk8 : .rgb8)
            }
        }
    }

    @Test func `random bytes are ignored`() throws {
        var random = SeededRandom(1)
        for count in [0, 1, 127, 128, 131, 132, 200, 5000] {
            let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(try use(noise, .rgb8).warning != nil)
        }
    }

    @Test(arguments: [
        "adobe-rgb.icc", "display-p3-sampled.icc", "rgb-table.icc", "cmyk-table.icc", "gray-gamma-18.icc",
    ])
    func `with noise after the header do no harm`(name: String) throws {
        let whole = bytes(name)
        let format: PixelFormat = name.hasPrefix("gray") ? .gray8 : name.hasPrefix("cmyk") ? .cmyk8 : .rgb8
        var random = SeededRandom(2)
        for _ in 0..<50 {
            var damaged = whole
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                // Mostly changes the tag table and the start of the tag data.
                let end = Bool.random(using: &random) ? min(400, whole.count) : whole.count
                damaged[Int.random(in: 128..<end, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            try use(damaged, format)
        }
    }

    @Test(
        arguments: [
            (0, [0xFF, 0xFF, 0xFF, 0xFF], "a size beyond the end"), (0, [0, 0, 0, 1], "a size below the header"),
            (12, Array("link".utf8), "a link"), (12, Array("nmcl".utf8), "named colors"),
            (16, Array("Lab ".utf8), "Lab"),
            (16, Array("XYZ ".utf8), "XYZ"), (16, Array("6CLR".utf8), "six inks"),
            (20, Array("RGB ".utf8), "RGB as PCS"),
            (36, [0, 0, 0, 0], "no signature"), (128, [0xFF, 0xFF, 0xFF, 0xFF], "too many tags"),
        ] as [(Int, [UInt8], String)])
    func `with a wrong header are ignored`(offset: Int, value: [UInt8], what: String) throws {
        var profile = bytes("adobe-rgb.icc")
        profile.replaceSubrange(offset..<offset + 4, with: value)
        #expect(try use(profile, .rgb8).warning != nil, "\(what)")
    }

    @Test func `with a missing or an empty curve are ignored`() throws {
        var profile = bytes("adobe-rgb.icc")
        // The entry of the tag rTRC.
        let entry = 132 + 12 * 6
        #expect(Array(profile[entry..<entry + 4]) == Array("rTRC".utf8))
        profile[entry] = 0x78
        #expect(try use(profile, .rgb8).warning != nil)
    }

    @Test func `for other pixels are ignored`() throws {
        #expect(
            try use(bytes("adobe-rgb.icc"), .gray8).warning
                == "the color profile was ignored: it is for RGB, the image is gray")
        #expect(try use(bytes("gray-gamma-18.icc"), .rgba8).warning != nil)
        #expect(try use(bytes("cmyk-table.icc"), .rgb8).warning != nil)
        #expect(try use(bytes("adobe-rgb.icc"), .cmyk8).warning != nil)
    }

    @Test func `that are too large are ignored`() throws {
        let padded = bytes("adobe-rgb.icc") + [UInt8](repeating: 0, count: ICCHeader.maxBytes)
        #expect(try use(padded, .rgb8).warning != nil)
    }

    @Test func `reserved code points are ignored`() throws {
        let points = CodePoints(primaries: 77, transfer: 13, matrix: 0, isFullRange: true)
        let transform = try ColorTransform(from: .codePoints(points), .rgb8, to: .sRGB, .rgb8)
        #expect(transform.isIdentity)
        #expect(transform.warning == "the code points 77/13 were ignored: they are not supported")
    }
}
