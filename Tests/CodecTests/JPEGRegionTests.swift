import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@testable import JPEGCodec

private let opaque = PixelFormat(.rgba, alpha: .opaque)
private let samplings = Sampling.all.filter { !["thirds", "two components"].contains($0.name) }
private let oneScan = ["baseline-420", "baseline-444-restart", "gray", "cmyk", "ycck", "arithmetic-420"]
private let manyScans = ["progressive-422", "progressive-420-restart", "sequential-3-scans", "cmyk-progressive"]

private func makeDecoder(_ bytes: [UInt8], host: HostServices = HostServices()) throws(CoderError) -> JPEGDecoder {
    try JPEGDecoder(DecoderSession(source: ByteSource(bytes), host: host))
}

private func reduced(_ size: PixelSize, _ eighths: Int) -> PixelSize {
    PixelSize((size.width * eighths + 7) / 8, (size.height * eighths + 7) / 8)
}

/// Compares parts with those of the whole image, at some sizes: with one decoder for all, and with a new one for each.
private func examine(_ bytes: [UInt8], seed: UInt64, eighths: [Int] = [8, 1, 3, 4], count: Int = 8) throws {
    var random = SeededRandom(seed)
    let lasting = try makeDecoder(bytes)
    let info = try lasting.readHeader()
    for (index, scale) in eighths.enumerated() {
        let size = reduced(info.size, scale)
        let format = index % 2 == 0 ? info.nativeFormat : opaque
        let whole = try makeDecoder(bytes).outcome(of: nil, format, scaledTo: size)
        try #require(whole.code == nil)
        for rect in regions(in: size, &random, count: count) {
            let expected = RegionOutcome(pixels: part(rect, of: whole.pixels, size, format), rows: rect.height)
            #expect(try makeDecoder(bytes).outcome(of: rect, format, scaledTo: size) == expected, "\(rect), \(scale)/8")
            #expect(lasting.outcome(of: rect, format, scaledTo: size) == expected, "\(rect), \(scale)/8, again")
        }
    }
}

@Suite struct `A region of a JPEG` {
    @Test(arguments: samplings, [PixelSize(131, 77), PixelSize(33, 90), PixelSize(7, 5)])
    func `equals the same part of the whole for every subsampling`(sampling: Sampling, size: PixelSize) throws {
        var image = sampling.image(size.width, size.height)
        try examine(image.file, seed: 1)
        image.restartInterval = 3
        try examine(image.file, seed: 2, eighths: [8, 2], count: 3)
    }

    @Test(arguments: oneScan + manyScans) func `equals the same part of the whole for every coding`(name: String) throws
    {
        try examine(try jpegFixture("jpeg/\(name).jpg"), seed: 3, eighths: Array(1...8))
    }

    @Test(arguments: ["444", "422", "420"], [false, true])
    func `equals the same part of a photograph`(subsampling: String, isProgressive: Bool) throws {
        let bytes = try photograph(
            203, 151, options: ["jpeg.subsampling": .string(subsampling), "jpeg.progressive": .bool(isProgressive)])
        try examine(bytes, seed: 4, eighths: [8, 7, 2], count: 16)
    }

    @Test(arguments: ["images/f.jpg", "images/f-progressive.jpg"])
    func `costs the rows above it, or the whole image with several scans`(name: String) throws {
        let info = try makeDecoder(jpegFixture(name)).readHeader()
        #expect(info.regionCost == (name.contains("progressive") ? .whole : .above))
    }

    @Test func `does not read the rows below`() throws {
        let bytes = try photograph(300, 1200)
        var read = 0
        let source = ByteSource(count: bytes.count) { range throws(CoderError) in
            read = max(read, range.upperBound)
            return Array(bytes[range])
        }
        let decoder = JPEGDecoder(DecoderSession(source: source), window: 512)
        let rect = PixelRect(x: 100, y: 280, width: 20, height: 20)
        let whole = try makeDecoder(bytes).outcome(of: nil, .rgb8)

        #expect(decoder.outcome(of: rect, .rgb8).pixels == part(rect, of: whole.pixels, PixelSize(300, 1200), .rgb8))
        #expect(read < bytes.count / 3)
        #expect(!source.isContiguous)
    }

    @Test(arguments: ["jpeg/baseline-420.jpg", "jpeg/progressive-422.jpg"])
    func `may be decoded between bands of rows and before the whole`(name: String) throws {
        let bytes = try jpegFixture(name)
        let size = PixelSize(40, 24)
        let whole = try makeDecoder(bytes).outcome(of: nil, .rgb8).pixels
        let decoder = try makeDecoder(bytes)
        let rects = [
            PixelRect(x: 0, y: 0, width: 40, height: 8), PixelRect(x: 0, y: 8, width: 40, height: 3),
            PixelRect(x: 3, y: 5, width: 9, height: 9), PixelRect(x: 0, y: 11, width: 40, height: 2),
            PixelRect(x: 0, y: 0, width: 40, height: 4), PixelRect(x: 0, y: 20, width: 40, height: 4),
            PixelRect(x: 0, y: 4, width: 40, height: 4), PixelRect(size),
        ]
        for rect in rects + rects.reversed() {
            #expect(decoder.outcome(of: rect, .rgb8).pixels == part(rect, of: whole, size, .rgb8), "\(rect)")
        }
        #expect(decoder.outcome(of: nil, .rgb8).pixels == whole)
    }

    @Test func `outside of the image is refused before memory is allocated`() throws {
        let host = RecordingHost()
        let decoder = try makeDecoder(jpegFixture("jpeg/progressive-422.jpg"), host: host.services())
        for (x, y, width, height) in [
            (40, 0, 1, 1), (0, 24, 1, 1), (-1, 0, 2, 2), (0, -1, 2, 2), (39, 23, 2, 1), (39, 23, 1, 2), (1, 0, 40, 24),
            (1, 1, 0, 1), (Int(Int32.max), Int(Int32.max), 1, Int(UInt32.max)),
        ] {
            let surface = Surface(try PixelBuffer(size: PixelSize(40, 24), format: .rgb8))
            let request = DecodeRequest(region: PixelRect(x: x, y: y, width: width, height: height))
            var code: CoderError.Code?
            do throws(CoderError) { _ = try decoder.decode(request, into: surface) } catch { code = error.code }
            #expect(code == .invalidArgument)
        }
        #expect(host.mostReserved == 0)
    }

    @Test(arguments: oneScan + manyScans) func `of a cut file equals that of the cut image`(name: String) throws {
        let bytes = try jpegFixture("jpeg/\(name).jpg")
        var random = SeededRandom(9)
        var codes: Set<CoderError.Code?> = []
        for count in stride(from: bytes.count / 3, to: bytes.count, by: 23) {
            let cut = Array(bytes[..<count])
            guard let info = try? makeDecoder(cut).readHeader() else { continue }
            let format = info.nativeFormat
            let whole = try makeDecoder(cut).outcome(of: nil, format, partial: true)
            for rect in regions(in: info.size, &random, count: 2) {
                let outcome = try makeDecoder(cut).outcome(of: rect, format)
                codes.insert(outcome.code)
                #expect(
                    [nil, .truncated].contains(outcome.code), "\(count), \(rect): \(String(describing: outcome.code))")
                let partial = try makeDecoder(cut).outcome(of: rect, format, partial: true)
                // Rows present in both: their pixels are equal.
                let rows = min(partial.rows, max(0, whole.rows - rect.y))
                let kept = PixelRect(x: rect.x, y: rect.y, width: rect.width, height: rows)
                let line = rect.width * format.bytesPerPixel
                #expect(
                    Array(partial.pixels.prefix(rows * line)) == part(kept, of: whole.pixels, info.size, format),
                    "\(count), \(rect)")
                if whole.code == nil, rect.y + rect.height <= whole.rows - 16 { #expect(partial.rows == rect.height) }
            }
        }
        #expect(codes.contains(.truncated))
    }

    @Test(arguments: oneScan + manyScans) func `of a damaged file ends with a typed error or with pixels`(name: String)
        throws
    {
        let bytes = try jpegFixture("jpeg/\(name).jpg")
        var random = SeededRandom(10)
        let legal: Set<CoderError.Code?> = [
            nil, .corrupt, .truncated, .unsupportedFeature, .notMine, .limitExceeded, .invalidArgument,
        ]
        var codes: Set<CoderError.Code?> = []
        for _ in 0..<150 {
            var bad = bytes
            for _ in 0..<3 {
                bad[Int.random(in: 2..<bad.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let info = try? makeDecoder(bad).readHeader(), info.size.area ?? .max < 1 << 22 else { continue }
            let rect = regions(in: info.size, &random, count: 1).last ?? PixelRect(info.size)
            let code = try makeDecoder(bad).outcome(of: rect, info.nativeFormat).code
            #expect(legal.contains(code), "\(String(describing: code))")
            codes.insert(code)
        }
        #expect(codes.contains(nil), "no damaged file has pixels")
    }

    @Test(arguments: ["jpeg/baseline-420.jpg", "jpeg/progressive-422.jpg"])
    func `waits until the source is complete`(name: String) throws {
        let bytes = try jpegFixture(name)
        let source = ByteSource(bytes, arrived: bytes.count - 1)
        let decoder = try JPEGDecoder(DecoderSession(source: source))
        let rect = PixelRect(x: 3, y: 2, width: 4, height: 5)

        #expect(decoder.outcome(of: rect, .rgb8).code == .needsInput)
        source.arrive()
        #expect(decoder.outcome(of: rect, .rgb8) == (try makeDecoder(bytes)).outcome(of: rect, .rgb8))
    }

    @Test(arguments: [false, true]) func `can be cancelled`(isProgressive: Bool) throws {
        let bytes = try photograph(200, 600, options: ["jpeg.progressive": .bool(isProgressive)])
        let rect = PixelRect(x: 10, y: 300, width: 100, height: 200)
        let host = RecordingHost()
        #expect(try makeDecoder(bytes, host: host.services()).outcome(of: rect, .rgb8).code == nil)
        #expect(host.polls > 3 && host.reserved == (isProgressive ? 200 * 600 * 3 * 2 : 0))
        for allowed in 0..<host.polls {
            let stopping = RecordingHost(allowedPolls: allowed)
            #expect(try makeDecoder(bytes, host: stopping.services()).outcome(of: rect, .rgb8).code == .cancelled)
        }
    }
}
