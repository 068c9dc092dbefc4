import HostSystem
import ImageModel
@testable import ImageProcessing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Pixel converter` {
    static let straight: [PixelFormat] = PixelFormat.Channels.allCases.flatMap { channels in
        [8, 16].map { PixelFormat(channels, bits: $0) }
    }
    static let withAlpha = straight.filter(\.channels.hasAlpha)
    static let premultiplied = withAlpha.map { PixelFormat($0.channels, bits: $0.bits, alpha: .premultiplied) }
    static let opaque = withAlpha.map { PixelFormat($0.channels, bits: $0.bits, alpha: .opaque) }

    /// One pixel with values in 0 … 1.
    private struct Color {
        var red, green, blue, alpha: Double
    }

    /// Returns samples with all edge cases: limits, their neighbors, halves, noise. Premultiplied samples stay below
    /// alpha.
    private func samples(_ format: PixelFormat, _ pixels: Int) -> [Int] {
        var random = SeededRandom(UInt64(format.channels.rawValue) * 100 + UInt64(format.bits))
        let top = format.bits == 8 ? 255 : 65_535
        let corners = [0, 1, 2, top / 2, top / 2 + 1, top - 1, top]
        return (0..<pixels).flatMap { _ -> [Int] in
            var pixel = (0..<format.channels.count).map { _ in
                Bool.random(using: &random)
                    ? corners.randomElement(using: &random)! : Int.random(in: 0...top, using: &random)
            }
            if Int.random(in: 0..<4, using: &random) == 0 { for i in 0..<min(3, pixel.count) { pixel[i] = pixel[0] } }
            if format.channels.hasAlpha {
                let last = pixel.count - 1
                if format.alpha == .opaque { pixel[last] = top }
                if format.alpha == .premultiplied { for i in 0..<last { pixel[i] = min(pixel[i], pixel[last]) } }
            }
            return pixel
        }
    }

    private func buffer(_ samples: [Int], _ format: PixelFormat, width: Int) throws -> PixelBuffer {
        let perRow = width * format.channels.count
        let buffer = try PixelBuffer(size: PixelSize(width, samples.count / perRow), format: format)
        for y in 0..<buffer.size.height {
            buffer.withMutableRow(y) { row in
                for x in 0..<perRow {
                    let value = samples[y * perRow + x]
                    if format.bits == 8 {
                        row.storeBytes(of: UInt8(value), toByteOffset: x, as: UInt8.self)
                    } else {
                        row.storeBytes(of: UInt16(value), toByteOffset: x * 2, as: UInt16.self)
                    }
                }
            }
        }
        return buffer
    }

    private func samples(of buffer: PixelBuffer) -> [Int] {
        var all: [Int] = []
        for y in 0..<buffer.size.height {
            buffer.withRow(y) { row in
                for x in 0..<buffer.size.width * buffer.format.channels.count {
                    all.append(
                        buffer.format.bits == 8 ? Int(row.byte(at: x)) : Int(row.native(at: x * 2, as: UInt16.self)))
                }
            }
        }
        return all
    }

    // MARK: The slow reference

    private func color(_ pixel: [Int], _ format: PixelFormat) -> Color {
        let top = format.bits == 8 ? 255.0 : 65_535
        func at(_ index: Int) -> Double { Double(pixel[index]) / top }
        var color =
            switch format.channels {
            case .gray: Color(red: at(0), green: at(0), blue: at(0), alpha: 1)
            case .grayAlpha: Color(red: at(0), green: at(0), blue: at(0), alpha: at(1))
            case .rgb: Color(red: at(0), green: at(1), blue: at(2), alpha: 1)
            case .rgba: Color(red: at(0), green: at(1), blue: at(2), alpha: at(3))
            case .bgra: Color(red: at(2), green: at(1), blue: at(0), alpha: at(3))
            case .cmyk:
                Color(
                    red: (1 - at(0)) * (1 - at(3)), green: (1 - at(1)) * (1 - at(3)), blue: (1 - at(2)) * (1 - at(3)),
                    alpha: 1)
            }
        if format.alpha == .premultiplied, color.alpha > 0 {
            color.red /= color.alpha
            color.green /= color.alpha
            color.blue /= color.alpha
        }
        return color
    }

    private func expected(_ pixel: [Int], _ from: PixelFormat, _ to: PixelFormat) -> [Double] {
        var color = color(pixel, from)
        func each(_ change: (Double) -> Double) {
            (color.red, color.green, color.blue) = (change(color.red), change(color.green), change(color.blue))
        }
        if from.hasTransparency && !to.hasTransparency {
            let alpha = color.alpha
            each { $0 * alpha + (1 - alpha) }
            color.alpha = 1
        }
        if to.alpha == .premultiplied {
            let alpha = color.alpha
            each { $0 * alpha }
        }
        let luma = color.red * 0.2126 + color.green * 0.7152 + color.blue * 0.0722
        let top = to.bits == 8 ? 255.0 : 65_535
        let values =
            switch to.channels {
            case .gray: [luma]
            case .grayAlpha: [luma, color.alpha]
            case .rgb: [color.red, color.green, color.blue]
            case .rgba: [color.red, color.green, color.blue, color.alpha]
            case .bgra: [color.blue, color.green, color.red, color.alpha]
            case .cmyk: [Double]()
            }
        return values.map { $0 * top }
    }

    /// Returns how far a sample may deviate from the exact value: half a step for rounding to nearest, a whole step for
    /// keeping the high byte. A color that is both divided by alpha and weighted is rounded twice.
    private func tolerance(_ from: PixelFormat, _ to: PixelFormat) -> Double {
        let isGrayed = from.channels.count >= 3 && to.channels.count < 3
        if from.channels == .cmyk {
            // Computed in 8 bits: two inks truncated to the high byte, the product rounded; a step is 257 of 16 bits.
            return ((from.bits == 16 ? 2.0 : 0) + 0.501 + (isGrayed ? 0.501 : 0)) * (to.bits == 16 ? 257 : 1)
        }
        if from.bits == 16 && to.bits == 8 { return 1.01 }
        let steps = [
            isGrayed, from.alpha == .premultiplied && to.alpha != .premultiplied,
            to.alpha == .premultiplied && from.alpha != .premultiplied, from.hasTransparency && !to.hasTransparency,
        ]
        let count = steps.count { $0 }
        return count == 0 ? 0.001 : to.bits == 8 && count == 1 ? 0.501 : to.bits == 8 ? 0.52 : 0.501 * Double(count)
    }

    @Test(
        arguments: straight + premultiplied + opaque, straight.filter { $0.channels != .cmyk } + premultiplied + opaque)
    func `agrees with exact arithmetic`(from: PixelFormat, to: PixelFormat) throws {
        let width = 64
        let pixels = samples(from, width * 40)
        let result = try PixelConverter.convert(try buffer(pixels, from, width: width), to: to)
        let converted = samples(of: result)

        #expect(result.format == to)
        let (source, target) = (from.channels.count, to.channels.count)
        var worst = 0.0
        for pixel in 0..<width * 40 {
            let original = Array(pixels[pixel * source..<(pixel + 1) * source])
            if from.alpha == .premultiplied, original.last == 0 { continue }
            let wanted = expected(original, from, to)
            for (index, value) in wanted.enumerated() {
                worst = max(worst, abs(Double(converted[pixel * target + index]) - value))
            }
        }
        #expect(worst <= tolerance(from, to))
    }

    @Test(arguments: straight.filter { $0.bits == 16 && $0.channels != .cmyk })
    func `keeps the high byte of 16 bits`(format: PixelFormat) throws {
        let pixels = samples(format, 64)

        let result = try PixelConverter.convert(
            try buffer(pixels, format, width: 8), to: PixelFormat(format.channels, bits: 8))

        #expect(samples(of: result) == pixels.map { $0 >> 8 })
    }

    @Test(arguments: straight.filter { $0.bits == 8 && $0.channels != .cmyk })
    func `repeats the byte for 16 bits`(format: PixelFormat) throws {
        let pixels = samples(format, 64)

        let result = try PixelConverter.convert(
            try buffer(pixels, format, width: 8), to: PixelFormat(format.channels, bits: 16))

        #expect(samples(of: result) == pixels.map { $0 * 257 })
    }

    @Test(arguments: straight + premultiplied) func `returns the same buffer if nothing changes`(
        format: PixelFormat
    ) throws {
        let buffer = try buffer(samples(format, 16), format, width: 4)

        #expect(try PixelConverter.convert(buffer, to: format) === buffer)
    }

    /// Returns one number for each pair of value and alpha, alpha by alpha.
    private static func table(_ number: (_ value: Int, _ alpha: Int) -> Int) -> [Int] {
        var all: [Int] = []
        for alpha in 0...255 { for value in 0...255 { all.append(number(value, alpha)) } }
        return all
    }

    /// Returns gray pixels of every value with every alpha.
    private static func grays() -> [Int] {
        var all: [Int] = []
        for alpha in 0...255 { for value in 0...255 { all += [value, value, value, alpha] } }
        return all
    }

    @Test func `premultiplies every pair of bytes to the nearest`() throws {
        let result = samples(
            of: try PixelConverter.convert(
                try buffer(Self.grays(), .rgba8, width: 256), to: PixelFormat(.rgba, alpha: .premultiplied)))

        let wanted = Self.table { value, alpha in (2 * value * alpha + 255) / 510 }
        #expect(stride(from: 0, to: result.count, by: 4).map { result[$0] } == wanted)
    }

    @Test func `restores the color of premultiplied pixels`() throws {
        let format = PixelFormat(.rgba, alpha: .premultiplied)
        var pixels: [Int] = []
        for alpha in 1...255 { for value in 0...255 { pixels += [min(value, alpha), 0, alpha, alpha] } }

        let result = samples(of: try PixelConverter.convert(try buffer(pixels, format, width: 256), to: .rgba8))

        let wanted = Self.table { value, alpha in
            alpha == 0 ? 0 : (2 * min(value, alpha) * 255 + alpha) / (2 * alpha)
        }.dropFirst(256)
        #expect(stride(from: 0, to: result.count, by: 4).map { result[$0] } == Array(wanted))
        #expect(stride(from: 2, to: result.count, by: 4).allSatisfy { result[$0] == 255 })
    }

    @Test func `draws every pair of bytes on white and on another background`() throws {
        let source = try buffer(Self.grays(), .rgba8, width: 256)
        let dark = RGBAColor(red: 40, green: 40, blue: 40)

        let white = samples(of: try PixelConverter.convert(source, to: .rgb8))
        let other = samples(of: try PixelConverter.convert(source, to: .rgb8, background: dark))

        func wanted(_ under: Int) -> [Int] {
            Self.table { value, alpha in (2 * (value * alpha + under * (255 - alpha)) + 255) / 510 }
        }
        #expect(stride(from: 0, to: white.count, by: 3).map { white[$0] } == wanted(255))
        #expect(stride(from: 0, to: other.count, by: 3).map { other[$0] } == wanted(40))
    }

    @Test func `converts CMYK to RGB by the rule`() throws {
        var inks: [Int] = []
        for black in 0...255 { for ink in 0...255 { inks += [ink, 255 - ink, 0, black] } }

        let result = samples(of: try PixelConverter.convert(try buffer(inks, .cmyk8, width: 256), to: .rgb8))

        var wanted: [Int] = []
        for at in stride(from: 0, to: inks.count, by: 4) {
            let light = 255 - inks[at + 3]
            for ink in inks[at..<at + 3] { wanted.append((2 * (255 - ink) * light + 255) / 510) }
        }
        #expect(result == wanted)
    }

    @Test func `keeps the high byte of 16-bit CMYK`() throws {
        // 255, 0, 1 and 127 of ink.
        let inks = [0xFF00, 0x00FF, 0x0100, 0x7FFF]

        let result = samples(
            of: try PixelConverter.convert(try buffer(inks, PixelFormat(.cmyk, bits: 16), width: 1), to: .rgb8))

        #expect(result == [0, 128, (254 * 128 + 127) / 255])
    }

    @Test(arguments: [
        PixelFormat.cmyk8, PixelFormat(.rgba, bits: 32, numeric: .float), PixelFormat(.gray, bits: 16, numeric: .float),
    ])
    func `refuses unsupported formats`(format: PixelFormat) throws {
        let buffer = try PixelBuffer(size: PixelSize(2, 2), format: .rgba8)

        let error = #expect(throws: CoderError.self) { try PixelConverter.convert(buffer, to: format) }

        #expect(error?.code == .unsupportedFeature)
        #expect(error?.message.contains("\(format)") == true)
    }

    @Test(arguments: [PixelFormat.rgba8, .gray8, .rgb16]) func `reads rows with padding`(format: PixelFormat) throws {
        let packed = try buffer(samples(.rgb8, 30), .rgb8, width: 5)

        let result = try PixelConverter.convert(.padded(packed, by: 7), to: format)

        #expect(result.packed == (try PixelConverter.convert(packed, to: format)).packed)
    }

    // MARK: Turning

    /// Formats of 1, 2, 3, 4, 6, 8 and 16 bytes in a pixel.
    static let sizes: [PixelFormat] = [
        .gray8, .grayAlpha8, .gray16, .rgb8, .rgba8, .grayAlpha16, .rgb16, .rgba16,
        PixelFormat(.rgba, bits: 32, numeric: .float), PixelFormat(.rgb, bits: 32, numeric: .float),
    ]

    @Test(arguments: Orientation.allCases, sizes) func `turns every pixel to its place`(
        orientation: Orientation, format: PixelFormat
    ) throws {
        var random = SeededRandom(1)
        let bytes = format.bytesPerPixel
        // More than one tile in each direction, and images of one row or column.
        for size in [PixelSize(1, 1), PixelSize(1, 40), PixelSize(40, 1), PixelSize(37, 70), PixelSize(64, 32)] {
            let data = (0..<size.width * size.height * bytes).map { _ in UInt8.random(in: 0...255, using: &random) }
            let result = try PixelConverter.upright(try .of(size, format, data), orientation)

            #expect(result.size == (orientation.swapsSides ? PixelSize(size.height, size.width) : size))
            #expect(result.format == format)
            let turned = result.packed
            var differences = 0
            for y in 0..<result.size.height {
                for x in 0..<result.size.width {
                    let place = orientation.source(x: x, y: y, in: size)
                    let (to, from) = ((y * result.size.width + x) * bytes, (place.y * size.width + place.x) * bytes)
                    if turned[to..<to + bytes] != data[from..<from + bytes] { differences += 1 }
                }
            }
            #expect(differences == 0)
            let padded = PixelBuffer.padded(try .of(size, format, data), by: 5)
            #expect(try PixelConverter.upright(padded, orientation).packed == turned)
        }
    }
}
