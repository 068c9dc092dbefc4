import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

/// PNG with fewer colors than the image: palettes, transparency, dithering, quality.
@Suite struct `A PNG of few colors` {
    private static let size = PixelSize(64, 48)

    /// Thousands of colors, with or without a gradient alone; alpha is 255, or also 0, or anything.
    enum Sample: CaseIterable {
        case opaque, smooth, holes, translucent

        func color(_ x: Int, _ y: Int) -> [Int] {
            let color = [x * 4, (x * x + y * y) / 27 % 256, (x * y / 7 + 5 * y) % 256]
            switch self {
            case .opaque: return color + [255]
            case .smooth: return [x * 4, y * 5, 2 * x + 2 * y, 255]
            case .holes: return color + [(x - 20) * (x - 20) + (y - 20) * (y - 20) < 90 ? 0 : 255]
            case .translucent: return color + [y < 12 ? 255 : y < 18 ? 0 : (x * 9 + y * 3) % 256]
            }
        }

        func buffer() throws -> PixelBuffer {
            let format: PixelFormat = self == .opaque || self == .smooth ? .rgb8 : .rgba8
            let buffer = try PixelBuffer(size: size, format: format)
            for y in 0..<size.height {
                buffer.withMutableRow(y) { row in
                    for x in 0..<size.width {
                        for (channel, value) in color(x, y).prefix(format.bytesPerPixel).enumerated() {
                            row.storeBytes(
                                of: UInt8(value), toByteOffset: x * format.bytesPerPixel + channel, as: UInt8.self)
                        }
                    }
                }
            }
            return buffer
        }
    }

    private struct Result {
        var depth: Int
        /// RGBA.
        var entries: [[Int]]
        var transparent: Int
        /// RGBA, by pixel.
        var pixels: [[Int]]
        var warnings: [String]
    }

    private func encode(
        _ sample: Sample, _ options: CoderOptions
    ) throws -> (bytes: [UInt8], warnings: [String]) {
        let buffer = try sample.buffer()
        let host = RecordingHost()
        let encoder = try PNGEncoder(EncoderSession(options: options, host: host.services()))
        var info = ImageInfo(size: Self.size, nativeFormat: buffer.format)
        info.hasAlpha = buffer.format.channels.hasAlpha
        #expect(try encoder.acceptedFormats(for: info).first == buffer.format)
        let sink = ByteSink()
        try encoder.begin(info, to: sink)
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(Self.size)), pixels: Surface(buffer))
        try encoder.finish()
        #expect(host.reserved == 0)
        return (sink.written, host.warnings)
    }

    private func reduce(_ sample: Sample, _ options: CoderOptions) throws -> Result {
        let (bytes, warnings) = try encode(sample, options)
        let chunks = pngChunks(bytes)
        let header = try #require(chunks.first { $0.name == "IHDR" }).data
        #expect(header[9] == 3)
        let colors = try #require(chunks.first { $0.name == "PLTE" }).data
        let alpha = chunks.first { $0.name == "tRNS" }?.data ?? []
        let entries = (0..<colors.count / 3).map { index in
            (0..<3).map { Int(colors[3 * index + $0]) } + [index < alpha.count ? Int(alpha[index]) : 255]
        }
        let samples = try decodePNG(bytes, as: .rgba8).samples
        let pixels = stride(from: 0, to: samples.count, by: 4).map { Array(samples[$0..<$0 + 4]) }
        return Result(
            depth: Int(header[8]), entries: entries, transparent: alpha.count, pixels: pixels, warnings: warnings)
    }

    /// The squared error over black plus that over white, for premultiplied colors.
    private static func error(_ a: [Int], _ b: [Int]) -> Double {
        (0..<3).reduce(0) { sum, channel in
            let black = (Double(a[channel] * a[3]) - Double(b[channel] * b[3])) / 255
            let white = black - Double(a[3] - b[3])
            return sum + black * black + white * white
        }
    }

    private static var places: [(x: Int, y: Int)] {
        (0..<size.height).flatMap { y in (0..<size.width).map { ($0, y) } }
    }

    private static func meanError(_ sample: Sample, _ pixels: [[Int]]) -> Double {
        let sum = zip(places, pixels).reduce(0) { $0 + error(sample.color($1.0.x, $1.0.y), $1.1) / 2 }
        return sum / Double(places.count) / 3
    }

    // MARK: Palettes

    @Test(arguments: Sample.allCases, [2, 3, 4, 16, 17, 64, 256])
    func `has at most the wanted entries, in the fewest bits`(sample: Sample, colors: Int) throws {
        for dither in ["none", "ordered", "diffusion"] {
            let result = try reduce(sample, ["png.colors": .integer(Int64(colors)), "png.dither": .string(dither)])

            #expect((2...colors).contains(result.entries.count))
            let least = [2: 1, 3: 2, 4: 2, 16: 4, 17: 8, 64: 8, 256: 8][colors] ?? 8
            #expect(result.depth <= least)
            #expect(result.warnings.isEmpty)
            // tRNS ends with the last entry that is not opaque, and none before it is opaque.
            #expect(result.entries.prefix(result.transparent).allSatisfy { $0[3] < 255 })
            #expect(result.entries.count { $0[3] < 255 } == result.transparent)
        }
    }

    /// Half a mean error may be given away for equal neighbors.
    @Test(arguments: Sample.allCases) func `gives each pixel an entry that is about as good as the nearest`(
        sample: Sample
    ) throws {
        let result = try reduce(sample, ["png.colors": .integer(24), "png.dither": .string("none")])

        let tolerance = 2 * 3 * Self.meanError(sample, result.pixels)
        let far = zip(Self.places, result.pixels).filter { place, pixel in
            let source = sample.color(place.x, place.y)
            if source[3] == 0 { return pixel[3] != 0 }
            let best = result.entries.filter { $0[3] > 0 }.map { Self.error(source, $0) }.min() ?? .infinity
            return Self.error(source, pixel) > best + tolerance
        }
        #expect(far.isEmpty, "\(far.prefix(3))")
    }

    @Test(arguments: Sample.allCases, ["none", "ordered", "diffusion", "auto"])
    func `keeps transparent pixels transparent and opaque ones opaque`(sample: Sample, dither: String) throws {
        let result = try reduce(sample, ["png.colors": .integer(16), "png.dither": .string(dither)])

        for (place, pixel) in zip(Self.places, result.pixels) {
            let alpha = sample.color(place.x, place.y)[3]
            if alpha == 0 { #expect(pixel[3] == 0) }
            if alpha == 255, sample != .translucent { #expect(pixel[3] == 255) }
        }
    }

    @Test(arguments: Sample.allCases) func `has fewer errors with more colors`(sample: Sample) throws {
        let errors = try [4, 16, 64, 256].map { count in
            let options: CoderOptions = ["png.colors": .integer(Int64(count)), "png.dither": .string("none")]
            return Self.meanError(sample, try reduce(sample, options).pixels)
        }
        #expect(zip(errors, errors.dropFirst()).allSatisfy { $0 > 1.5 * $1 }, "\(errors)")
    }

    /// Errors must not turn black of little alpha into the transparent color, which has no nearest entry.
    @Test(arguments: ["none", "ordered", "diffusion"]) func `may have nearly transparent shadows`(dither: String) throws
    {
        let buffer = try PixelBuffer(size: PixelSize(64, 64), format: .rgba8)
        for y in 0..<64 {
            buffer.withMutableRow(y) { row in
                for x in 0..<64 {
                    let alpha = UInt8(truncatingIfNeeded: (x * 7 + y * 13) % 23 + 1)
                    row.storeBytes(of: alpha, toByteOffset: 4 * x + 3, as: UInt8.self)
                    row.storeBytes(of: UInt8(x % 3), toByteOffset: 4 * x, as: UInt8.self)
                }
            }
        }
        let options: CoderOptions = ["png.colors": .integer(2), "png.dither": .string(dither)]

        let samples = try decodePNG(encodePNG(buffer, options), as: .rgba8).samples

        let alphas = stride(from: 3, to: samples.count, by: 4).map { samples[$0] }
        #expect(Set(alphas).count == 2 && alphas.allSatisfy { (1...24).contains($0) })
    }

    @Test func `keeps an image that has few colors already`() throws {
        let buffer = try pngPattern(PixelSize(4, 2), .rgb8)
        let exact = try decodePNG(encodePNG(buffer, ["png.colors": .integer(8)]), as: .rgb8)
        #expect(exact.samples == (0..<2).flatMap { y in (0..<12).map { ($0 * 7 + y * 31) & 255 } })
    }

    /// The mean of blocks of 8 × 8 pixels differs from the source by less than an eighth of a palette's step.
    @Test(arguments: ["ordered", "diffusion"]) func `dithers to the mean of the source`(dither: String) throws {
        let buffer = try PixelBuffer(size: PixelSize(64, 8), format: .rgb8)
        for y in 0..<8 {
            buffer.withMutableRow(y) { row in
                for at in 0..<192 { row.storeBytes(of: UInt8(at / 3 * 4), toByteOffset: at, as: UInt8.self) }
            }
        }
        let options: CoderOptions = ["png.colors": .integer(4), "png.dither": .string(dither)]
        let samples = try decodePNG(encodePNG(buffer, options), as: .rgb8).samples
        #expect(Set(samples).count <= 4)
        for block in 1..<7 {
            let places = (0..<64).map { ($0 / 8) * 64 + block * 8 + $0 % 8 }
            let mean = places.reduce(0) { $0 + samples[3 * $1] } / 64
            let expected = places.reduce(0) { $0 + $1 % 64 * 4 } / 64
            #expect(abs(mean - expected) <= 10, "block \(block): \(mean), expected \(expected)")
        }
    }

    // MARK: Quality

    @Test func `takes as few colors as the best quality needs`() throws {
        let qualities = [0, 20, 50]
        let results = try qualities.map { best in
            try reduce(.smooth, ["png.quality-range": .string("0-\(best)"), "png.dither": .string("none")])
        }

        for (best, result) in zip(qualities, results) {
            // The encoder gives a part of the error away for equal neighbors.
            #expect(Self.meanError(.smooth, result.pixels) <= 1.2 * 0.5 * Double(100 - best))
        }
        let counts = results.map(\.entries.count)
        #expect(counts[0] < counts[1] && counts[1] < counts[2] && counts[2] < 256, "\(counts)")
    }

    @Test func `stays in true color below the least quality, and says so`() throws {
        let (bytes, warnings) = try encode(
            .opaque, ["png.colors": .integer(4), "png.quality-range": .string("70-90")])

        let header = try #require(pngChunks(bytes).first { $0.name == "IHDR" }).data
        #expect(header[9] == 2)
        #expect(try decodePNG(bytes, as: .rgba8).samples == Self.places.flatMap { Sample.opaque.color($0.x, $0.y) })
        #expect(warnings.count == 1)
        #expect(warnings.allSatisfy { $0.hasPrefix("kept true color: 4 colors have a quality of ") })
    }

    // MARK: Options

    @Test(arguments: [
        ("png.colors", OptionValue.integer(1)), ("png.colors", .integer(257)), ("png.dither", .string("some")),
        ("png.quality-range", .string("80")), ("png.quality-range", .string("80-65")),
        ("png.quality-range", .string("0-101")), ("png.quality-range", .string("a-b")),
        ("png.quality-range", .string("-1-5")),
    ])
    func `refuses an invalid option`(key: String, value: OptionValue) {
        #expect { try encode(.opaque, [key: value]) } throws: { ($0 as? CoderError)?.code == .invalidArgument }
    }

    @Test func `warns of dithering without a palette`() throws {
        let (bytes, warnings) = try encode(.opaque, ["png.dither": .string("none")])
        #expect(pngChunks(bytes).first?.data[9] == 2)
        #expect(warnings == ["png.dither has no effect without png.colors or png.quality-range"])
    }

    @Test(arguments: Sample.allCases) func `has the same bytes each time`(sample: Sample) throws {
        let options: CoderOptions = ["png.colors": .integer(32), "png.quality-range": .string("10-90")]
        #expect(try encode(sample, options).bytes == encode(sample, options).bytes)
    }

    @Test func `can be interlaced`() throws {
        let options: CoderOptions = ["png.colors": .integer(32), "png.interlaced": .bool(true)]
        let plain = try reduce(.holes, ["png.colors": .integer(32)]).pixels
        #expect(try reduce(.holes, options).pixels == plain)
    }
}
