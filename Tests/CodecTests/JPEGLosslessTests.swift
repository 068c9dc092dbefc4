import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

/// Samples without a pattern, of `bits` bits.
private func noise(_ width: Int, _ height: Int, bits: Int, seed: UInt32) -> [[Int]] {
    var state = seed
    return (0..<height).map { _ in
        (0..<width).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return Int(state >> UInt32(32 - bits))
        }
    }
}

/// The bytes of samples that are scaled to 8 or 16 bits, rounded to the nearest.
private func scaled(_ samples: [Int], bits: Int) -> [UInt8] {
    let (most, full) = (1 << bits - 1, bits > 8 ? 65_535 : 255)
    let values = samples.map { Int((Double($0) * Double(full) / Double(most)).rounded()) }
    if bits <= 8 { return values.map { UInt8($0) } }
    return values.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
}

/// The samples of the pixels, channel by channel.
private func interleaved(_ planes: [[[Int]]]) -> [Int] {
    planes[0].indices.flatMap { y in planes[0][y].indices.flatMap { x in planes.map { $0[y][x] } } }
}

private func makeDecoder(_ bytes: [UInt8]) throws -> JPEGDecoder {
    try JPEGDecoder(DecoderSession(source: ByteSource(bytes)))
}

private func code(_ bytes: [UInt8]) -> CoderError.Code? {
    do throws(CoderError) {
        let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(bytes)))
        let info = try decoder.readHeader()
        _ = try decoder.decode(DecodeRequest(), into: Surface(PixelBuffer(size: info.size, format: info.nativeFormat)))
        return nil
    } catch {
        return error.code
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Lossless JPEG` {
    @Test(arguments: 1...7, [2, 5, 8, 9, 12, 15, 16])
    func `keeps every sample, with each predictor`(predictor: Int, precision: Int) throws {
        for count in [1, 3] {
            let planes = (0..<count).map { noise(23, 17, bits: precision, seed: UInt32($0)) }
            var image = HandmadeLossless(
                width: 23, height: 17, precision: precision, components: planes.map { .init(rows: $0) })
            image.predictor = predictor
            for restartRows in [0, 1, 5] {
                image.restartRows = restartRows
                let decoder = try makeDecoder(image.file)
                let info = try decoder.readHeader()
                #expect(info.bitDepth == precision && !info.isLossy)
                #expect(info.nativeFormat == PixelFormat(count == 1 ? .gray : .rgb, bits: precision > 8 ? 16 : 8))
                #expect(try decoder.image().packed == scaled(interleaved(planes), bits: precision))
            }
        }
    }

    @Test func `shifts samples back by the bits that the file leaves out`() throws {
        let rows = noise(9, 8, bits: 9, seed: 1)
        var image = HandmadeLossless(width: 9, height: 8, precision: 12, components: [.init(rows: rows)])
        image.point = 3
        let expected = rows.flatMap { $0.map { $0 << 3 } }
        #expect(try makeDecoder(image.file).image().packed == scaled(expected, bits: 12))
    }

    @Test(arguments: [true, false])
    func `repeats the samples of smaller components, in one scan or several`(isInterleaved: Bool) throws {
        let size = PixelSize(11, 7)
        let factors = [(2, 2), (1, 2), (1, 1)]
        let parts = factors.enumerated().map { number, factor in
            HandmadeLossless.Component(
                across: factor.0, down: factor.1,
                rows: noise(
                    (size.width * factor.0 + 1) / 2, (size.height * factor.1 + 1) / 2, bits: 10, seed: UInt32(number)))
        }
        var image = HandmadeLossless(width: 11, height: 7, precision: 10, components: parts)
        image.isInterleaved = isInterleaved
        image.predictor = 4
        var expected: [Int] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                for part in parts { expected.append(part.rows[y * part.down / 2][x * part.across / 2]) }
            }
        }
        for restartRows in [0, 2] {
            image.restartRows = restartRows
            let decoder = try makeDecoder(image.file)
            #expect(try decoder.readHeader().regionCost == (isInterleaved ? .above : .whole))
            #expect(try decoder.image().packed == scaled(expected, bits: 10))
            let rect = PixelRect(x: 3, y: 2, width: 5, height: 4)
            #expect(
                try decoder.image(rect).packed
                    == part(rect, of: scaled(expected, bits: 10), size, PixelFormat(.rgb, bits: 16)))
        }
    }

    @Test func `holds inverted ink in four components`() throws {
        let planes = (0..<4).map { noise(6, 5, bits: 16, seed: UInt32($0)) }
        let image = HandmadeLossless(width: 6, height: 5, precision: 16, components: planes.map { .init(rows: $0) })
        let decoder = try makeDecoder(image.file)
        #expect(try decoder.readHeader().nativeFormat == PixelFormat(.cmyk, bits: 16))
        #expect(try decoder.image().packed == scaled(interleaved(planes).map { 65_535 - $0 }, bits: 16))
    }

    /// - Source: JFIF 1.02, in floating point.
    @Test func `converts YCbCr that a marker declares`() throws {
        let planes = (0..<3).map { noise(16, 16, bits: 12, seed: UInt32($0 + 7)) }
        var image = HandmadeLossless(width: 16, height: 16, precision: 12, components: planes.map { .init(rows: $0) })
        image.head = JPEGSegments.jfif()
        let found = try makeDecoder(image.file).image().packed
        for y in 0..<16 {
            for x in 0..<16 {
                let (luma, cb, cr) = (Double(planes[0][y][x]), Double(planes[1][y][x]), Double(planes[2][y][x]))
                let (blueness, redness) = (cb - 2048, cr - 2048)
                let colors = [
                    luma + 1.402 * redness, luma - 0.34414 * blueness - 0.71414 * redness, luma + 1.772 * blueness,
                ]
                for (channel, color) in colors.enumerated() {
                    let at = 2 * (3 * (16 * y + x) + channel)
                    let value = Double(Int(found[at]) | Int(found[at + 1]) << 8)
                    #expect(abs(value - min(max(color, 0), 4095) * 65_535 / 4095) <= 17)
                }
            }
        }
    }

    @Test func `refuses invalid parameters, missing markers and missing data`() throws {
        var image = HandmadeLossless(
            width: 9, height: 8, precision: 12, components: [.init(rows: noise(9, 8, bits: 12, seed: 1))])
        image.restartRows = 2
        let file = image.file
        func place(_ marker: UInt8) throws -> Int {
            try #require(file.indices.dropLast().first { file[$0] == 0xFF && file[$0 + 1] == marker })
        }
        func changed(_ at: Int, _ value: UInt8) -> [UInt8] {
            var copy = file
            copy[at] = value
            return copy
        }
        let (frame, scan, marker) = (try place(0xC3), try place(0xDA), try place(0xD1))
        #expect(code(file) == nil)
        #expect(code(changed(scan + 7, 0)) == .corrupt)  // predictor
        #expect(code(changed(scan + 7, 8)) == .corrupt)
        #expect(code(changed(scan + 9, 12)) == .corrupt)  // bits left out
        #expect(code(changed(scan + 6, 0x10)) == .corrupt)  // an undefined table
        #expect(code(changed(marker + 1, 0xD2)) == .corrupt)
        #expect(code(changed(try place(0xDD) + 5, 10)) == .corrupt)  // markers inside of rows
        #expect(code(changed(frame + 4, 17)) == .unsupportedFeature)
        #expect(code(changed(frame + 9, 2)) == .unsupportedFeature)
        #expect(code(Array(file[..<(scan + 20)])) == .truncated)
        #expect(code(Array(file[..<(scan + 20)]) + [0xFF, 0xD9]) == .corrupt)
    }
}
