import CoderHost
import Foundation
import ImageModel
import TestSupport
import Testing

@Suite struct `Animation size search` {
    /// The size of a file by its quality: exponential, with steps, and all but constant below 60.
    private static let curves: [(name: String, size: @Sendable (Double) -> Int)] = [
        ("exponential", { Int(1000 * exp($0 / 25)) }), ("in steps", { 2000 + 900 * Int($0 / 20) + Int($0) }),
        ("late", { $0 < 60 ? 3000 + Int($0) : 3000 + Int(pow($0 - 59, 3)) }),
    ]

    private func search(_ limit: Int, _ options: CoderOptions = [:], _ format: ImageFormat = "webp") throws
        -> AnimationSizeSearch
    {
        let coder = try #require(Bench.manager.animationEncoders(for: format).first).descriptor
        return AnimationSizeSearch(limit: limit, coder, options, .default)
    }

    /// Writes a file in 100 parts, as an encoder does.
    private func write(_ size: Int, to sink: TrialSink) throws(CoderError) -> EncodeReport {
        for part in 0..<100 {
            sink.share = Double(part) / 100
            let bytes = [UInt8](repeating: 1, count: size * (part + 1) / 100 - size * part / 100)
            try bytes.withSpan { span throws(CoderError) in try sink.write(span) }
        }
        return EncodeReport(coder: "test", warnings: [])
    }

    @Test(arguments: curves.map { $0.name }, [3100, 4000, 5500, 9000, 20_000, 54_000])
    func `finds a result close to the limit in few encodes`(name: String, limit: Int) throws {
        let size = try #require(Self.curves.first { $0.name == name }).size
        var tried: [Int] = []

        let found = try search(limit).run { options, sink throws(CoderError) in
            let quality = options.real(OptionKey.quality) ?? 100
            tried.append(Int(quality))
            return try write(size(quality), to: sink)
        }

        let best = try #require((0...100).last { size(Double($0)) <= limit })
        #expect(found.bytes.count <= limit)
        #expect(found.bytes.count == size(Double(best)) || Double(found.bytes.count) >= 0.97 * Double(limit))
        #expect(tried.count <= 11 && Set(tried).count == tried.count, "\(tried)")
    }

    @Test func `never exceeds the requested quality`() throws {
        var tried: [Double] = []
        let found = try search(1 << 20, [OptionKey.quality: .real(63)]).run { options, sink throws(CoderError) in
            tried.append(options.real(OptionKey.quality) ?? 100)
            return try write(5000, to: sink)
        }
        #expect(found.bytes.count == 5000 && tried == [63])
    }

    @Test func `ends an attempt above the limit early`() throws {
        var written: [Int] = []
        _ = try search(5000).run { options, sink throws(CoderError) in
            defer { written.append(sink.written) }
            return try write(Int(100 * exp((options.real(OptionKey.quality) ?? 100) / 10)), to: sink)
        }
        // The whole file has 2.2 MB.
        #expect(written[0] < 50_000)
    }

    @Test(arguments: ["webp", "apng"] as [ImageFormat])
    func `states the smallest size if the limit cannot be met`(format: ImageFormat) throws {
        let error = #expect(throws: CoderError.self) {
            try search(100, [:], format).run { _, sink throws(CoderError) in try write(777, to: sink) }
        }
        #expect(error?.code == .limitExceeded)
        #expect(error?.limit?.requested == 777 && error?.limit?.allowed == 100)
    }

    @Test func `passes on other errors`() throws {
        let error = #expect(throws: CoderError.self) {
            try search(100).run { _, _ throws(CoderError) in throw CoderError(.corrupt, "damaged") }
        }
        #expect(error?.code == .corrupt)
    }

    @Test(arguments: ["gif", "webp"] as [ImageFormat]) func `applies to animations`(format: ImageFormat) throws {
        let animation = try AnimatedImage(
            Bench.source(Fixture.named("images/three-frames.gif")), manager: Bench.manager)
        var options = EncodeOptions()
        let full = MemorySink()
        options.quality = 100
        try Bench.manager.encode(animation, to: format, options, into: full)
        options.maxFileSize = full.bytes.count * 9 / 10
        let small = MemorySink()

        try Bench.manager.encode(animation, to: format, options, into: small)

        #expect(try small.bytes.count <= #require(options.maxFileSize))
        #expect(try AnimatedImage(ImageSource(small.bytes), manager: Bench.manager).frameCount == 3)
    }
}
