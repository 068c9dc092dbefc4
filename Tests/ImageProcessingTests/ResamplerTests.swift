@testable import HostSystem
import HostSystem
import ImageModel
@testable import ImageProcessing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Resampled images` {
    static let formats: [PixelFormat] = PixelFormat.Channels.allCases.flatMap { channels -> [PixelFormat] in
        let alphas: [PixelFormat.Alpha] = channels.hasAlpha ? [.straight, .premultiplied, .opaque] : [.none]
        return alphas.flatMap { alpha in
            [(8, PixelFormat.Numeric.unorm), (16, .unorm), (16, .float), (32, .float)].map {
                PixelFormat(channels, bits: $0.0, numeric: $0.1, alpha: alpha)
            }
        }
    }

    /// Returns noise; alpha is often 0 or full, and premultiplied samples stay below it.
    static func noise(_ size: PixelSize, _ format: PixelFormat, seed: UInt64 = 1) throws -> PixelBuffer {
        var random = SeededRandom(seed)
        var samples = Samples(size, channels: format.channels.count)
        let last = samples.channels - 1
        for at in stride(from: 0, to: samples.values.count, by: samples.channels) {
            for c in 0...last { samples.values[at + c] = Double.random(in: 0...1, using: &random) }
            guard format.channels.hasAlpha else { continue }
            let alpha =
                format.alpha == .opaque
                ? 1 : min(1, max(0, Double.random(in: -0.5...1.5, using: &random)))
            samples.values[at + last] = alpha
            if format.alpha == .premultiplied { for c in 0..<last { samples.values[at + c] *= alpha } }
        }
        return try samples.buffer(format)
    }

    /// Returns the permitted deviation of a sample: rounding and the arithmetic's own steps.
    private func tolerance(_ format: PixelFormat) -> Double {
        switch (format.numeric, format.bits) {
        case (.unorm, 8): 0.55 / 255
        case (.unorm, _): 1.5 / 65_535
        case (.float, 16): 1.0 / 2048
        case (.float, _): 1e-5
        }
    }

    /// Returns the largest deviation; colors are compared multiplied by alpha, because a small alpha makes them
    /// uncertain.
    private func error(_ result: PixelBuffer, _ wanted: Samples) -> Double {
        var (got, wanted) = (Samples(result), wanted)
        if result.format.alpha == .straight {
            let last = got.channels - 1
            for at in stride(from: 0, to: got.values.count, by: got.channels) {
                for c in 0..<last {
                    got.values[at + c] *= wanted.values[at + last]
                    wanted.values[at + c] *= wanted.values[at + last]
                }
            }
        }
        return got.distance(wanted)
    }

    private func check(
        _ format: PixelFormat, _ from: PixelSize, _ to: PixelSize, _ how: Resampling, window: SourceWindow? = nil,
        slack: Double = 1, apart: Double = 0
    ) throws {
        let source = try Self.noise(from, format)
        let result = try Resampler.resample(BufferRows(source), window: window, to: to, how, pool: .shared)
        #expect(result.size == to && result.format == format)
        let wanted = SlowResampler(filter: how.filter, linearLight: how.linearLight)
            .resample(Samples(source), format, window: window, to: to)
        let error = error(result, wanted)
        #expect(error <= tolerance(format) * slack + apart, "\(format) \(from) to \(to) \(how)")
    }

    @Test(arguments: formats, ResamplingFilter.allCases)
    func `agrees with the formula`(format: PixelFormat, filter: ResamplingFilter) throws {
        try check(format, PixelSize(53, 31), PixelSize(19, 11), Resampling(filter: filter))
    }

    static let shapes: [(from: PixelSize, to: PixelSize)] = [
        (PixelSize(1, 1), PixelSize(1, 1)), (PixelSize(1, 1), PixelSize(5, 3)), (PixelSize(1, 40), PixelSize(1, 7)),
        (PixelSize(40, 1), PixelSize(7, 1)), (PixelSize(1, 9), PixelSize(4, 30)), (PixelSize(9, 1), PixelSize(30, 4)),
        (PixelSize(7, 5), PixelSize(31, 17)), (PixelSize(7, 5), PixelSize(1, 1)), (PixelSize(64, 3), PixelSize(5, 9)),
        (PixelSize(3, 64), PixelSize(9, 5)), (PixelSize(33, 20), PixelSize(33, 10)),
        (PixelSize(20, 33), PixelSize(10, 33)), (PixelSize(67, 29), PixelSize(66, 28)),
        (PixelSize(2, 2), PixelSize(3, 3)),
    ]

    /// One format for each kind of arithmetic.
    static let someFormats: [PixelFormat] = [
        .gray8, .grayAlpha8, .rgb8, .rgba8, PixelFormat(.bgra, alpha: .premultiplied),
        PixelFormat(.rgba, alpha: .opaque),
        .cmyk8, .rgba16, PixelFormat(.rgba, bits: 32, numeric: .float),
    ]

    @Test(arguments: shapes.indices, someFormats)
    func `agrees at every shape`(shape: Int, format: PixelFormat) throws {
        for filter in ResamplingFilter.allCases {
            try check(format, Self.shapes[shape].from, Self.shapes[shape].to, Resampling(filter: filter))
        }
    }

    @Test(arguments: someFormats) func `agrees for every odd width`(format: PixelFormat) throws {
        for width in 1...67 {
            try check(format, PixelSize(width, 6), PixelSize((width + 2) / 3, 2), Resampling())
            try check(format, PixelSize(9, 6), PixelSize(width, 2), Resampling(filter: .bicubic))
        }
    }

    @Test(
        arguments: [
            SourceWindow(PixelRect(x: 5, y: 3, width: 20, height: 10)),
            SourceWindow(PixelRect(x: 0, y: 0, width: 1, height: 31)),
            SourceWindow(PixelRect(x: 52, y: 30, width: 1, height: 1)),
            SourceWindow(x: 5.25, y: 2.75, width: 30.5, height: 20.125),
            SourceWindow(x: 0.9, y: 0.9, width: 0.2, height: 30),
        ], someFormats) func `agrees on a part of the source`(window: SourceWindow, format: PixelFormat) throws
    {
        for filter in ResamplingFilter.allCases {
            try check(format, PixelSize(53, 31), PixelSize(9, 13), Resampling(filter: filter), window: window)
        }
    }

    @Test(arguments: formats) func `mixes light if requested`(format: PixelFormat) throws {
        // The curve is steep at its dark end: one step of 65,535 becomes twelve.
        let slack = format.numeric == .unorm && format.bits == 16 ? 8.0 : 2
        try check(format, PixelSize(23, 14), PixelSize(9, 6), Resampling(linearLight: true), slack: slack)
    }

    @Test func `black and white lines reduced to half become half the light`() throws {
        let lines = try PixelBuffer.of(PixelSize(40, 40), .gray8, [0, 255])

        let light = try Resampler.resample(
            BufferRows(lines), to: PixelSize(20, 20), Resampling(filter: .box, linearLight: true))
        let values = try Resampler.resample(BufferRows(lines), to: PixelSize(20, 20), Resampling(filter: .box))

        #expect(Set(light.packed) == [188])
        #expect(Set(values.packed) == [128])
    }

    @Test(arguments: someFormats, ResamplingFilter.allCases)
    func `agrees where thousands become one`(format: PixelFormat, filter: ResamplingFilter) throws {
        for (from, to) in [
            (PixelSize(1, 1009), PixelSize(1, 2)), (PixelSize(1009, 1), PixelSize(3, 1)),
            (PixelSize(101, 97), PixelSize(1, 1)), (PixelSize(200, 5), PixelSize(5, 5)),
        ] {
            try check(format, from, to, Resampling(filter: filter), apart: filter == .nearest ? 0 : 0.012)
        }
    }

    @Test(arguments: [
        PixelFormat.rgb8, .rgb16, .rgba8, .rgba16, PixelFormat(.rgba, bits: 32, numeric: .float),
    ]) func `keeps format and white (T-22)`(format: PixelFormat) throws {
        var white = Samples(PixelSize(100, 100), channels: format.channels.count)
        for at in white.values.indices { white.values[at] = 1 }

        let result = try Resampler.resample(BufferRows(try white.buffer(format)), to: PixelSize(50, 50))

        #expect(result.format == format)
        #expect(result.size == PixelSize(50, 50))
        let first = Samples(result).values.prefix(format.channels.count)
        #expect(first.allSatisfy { abs($0 - 1) < 1e-6 })
        if format.numeric == .unorm { #expect(first.allSatisfy { $0 == 1 }) }
    }

    @Test(arguments: formats.filter { $0.numeric == .unorm }, ResamplingFilter.allCases)
    func `one color stays exactly the same`(format: PixelFormat, filter: ResamplingFilter) throws {
        for level in [0, 1, 2, 77, 128, 200, 254, 255] {
            var pixel = Array(repeating: Double(level) / 255, count: format.channels.count)
            if format.channels.hasAlpha { pixel[pixel.count - 1] = 1 }
            var flat = Samples(PixelSize(41, 37), channels: pixel.count)
            for at in flat.values.indices { flat.values[at] = pixel[at % pixel.count] }
            let source = try flat.buffer(format)
            let bytes = Array(source.packed.prefix(format.bytesPerPixel))

            for size in [PixelSize(13, 11), PixelSize(50, 60), PixelSize(1, 2), PixelSize(40, 36)] {
                let result = try Resampler.resample(BufferRows(source), to: size, Resampling(filter: filter))
                #expect(result.packed == (try PixelBuffer.of(size, format, bytes)).packed)
            }
        }
    }

    @Test(arguments: formats.filter { $0.alpha == .straight })
    func `the color of transparent pixels does not bleed`(format: PixelFormat) throws {
        // Left half: full red (or the first channel); right half: transparent, with all other channels full.
        var source = Samples(PixelSize(40, 20), channels: format.channels.count)
        let last = source.channels - 1
        let shown = format.channels == .bgra ? 2 : 0
        for y in 0..<20 {
            for x in 0..<40 {
                for c in 0..<last { source[x, y, c] = (x < 20) == (c == shown) ? 1 : 0 }
                source[x, y, last] = x < 20 ? 1 : 0
            }
        }
        for filter in ResamplingFilter.allCases {
            let result = Samples(
                try Resampler.resample(
                    BufferRows(try source.buffer(format)), to: PixelSize(13, 7), Resampling(filter: filter)))
            for y in 0..<7 {
                for x in 0..<13 {
                    let isSeen = result[x, y, last] > 0
                    for c in 0..<last {
                        let wanted = isSeen && c == shown ? 1.0 : 0
                        #expect(abs(result[x, y, c] - wanted) < 1e-3, "\(filter) \(x) \(y)")
                    }
                }
            }
            #expect((0..<7).allSatisfy { abs(result[0, $0, last] - 1) < 1e-6 && result[12, $0, last] == 0 })
        }
    }

    @Test(arguments: formats) func `the same size is a copy`(format: PixelFormat) throws {
        let source = try Self.noise(PixelSize(17, 9), format)

        #expect(try Resampler.resample(BufferRows(source), to: source.size).packed == source.packed)
        let part = try Resampler.resample(
            BufferRows(source), crop: PixelRect(x: 3, y: 2, width: 11, height: 5), to: PixelSize(11, 5))
        let bytes = format.bytesPerPixel
        let packed = source.packed
        var wanted: [UInt8] = []
        for y in 2..<7 { wanted += packed[(y * 17 + 3) * bytes..<(y * 17 + 14) * bytes] }
        #expect(part.packed == wanted)
    }

    @Test(arguments: someFormats) func `reads and writes rows with padding`(format: PixelFormat) throws {
        let source = try Self.noise(PixelSize(21, 12), format)
        let wanted = try Resampler.resample(BufferRows(source), to: PixelSize(8, 5))
        let target = PixelBuffer.padded(try PixelBuffer(size: PixelSize(8, 5), format: format), by: 5)

        try Resampler.resample(BufferRows(PixelBuffer.padded(source, by: 3)), into: target)

        #expect(target.packed == wanted.packed)
    }

    // MARK: Sources

    /// Records the requested rows, and may throw once before one of them.
    private final class Witness: RowSource {
        let buffer: PixelBuffer
        var asked: [Int] = []
        var fails: (row: Int, error: CoderError)?
        var size: PixelSize { buffer.size }
        var format: PixelFormat { buffer.format }

        init(_ buffer: PixelBuffer) { self.buffer = buffer }

        func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
            if let fails, fails.row == y {
                self.fails = nil
                throw fails.error
            }
            asked.append(y)
            return try buffer.withRow(y, body)
        }
    }

    @Test(arguments: shapes.indices, ResamplingFilter.allCases)
    func `requests every row once, from the top`(shape: Int, filter: ResamplingFilter) throws {
        let (from, to) = Self.shapes[shape]
        for format in [PixelFormat.rgb8, .rgba16] {
            let witness = Witness(try Self.noise(from, format))

            _ = try Resampler.resample(witness, to: to, Resampling(filter: filter))

            #expect(zip(witness.asked, witness.asked.dropFirst()).allSatisfy { $0 < $1 })
            #expect(witness.asked.count <= from.height)
        }
    }

    @Test func `requests no row outside of the part`() throws {
        let witness = Witness(try Self.noise(PixelSize(30, 60), .rgb8))

        _ = try Resampler.resample(
            witness, crop: PixelRect(x: 2, y: 20, width: 20, height: 25), to: PixelSize(6, 5))

        #expect(witness.asked == Array(20..<45))
    }

    @Test(arguments: [PixelFormat.rgba8, .rgb16], [0, 13, 39])
    func `throws the source's error, and continues when the source can`(format: PixelFormat, row: Int) throws {
        let source = try Self.noise(PixelSize(30, 40), format)
        let wanted = try Resampler.resample(BufferRows(source), to: PixelSize(11, 17))
        let witness = Witness(source)
        witness.fails = (row, .truncated("the file ends here"))

        let error = #expect(throws: CoderError.self) {
            try Resampler.resample(witness, to: PixelSize(11, 17))
        }
        #expect(error == .truncated("the file ends here"))

        witness.fails = (row, .needsInput)
        let rows = try ResampledRows(witness, to: PixelSize(11, 17))
        var bytes: [UInt8] = []
        var waits = 0
        var y = 0
        while y < 17 {
            do {
                bytes += try rows.withRow(y) { row in copyBytes(row) }
                y += 1
            } catch {
                #expect(error.code == .needsInput)
                waits += 1
            }
        }
        #expect(waits == 1)
        #expect(bytes == wanted.packed)
    }

    @Test(arguments: [
        SourceWindow(x: -1, y: 0, width: 5, height: 5), SourceWindow(x: 0, y: 0, width: 0, height: 5),
        SourceWindow(x: 6, y: 0, width: 5, height: 5), SourceWindow(x: 0, y: .nan, width: 5, height: 5),
        SourceWindow(x: 0, y: 0, width: .infinity, height: 5), SourceWindow(x: 1e300, y: 0, width: 1, height: 1),
    ]) func `refuses a part outside of the source`(window: SourceWindow) throws {
        let rows = BufferRows(try Self.noise(PixelSize(10, 10), .rgb8))

        let error = #expect(throws: CoderError.self) {
            try Resampler.resample(rows, window: window, to: PixelSize(3, 3), pool: .shared)
        }

        #expect(error?.code == .invalidArgument)
    }

    @Test(arguments: [PixelSize(0, 3), PixelSize(3, -1), PixelSize(.max, 1), PixelSize(1, 1 << 40)])
    func `refuses an invalid size`(size: PixelSize) throws {
        let rows = BufferRows(try Self.noise(PixelSize(10, 10), .rgb8))

        let error = #expect(throws: CoderError.self) { try Resampler.resample(rows, to: size) }

        #expect(error?.code == .invalidArgument)
    }

    @Test func `refuses a buffer of another format, and rows out of order`() throws {
        let source = BufferRows(try Self.noise(PixelSize(10, 10), .rgb8))
        let target = try PixelBuffer(size: PixelSize(3, 3), format: .rgba8)
        #expect(throws: CoderError.self) { try Resampler.resample(source, into: target) }

        let rows = try ResampledRows(source, to: PixelSize(3, 3))
        try rows.withRow(1) { _ in }
        try rows.withRow(1) { _ in }
        let error = #expect(throws: CoderError.self) { try rows.withRow(0) { _ in } }
        #expect(error?.code == .misuse)
        #expect(throws: CoderError.self) { try rows.withRow(3) { _ in } }
    }
}
