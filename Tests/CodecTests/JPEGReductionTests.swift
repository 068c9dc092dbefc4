import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("jpeg/\(name)"))) }

/// The samples of a PNM file with the header of libjpeg-turbo's programs: three lines.
private func samples(_ name: String) throws -> [UInt8] {
    let bytes = try file(name)
    return Array(bytes.split(separator: 0x0A, maxSplits: 3, omittingEmptySubsequences: false)[3])
}

private func pixels(_ buffer: PixelBuffer) -> [UInt8] {
    (0..<buffer.size.height).flatMap { y in
        buffer.withRow(y) { row in row.byteOffsets.map { unsafe row.unsafeLoad(fromByteOffset: $0, as: UInt8.self) } }
    }
}

private let opaque = PixelFormat(.rgba, alpha: .opaque)
private let everyKind = [
    "baseline-420", "baseline-444-restart", "progressive-422", "progressive-420-restart", "arithmetic-420",
    "sequential-3-scans", "cmyk", "cmyk-progressive", "gray",
]

private func reduced(_ size: PixelSize, _ eighths: Int) -> PixelSize {
    PixelSize((size.width * eighths + 7) / 8, (size.height * eighths + 7) / 8)
}

private func decode(
    _ decoder: JPEGDecoder, _ format: PixelFormat = .rgb8, eighths: Int = 8, into given: PixelBuffer? = nil
) throws(CoderError) -> [UInt8] {
    let size = reduced(try decoder.readHeader().size, eighths)
    let buffer: PixelBuffer
    if let given { buffer = given } else { buffer = try PixelBuffer(size: size, format: format) }
    let surface = Surface(buffer)
    let outcome = try decoder.decode(DecodeRequest(scaledSize: eighths == 8 ? nil : size), into: surface)
    return outcome == .complete ? pixels(buffer) : []
}

private func makeDecoder(_ bytes: [UInt8], limits: DecodeLimits = .default) throws(CoderError) -> JPEGDecoder {
    try JPEGDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
}

/// The same pixels through a growing source, for which every scan is read.
private func decodeArriving(_ bytes: [UInt8], _ format: PixelFormat = .rgb8, eighths: Int) throws -> [UInt8] {
    let source = ByteSource(bytes, arrived: bytes.count - 1)
    let decoder = try JPEGDecoder(DecoderSession(source: source))
    let buffer = try PixelBuffer(size: reduced(decoder.readHeader().size, eighths), format: format)
    var code: CoderError.Code?
    do throws(CoderError) { _ = try decode(decoder, eighths: eighths, into: buffer) } catch { code = error.code }
    #expect(code == .needsInput)
    source.arrive()
    return try decode(decoder, eighths: eighths, into: buffer)
}

/// A soft image with grain, of several scans.
private func progressive(_ size: PixelSize, _ subsampling: String, _ format: PixelFormat = .rgb8) throws -> [UInt8] {
    let buffer = try PixelBuffer(size: size, format: format)
    var random = SeededRandom(UInt64(size.width))
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for offset in row.byteOffsets {
                let soft = (offset + y * (offset % 3)) % 200
                row.storeBytes(
                    of: UInt8(soft + Int.random(in: 0..<50, using: &random)), toByteOffset: offset, as: UInt8.self)
            }
        }
    }
    let encoder = try JPEGEncoder(
        EncoderSession(options: ["jpeg.progressive": .bool(true), "jpeg.subsampling": .string(subsampling)]))
    let sink = ByteSink()
    try encoder.begin(ImageInfo(size: size, nativeFormat: format), to: sink)
    let surface = Surface(buffer)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: surface)
    try encoder.finish()
    return sink.written
}

/// Each scan: its header's band and components, and the range of its data.
private func scans(_ bytes: [UInt8]) -> [(first: UInt8, components: Int, data: Range<Int>)] {
    var found: [(first: UInt8, components: Int, data: Range<Int>)] = []
    var at = 2
    while at + 4 <= bytes.count, bytes[at + 1] != 0xD9 {
        let isScan = bytes[at + 1] == 0xDA
        let components = Int(bytes[at + 4])
        let first = isScan ? bytes[at + 5 + 2 * components] : 0
        at += 2 + Int(bytes[at + 2]) << 8 + Int(bytes[at + 3])
        guard isScan else { continue }
        let start = at
        while bytes[at] != 0xFF || bytes[at + 1] == 0 || (0xD0...0xD7).contains(bytes[at + 1]) { at += 1 }
        found.append((first, components, start..<at))
    }
    return found
}

@Suite struct `JPEG reduced while decoding` {
    @Test func `equals the samples of another program`() throws {
        #expect(try decode(makeDecoder(file("progressive-422.jpg")), eighths: 1) == samples("progressive-422-1of8.ppm"))
        #expect(try decode(makeDecoder(file("progressive-422.jpg")), eighths: 3) == samples("progressive-422-3of8.ppm"))
        #expect(
            try decode(makeDecoder(file("progressive-420-restart.jpg")), eighths: 2)
                == samples("progressive-420-restart-2of8.ppm"))
    }

    @Test(arguments: ["444", "422", "420"], [PixelSize(131, 77), PixelSize(1, 90), PixelSize(8, 8)])
    func `equals the result of all scans`(subsampling: String, size: PixelSize) throws {
        let bytes = try progressive(size, subsampling)
        for eighths in 1...8 {
            #expect(
                try decode(makeDecoder(bytes), eighths: eighths) == decodeArriving(bytes, eighths: eighths),
                "\(eighths)/8")
        }
    }

    @Test(arguments: everyKind) func `is the same for complete and growing sources`(name: String) throws {
        let bytes = try file("\(name).jpg")
        for eighths in [1, 2, 4] {
            #expect(
                try decode(makeDecoder(bytes), opaque, eighths: eighths)
                    == decodeArriving(bytes, opaque, eighths: eighths), "\(eighths)/8")
        }
    }

    @Test func `does not read scans that an eighth does not need`() throws {
        let bytes = try progressive(PixelSize(160, 96), "444")
        var damaged = bytes
        let found = scans(bytes)
        #expect(found.count == 10)
        for scan in found where scan.first > 0 {
            for place in scan.data { damaged[place] = 0x11 }
        }

        // At an eighth a sample is the mean of a block, which comes from the scans from coefficient 0 on.
        #expect(try decode(makeDecoder(damaged), eighths: 1) == decode(makeDecoder(bytes), eighths: 1))
        #expect(try decode(makeDecoder(damaged), eighths: 2) != decode(makeDecoder(bytes), eighths: 2))
    }

    @Test func `reads the finer scans of color if its samples are fewer`() throws {
        let bytes = try progressive(PixelSize(160, 96), "420")
        let reference = try decode(makeDecoder(bytes), eighths: 1)
        for (index, scan) in scans(bytes).enumerated() where scan.first > 0 {
            var damaged = bytes
            for place in scan.data { damaged[place] = 0x11 }
            let isLuma = bytes[scan.data.lowerBound - 5] == 1
            #expect((try decode(makeDecoder(damaged), eighths: 1) == reference) == isLuma, "scan \(index)")
        }
    }

    @Test func `reads the whole file again for a larger size`() throws {
        let bytes = try progressive(PixelSize(160, 96), "420")
        let both = try makeDecoder(bytes)
        for eighths in [1, 8, 1, 3] {
            #expect(try decode(both, eighths: eighths) == decode(makeDecoder(bytes), eighths: eighths))
        }
    }

    @Test func `counts the skipped scans`() throws {
        var limits = DecodeLimits.default
        limits.maxScans = 9
        let bytes = try progressive(PixelSize(64, 64), "444")
        var code: CoderError.Code?
        do throws(CoderError) { _ = try decode(makeDecoder(bytes, limits: limits), eighths: 1) } catch {
            code = error.code
        }
        #expect(code == .limitExceeded)
    }

    @Test func `ends like a full read for any cut or damage`() throws {
        let bytes = try progressive(PixelSize(64, 40), "420")
        func outcome(_ bytes: [UInt8]) throws -> (CoderError.Code?, [UInt8]) {
            let size = PixelSize(8, 5)
            let buffer = try PixelBuffer(size: size, format: .rgb8)
            do throws(CoderError) {
                let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(bytes)))
                let surface = Surface(buffer)
                _ = try decoder.decode(DecodeRequest(scaledSize: size), into: surface)
                return (nil, pixels(buffer))
            } catch { return (error.code, pixels(buffer)) }
        }
        for end in stride(from: 2, to: bytes.count, by: 37) { #expect(try outcome(Array(bytes[..<end])).0 != nil) }
        var random = SeededRandom(5)
        for _ in 0..<300 {
            var hurt = bytes
            for _ in 0..<3 {
                hurt[Int.random(in: 150..<hurt.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = try outcome(hurt)
        }
    }
}

@Suite struct `JPEG in bands of rows` {
    /// Decodes band after band, `heights` in turn.
    private func bands(
        _ decoder: JPEGDecoder, _ format: PixelFormat, eighths: Int, heights: [Int]
    ) throws -> [UInt8] {
        let size = reduced(try decoder.readHeader().size, eighths)
        var all: [UInt8] = []
        var y = 0
        var index = 0
        while y < size.height {
            let height = min(heights[index % heights.count], size.height - y)
            index += 1
            let buffer = try PixelBuffer(size: PixelSize(size.width, height), format: format)
            let surface = Surface(buffer)
            let request = DecodeRequest(
                region: PixelRect(x: 0, y: y, width: size.width, height: height),
                scaledSize: eighths == 8 ? nil : size)
            #expect(try decoder.decode(request, into: surface) == .complete)
            all += pixels(buffer)
            y += height
        }
        return all
    }

    private func code(_ body: () throws(CoderError) -> Void) -> CoderError.Code? {
        do throws(CoderError) { try body() } catch { return error.code }
        return nil
    }

    @Test(arguments: everyKind) func `form the whole image`(name: String) throws {
        let bytes = try file("\(name).jpg")
        for eighths in [8, 5, 2, 1] {
            for heights in [[1], [7, 2, 100], [8], [24]] {
                let decoder = try makeDecoder(bytes)
                #expect(try decoder.readHeader().decodesRows)
                let whole = try decode(makeDecoder(bytes), opaque, eighths: eighths)
                #expect(try bands(decoder, opaque, eighths: eighths, heights: heights) == whole)
                // Once more from the top, then as a whole.
                #expect(try bands(decoder, opaque, eighths: eighths, heights: [3]) == whole)
                #expect(try decode(decoder, opaque, eighths: eighths) == whole)
            }
        }
    }

    @Test(arguments: ["baseline-420", "progressive-422"]) func `must follow each other`(name: String) throws {
        let bytes = try file("\(name).jpg")
        func ask(_ decoder: JPEGDecoder, _ y: Int, _ height: Int, x: Int = 0, width: Int = 40) -> CoderError.Code? {
            code { () throws(CoderError) in
                let surface = Surface(try PixelBuffer(size: PixelSize(width, height), format: .rgb8))
                let region = PixelRect(x: x, y: y, width: width, height: height)
                _ = try decoder.decode(DecodeRequest(region: region), into: surface)
            }
        }
        for next in [(4, 4), (9, 2), (20, 4)] {
            let begun = try makeDecoder(bytes)
            #expect(ask(begun, 0, 8) == nil)
            // A band from row 0 restarts, and rows at another position are a region.
            #expect(ask(begun, 0, 8) == nil)
            #expect(ask(begun, next.0, next.1) == nil)
        }
        #expect(try ask(makeDecoder(bytes), 20, 8) == .invalidArgument)
    }

    @Test(arguments: ["baseline-420", "progressive-422", "cmyk-progressive"])
    func `may be abandoned for the whole image`(name: String) throws {
        let bytes = try file("\(name).jpg")
        let decoder = try makeDecoder(bytes)
        let width = try decoder.readHeader().size.width
        let surface = Surface(try PixelBuffer(size: PixelSize(width, 5), format: .rgb8))
        _ = try decoder.decode(DecodeRequest(region: PixelRect(x: 0, y: 0, width: width, height: 5)), into: surface)

        #expect(try decode(decoder) == decode(makeDecoder(bytes)))
        #expect(try decode(decoder, eighths: 2) == decode(makeDecoder(bytes), eighths: 2))
    }

    @Test(arguments: ["baseline-420", "progressive-422"]) func `wait for a growing source`(name: String) throws {
        let bytes = try file("\(name).jpg")
        let whole = try decode(makeDecoder(bytes))
        let source = ByteSource(bytes, arrived: 0)
        let decoder = try JPEGDecoder(DecoderSession(source: source))
        var all: [UInt8] = []
        var waits = 0
        for y in stride(from: 0, to: 24, by: 6) {
            let buffer = try PixelBuffer(size: PixelSize(40, 6), format: .rgb8)
            let surface = Surface(buffer)
            let request = DecodeRequest(region: PixelRect(x: 0, y: y, width: 40, height: 6))
            while code({ () throws(CoderError) in _ = try decoder.decode(request, into: surface) }) == .needsInput {
                waits += 1
                if source.available + 100 < bytes.count { source.arrive(100) } else { source.arrive() }
            }
            all += pixels(buffer)
        }
        #expect(waits > 5)
        #expect(all == whole)
    }

    @Test(arguments: ["baseline-420", "progressive-422"]) func `report where a file is cut`(name: String) throws {
        let bytes = try file("\(name).jpg")
        let decoder = try makeDecoder(Array(bytes.dropLast(60)))
        var codes: [CoderError.Code?] = []
        for y in stride(from: 0, to: 24, by: 8) {
            let surface = Surface(try PixelBuffer(size: PixelSize(40, 8), format: .rgb8))
            let request = DecodeRequest(region: PixelRect(x: 0, y: y, width: 40, height: 8))
            codes.append(code { () throws(CoderError) in _ = try decoder.decode(request, into: surface) })
            if codes.last != .some(nil) { break }
        }
        #expect(codes.first == .some(nil))
        #expect(codes.last == .some(.truncated))
    }
}
