import CoderPluginKit
import EXRCodec
import Glibc
import ImageModel
import TestSupport
import Testing

/// 16-bit samples are compared with the light that the same file has with `exr.float=true`.
@Suite(.timeLimit(.minutes(40))) struct `EXR samples` {
    private struct Decoded {
        let info: ImageInfo
        let bytes: [UInt8]

        init(_ bytes: [UInt8], keepsFloats: Bool) throws {
            let options: CoderOptions = keepsFloats ? ["exr.float": .bool(true)] : [:]
            let decoder = try EXRDecoder(DecoderSession(source: ByteSource(bytes), options: options))
            info = try decoder.readHeader()
            let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
            _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
            self.bytes = buffer.packed
        }

        func integer(_ index: Int) -> UInt32 { UInt32(bytes[2 * index]) | UInt32(bytes[2 * index + 1]) << 8 }

        func light(_ index: Int) -> Double {
            if info.nativeFormat.bits == 16 { return Double(Float16(bitPattern: UInt16(integer(index)))) }
            return Double(Float(bitPattern: integer(2 * index) | integer(2 * index + 1) << 16))
        }
    }

    private static func sample(_ light: Double, hasCurve: Bool) -> Double {
        guard light > 0 else { return 0 }
        if light >= 1 { return 65_535 }
        if !hasCurve { return 65_535 * pow(light, 1 / 2.2) }
        return 65_535 * (light <= 0.003_130_8 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055)
    }

    @Test(arguments: Fixture.valid.filter { $0.format == "exr" })
    func `are those of the light without the multiplication by alpha`(fixture: Fixture) throws {
        let samples = try Decoded(fixture.bytes, keepsFloats: false)
        let light = try Decoded(fixture.bytes, keepsFloats: true)

        try check(samples, light)
    }

    /// Changes the halves of an image with alpha to any number, infinity and NaN among them.
    @Test func `are right for every kind of half`() throws {
        let bytes = try #require(readFile(Repository.fixture("exr/data-window-across.exr")), "the fixture is missing")
        // 19 rows of 21 pixels without compression, each behind its number and length.
        let row = 8 + 21 * 8
        let start = bytes.count - 19 * row
        var random = SeededRandom(7)
        for _ in 0..<60 {
            var changed = bytes
            for place in start..<bytes.count where (place - start) % row >= 8 && random.next() % 3 == 0 {
                changed[place] = UInt8(truncatingIfNeeded: random.next())
            }
            let light = try Decoded(changed, keepsFloats: true)
            #expect(light.info.nativeFormat.channels == .rgba && light.info.nativeFormat.bytesPerPixel == 8)
            try check(Decoded(changed, keepsFloats: false), light)
        }
    }

    private func check(_ samples: Decoded, _ light: Decoded) throws {
        let format = samples.info.nativeFormat
        #expect(format.bits == 16 && format.numeric != .float && format.channels == light.info.nativeFormat.channels)
        let count = format.bytesPerPixel / 2
        let area = try #require(samples.info.size.area)
        let hasCurve = samples.info.color.codePoints != nil
        for pixel in 0..<area {
            let alpha = format.hasTransparency ? light.light(count * pixel + count - 1) : 1
            for channel in 0..<count {
                let index = count * pixel + channel
                let isAlpha = format.hasTransparency && channel == count - 1
                let stored = light.light(index)
                let straight = alpha > 0 ? (alpha < 1 ? stored / alpha : stored) : 0
                let share = alpha > 0 ? min(alpha, 1) : 0
                let expected = isAlpha ? 65_535 * share : Self.sample(straight, hasCurve: hasCurve)
                let difference = abs(Double(samples.integer(index)) - expected)
                if difference > 1 { Issue.record("pixel \(pixel), channel \(channel): \(difference)") }
            }
        }
    }
}
