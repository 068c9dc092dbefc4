import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

/// An image whose samples follow from a rule for each position.
private func image(
    _ size: PixelSize, _ format: PixelFormat, _ rule: (_ x: Int, _ y: Int, _ channel: Int) -> Int
) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: format)
    let channels = format.channels.count
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for x in 0..<size.width {
                for channel in 0..<channels {
                    let offset = (x * channels + channel) * format.bytesPerSample
                    let value = rule(x, y, channel)
                    if format.bits == 8 {
                        row.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: offset, as: UInt8.self)
                    } else {
                        row.storeBytes(of: UInt16(truncatingIfNeeded: value), toByteOffset: offset, as: UInt16.self)
                    }
                }
            }
        }
    }
    return buffer
}

/// Noise on a slope, so that every filter is used.
private func slope(_ size: PixelSize, _ format: PixelFormat) throws -> PixelBuffer {
    var noise = PNGNoise(state: 11)
    return try image(size, format) { x, y, channel in
        let coarse = x * 3 + y * (y % 7) + channel * 40 + Int(noise.next() & 7)
        return format.bits == 8 ? coarse : coarse * 257 + Int(noise.next())
    }
}

/// Color type and depth of a file.
private func samples(_ bytes: [UInt8]) -> [UInt8] { [pngChunks(bytes)[0].data[9], pngChunks(bytes)[0].data[8]] }

@Suite struct `PNG compression` {
    private static let formats: [PixelFormat] = [
        .gray8, .grayAlpha8, .rgb8, .rgba8, .gray16, .grayAlpha16, .rgb16, .rgba16,
    ]

    @Test(arguments: formats, [false, true])
    func `writes the same samples, read by libpng, at every effort`(
        _ format: PixelFormat, _ isInterlaced: Bool
    ) throws {
        for effort in 0...9 {
            for size in [PixelSize(37, 11), PixelSize(130, 3), PixelSize(1, 70), PixelSize(70, 1)] {
                let source = try slope(size, format)
                let bytes = try encodePNG(
                    source, ["effort": .integer(Int64(effort)), "png.interlaced": .bool(isInterlaced)])
                let read = try #require(try pngReference(bytes, size: size, format: format))
                #expect(pngBytes(read) == pngBytes(source), "effort \(effort), \(size)")
                #expect(try decodePNG(bytes, as: format).samples == decodePNG(bytes).samples)
            }
        }
    }

    /// Passes without pixels, rows of less than a vector.
    @Test(arguments: 1...9, 1...9)
    func `writes images of any small size`(_ width: Int, _ height: Int) throws {
        for format in [PixelFormat.gray8, .rgb8, .rgba16] {
            let source = try slope(PixelSize(width, height), format)
            for isInterlaced in [false, true] {
                let bytes = try encodePNG(source, ["png.interlaced": .bool(isInterlaced)])
                let read = try #require(try pngReference(bytes, size: source.size, format: format))
                #expect(pngBytes(read) == pngBytes(source))
            }
        }
    }

    @Test(arguments: ["none", "sub", "up", "avg", "paeth"], formats)
    func `uses each filter correctly`(_ filter: String, _ format: PixelFormat) throws {
        for width in [1, 5, 11, 32, 67] {
            let source = try slope(PixelSize(width, 9), format)
            let bytes = try encodePNG(source, ["png.filter": .string(filter), "effort": .integer(1)])
            let read = try #require(try pngReference(bytes, size: source.size, format: format))
            #expect(pngBytes(read) == pngBytes(source), "\(width) wide")
        }
    }

    @Test func `chooses filters that are smaller than any single filter`() throws {
        // Halves that need different filters: sawteeth from left to right, then from top to bottom.
        let source = try image(PixelSize(300, 300), .rgb8) { x, y, channel in
            y < 150 ? x * x + channel : y * y + (x * 7919 >> 3) * 13 + channel
        }
        let adaptive = try encodePNG(source, ["effort": .integer(6)]).count
        for filter in ["none", "paeth"] {
            let one = try encodePNG(source, ["effort": .integer(6), "png.filter": .string(filter)]).count
            #expect(adaptive < one, "\(filter)")
        }
    }

    @Test func `removes redundant samples at the highest effort`() throws {
        let size = PixelSize(40, 40)
        func kinds(_ buffer: PixelBuffer, _ blobs: [MetadataBlob] = []) throws -> [[UInt8]] {
            try [6, 7, 9].map { effort in
                let bytes = try encodePNG(buffer, ["effort": .integer(Int64(effort))], blobs: blobs)
                let image = try decodePNG(bytes, as: .rgba8)
                let plain = try decodePNG(encodePNG(buffer, ["effort": .integer(1)]), as: .rgba8)
                #expect(image.samples == plain.samples)
                return samples(bytes)
            }
        }
        var noise = PNGNoise(state: 3)
        func random() -> Int { Int(noise.next()) }
        var grays = (0..<1600).map { _ in random() }
        let gray = try image(size, .rgb8) { x, y, _ in grays[y * 40 + x] }
        #expect(try kinds(gray) == [[2, 8], [0, 8], [0, 8]])
        #expect(try kinds(gray, [MetadataBlob(.icc, iccProfile())]).allSatisfy { $0[0] != 0 })
        let opaque = try image(size, .rgba8) { _, _, channel in channel == 3 ? 255 : random() }
        #expect(try kinds(opaque) == [[6, 8], [2, 8], [2, 8]])
        let doubled = try image(size, .rgb16) { _, _, _ in random() * 257 }
        #expect(try kinds(doubled) == [[2, 16], [2, 8], [2, 8]])
        let all = try image(size, .rgba16) { x, y, channel in channel == 3 ? 65535 : grays[y * 40 + x] * 257 }
        #expect(try kinds(all) == [[6, 16], [0, 8], [0, 8]])
        grays = grays.map { $0 & 3 }
        let few = try image(size, .rgba8) { x, y, channel in grays[y * 40 + x] * 20 + channel * 9 }
        #expect(try kinds(few) == [[6, 8], [3, 2], [3, 2]])
        let grayAlpha = try image(size, .grayAlpha16) { _, _, channel in channel == 1 ? random() * 257 : random() }
        #expect(try kinds(grayAlpha) == [[4, 16], [4, 16], [4, 16]])
    }
}
