import APNGCodec
import AVIFCodec
import AWebPCodec
import CoderPluginKit
import GIFCodec
import ImageModel
import Testing

/// The plugins that write animations.
private enum Writer: CaseIterable {
    case gif, apng, webp, avif

    func encoder(_ session: EncoderSession) throws -> any ImageEncoder {
        switch self {
        case .gif: try GIFEncoder(session)
        case .apng: try APNGEncoder(session)
        case .webp: try AWebPEncoder(session)
        case .avif: try AVIFEncoder(session)
        }
    }

    func decoder(_ session: DecoderSession) throws -> any AnimationDecoder {
        switch self {
        case .gif: try GIFDecoder(session)
        case .apng: try APNGDecoder(session)
        case .webp: try AWebPDecoder(session)
        case .avif: try AVIFDecoder(session)
        }
    }

    /// The maximum duration of one given frame in seconds: 16 delays of 65535 hundredths; 16 bits; 24 bits of
    /// milliseconds; 32 bits of units, at most 2²⁴ units per second.
    var longest: Double {
        switch self {
        case .gif: 16 * 655.35
        case .apng: 65535
        case .webp: 16777.215
        case .avif: 255.99
        }
    }
}

/// Writes frames with these durations, of two alternating images; returns the stored durations.
private func written(
    _ durations: [FrameDuration], by writer: Writer, host: RecordingHost = RecordingHost(), announced: Int? = nil
) throws -> [FrameDuration] {
    let size = PixelSize(16, 16)
    let session = EncoderSession(options: ["effort": .integer(3)], host: try host.services())
    let encoder = try writer.encoder(session)
    let sink = ByteSink()
    let info = ImageInfo(
        size: size, nativeFormat: .rgba8, frameCount: announced, loopCount: .infinite, isAnimated: announced != 1)
    #expect(try encoder.acceptedFormats(for: info).contains(.rgba8))
    try encoder.begin(info, to: sink)
    let images = try [UInt8(40), 200].map { shade in try canvas(size, .rgba8) { _, _ in [shade, 9, 99, 255] } }
    for (index, duration) in durations.enumerated() {
        try encoder.add(
            FrameInfo(index: index, rect: PixelRect(size), duration: duration), pixels: Surface(images[index % 2]))
    }
    try encoder.finish()
    // A still stores no duration.
    if durations.count == 1 { return [] }
    let decoder = try writer.decoder(DecoderSession(source: ByteSource(sink.written)))
    _ = try decoder.readHeader()
    var all: [FrameDuration] = []
    while let frame = try decoder.nextFrame() { all.append(frame.duration) }
    return all
}

private func seconds(_ durations: [FrameDuration]) -> Double {
    durations.reduce(0) { $0 + ($1.denominator == 0 ? 0 : Double($1.numerator) / Double($1.denominator)) }
}

/// The longest unit that a writer uses.
private func unit(_ durations: [FrameDuration]) -> Double {
    durations.reduce(0) { max($0, $1.denominator == 0 ? 0 : 1 / Double($1.denominator)) }
}

private struct Fractions {
    var state: UInt64

    private mutating func next() -> UInt32 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt32(truncatingIfNeeded: state >> 32)
    }

    /// At least two, because a still stores no duration.
    mutating func count() -> Int { 2 + Int(next() % 49) }

    /// One of two random 32-bit numbers, sometimes with fewer bits or close to the maximum.
    mutating func next(below longest: Double) -> FrameDuration {
        while true {
            let kind = next() % 4
            let (top, bottom) = (next(), next())
            let duration =
                switch kind {
                case 0: FrameDuration(top >> (next() % 32), over: bottom >> (next() % 32))
                case 1: FrameDuration(.max - top % 16, over: .max - bottom % 64)
                default: FrameDuration(top, over: bottom)
                }
            if duration.denominator > 0, seconds([duration]) < longest { return duration }
        }
    }
}

/// Primes just below 2³², 2³⁰ and 2³¹: no two have a small common denominator.
private let primes: [UInt32] = [4_294_967_291, 4_294_967_279, 4_294_967_231, 1_073_741_789, 2_147_483_647, 65_521]

@Suite struct `Encoded durations` {
    @Test(arguments: Writer.allCases, 0..<12)
    fileprivate func `add up to the given sum for any fractions`(writer: Writer, seed: Int) throws {
        var fractions = Fractions(state: UInt64(seed) &* 0x9E37_79B9_7F4A_7C15)
        for _ in 0..<(writer == .avif ? 1 : 8) {
            let given = (0..<fractions.count()).map { _ in fractions.next(below: writer.longest) }
            let got = try written(given, by: writer)
            let (sum, exact) = (seconds(got), seconds(given))
            // No frame of AVIF is shorter than a unit.
            let short = writer == .avif ? given.count { seconds([$0]) < 1 / 90_000 } : 0
            #expect(abs(sum - exact) <= unit(got) * (1.001 + Double(short)) + exact * 1e-12, "\(given)")
        }
    }

    @Test(arguments: Writer.allCases)
    fileprivate func `add up with denominators that are 32-bit primes`(writer: Writer) throws {
        for shift in primes.indices {
            let order = primes[shift...] + primes[..<shift]
            for eighths in 1...7 as ClosedRange<UInt32> {
                let given = order.map { FrameDuration($0 / 8 * eighths + 1, over: $0) }
                let got = try written(given, by: writer)
                #expect(abs(seconds(got) - seconds(given)) <= unit(got) * 1.001, "\(given)")
            }
        }
    }

    @Test(
        arguments: Writer.allCases,
        [
            [FrameDuration(.max, over: 1)], [FrameDuration(1, over: .max)], [FrameDuration(.max, over: .max)],
            [FrameDuration(0, over: .max)], [FrameDuration(.max, over: 0)], [.unknown],
            [FrameDuration(.max, over: 1), FrameDuration(1, over: .max)],
            [FrameDuration(1, over: .max), FrameDuration(.max, over: 1)],
            [FrameDuration(.max, over: 2), FrameDuration(.max - 1, over: .max), FrameDuration(1, over: 1 << 31)],
            primes.map { FrameDuration(1, over: $0) }, primes.map { FrameDuration(.max, over: $0 / 65_000) },
        ])
    fileprivate func `may be as short and as long as 32 bits allow`(writer: Writer, cycle: [FrameDuration]) throws {
        let count = writer == .avif ? 12 : 50
        let given = (0..<count).map { cycle[$0 % cycle.count] }
        let got = try written(given, by: writer)
        #expect((count...count * 16).contains(got.count))
        // In PNG a denominator of 0 means 100.
        let most = given.map { $0.denominator == 0 ? FrameDuration($0.numerator, over: 100) : $0 }
        #expect(seconds(got) <= seconds(most) + Double(count) / 100)
    }

    @Test(arguments: Writer.allCases, [2, 5])
    fileprivate func `are cut if too long, with one warning`(writer: Writer, count: Int) throws {
        let host = RecordingHost()
        let long = FrameDuration(.max, over: 1)
        let got = try written([FrameDuration](repeating: long, count: count), by: writer, host: host)
        #expect(host.warnings.count == 1 && host.warnings[0].contains("was cut"), "\(host.warnings)")
        #expect(host.warnings.allSatisfy { !$0.contains("kept") })
        // AVIF's units are those of whole seconds here.
        let longest = writer == .avif ? Double(UInt32.max) / 90_000 : writer.longest
        #expect(abs(seconds(got) - longest * Double(count)) < 0.001)
        #expect(got.count == (writer == .gif ? 16 : 1) * count)
    }

    @Test(arguments: Writer.allCases)
    fileprivate func `that are cut do not affect the others`(writer: Writer) throws {
        let host = RecordingHost()
        let given = [FrameDuration(1, over: 10), FrameDuration(.max, over: 1), FrameDuration(3, over: 10)]
        let got = try written(given, by: writer, host: host)
        #expect(host.warnings.count == 1, "\(host.warnings)")
        #expect(try abs(seconds([#require(got.first)]) - 0.1) < 1e-9)
        #expect(try abs(seconds([#require(got.last)]) - 0.3) < 1e-9)
    }

    @Test(arguments: Writer.allCases)
    fileprivate func `cause one warning if rounded`(writer: Writer) throws {
        let host = RecordingHost()
        _ = try written(primes.map { FrameDuration($0 / 3, over: $0) }, by: writer, host: host)
        #expect(host.warnings.count == 1 && host.warnings[0].contains("rounded"), "\(host.warnings)")
        let exact = RecordingHost()
        _ = try written([FrameDuration(1, over: 10), FrameDuration(3, over: 25)], by: writer, host: exact)
        #expect(exact.warnings.isEmpty)
    }

    @Test(arguments: [FrameDuration(0, over: 1), .unknown])
    func `of 0 become one unit in AVIF, with a warning`(none: FrameDuration) throws {
        let host = RecordingHost()
        let tenth = FrameDuration(1, over: 10)
        let got = try written([tenth, none, none, tenth], by: .avif, host: host)
        #expect(got == [9000, 1, 1, 9000].map { FrameDuration($0, over: 90_000) })
        #expect(host.warnings.count == 1 && host.warnings[0].contains("1/90000"), "\(host.warnings)")
    }

    @Test(arguments: Writer.allCases)
    fileprivate func `are dropped in a still, with a warning`(writer: Writer) throws {
        for duration in [.unknown, FrameDuration(0, over: 1), FrameDuration(.max, over: 1), FrameDuration(1, over: 7)] {
            for announced in [1, nil] where writer != .gif {
                let host = RecordingHost()
                _ = try written([duration], by: writer, host: host, announced: announced)
                #expect(host.warnings.allSatisfy { $0.contains("written as a still") }, "\(duration), \(host.warnings)")
                #expect(host.warnings.count <= 1)
            }
        }
    }

    @Test func `are cancelled between the frames that GIF adds`() throws {
        func polls(_ seconds: UInt32) throws -> Int {
            let host = RecordingHost()
            _ = try written([FrameDuration(seconds, over: 1), FrameDuration(1, over: 1)], by: .gif, host: host)
            return host.polls
        }
        #expect(try polls(10_000) - polls(1) >= 15)
    }
}
