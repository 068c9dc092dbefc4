import CoderPluginKit
import ImageModel
import PNGCodec
import TestSupport
import Testing

private let optimizing = RewriteRequest(optimizes: true)

/// Optimizes a file; libpng must decode the same pixels.
private func optimized(_ bytes: [UInt8], _ request: RewriteRequest = optimizing) throws -> [UInt8] {
    let result = try rewritePNG(bytes, request)
    #expect(try pngPixels(result) == pngPixels(bytes))
    #expect(result.count <= bytes.count)
    // Every checksum is correct, and there are no bytes between chunks.
    #expect(HandmadePNG.signature + pngChunks(result).flatMap { pngChunk($0.name, $0.data) } == result)
    return result
}

@Suite struct `Optimizing a PNG` {
    @Test(arguments: PNGKind.all, [false, true])
    func `keeps every pixel of every color type and depth`(_ kind: PNGKind, _ isInterlaced: Bool) throws {
        for size in [PixelSize(1, 1), PixelSize(7, 3), PixelSize(37, 29)] {
            let bytes = kind.file(size.width, size.height, interlaced: isInterlaced).bytes
            let result = try optimized(bytes)
            #expect(try decodePNG(result).info.size == size)
            #expect(try rewritePNG(bytes, optimizing) == result, "the same input gives the same output")
        }
    }

    /// An image, and the smallest equivalent depth and color type.
    struct Reduction: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var type: UInt8
        var depth: UInt8 = 8
        var before: [[UInt8]] = []
        var form: [UInt8]
        var pixel: @Sendable (Int, Int) -> [UInt8]
    }

    static let reductions = [
        Reduction(testDescription: "RGB that is gray", type: 2, form: [8, 0]) { x, y in
            [UInt8](repeating: UInt8(x * 10 + y), count: 3)
        },
        Reduction(testDescription: "gray of 16 bits that are 8", type: 0, depth: 16, form: [8, 0]) { x, y in
            [UInt8](repeating: UInt8(truncatingIfNeeded: x * y * 7 + x), count: 2)
        },
        Reduction(testDescription: "black and white", type: 0, form: [1, 0]) { x, y in [(x * y) % 3 == 0 ? 255 : 0] },
        Reduction(testDescription: "RGBA without transparency, of many colors", type: 6, form: [8, 2]) { x, y in
            [UInt8(x * 10), UInt8(y * 13), UInt8(truncatingIfNeeded: x * y * 5), 255]
        },
        Reduction(testDescription: "RGB of three colors", type: 2, form: [2, 3]) { x, y in
            [[1, 2, 3], [200, 100, 0], [9, 9, 90]][(x / 3 + y / 5 * x) % 3]
        },
        Reduction(testDescription: "RGBA of which one color is transparent", type: 6, form: [8, 2]) { x, y in
            (x * x * 3 + y * y * 5 + x * y) % 7 == 0
                ? [7, 7, 9, 0]
                : [UInt8(x * 10), UInt8(y * 13), UInt8(truncatingIfNeeded: x * y * 5), 255]
        },
        Reduction(testDescription: "gray with alpha of one transparent gray", type: 4, form: [8, 0]) { x, y in
            (x + y) % 5 == 0 ? [3, 0] : [UInt8(truncatingIfNeeded: 4 + (x * 11 + y * 7) % 251), 255]
        },
        Reduction(
            testDescription: "indices of grays", type: 3,
            before: [pngChunk("PLTE", (0...255).flatMap { [$0, $0, $0] })],
            form: [8, 0]
        ) { x, y in [UInt8(truncatingIfNeeded: x * 17 + y * y * 3)] },
    ]

    @Test(arguments: reductions)
    func `stores samples in the smallest equivalent form`(_ image: Reduction) throws {
        let file = pngImage(type: image.type, depth: image.depth, before: image.before, image.pixel)
        #expect(pngForm(try optimized(file.bytes)) == image.form)
    }

    @Test func `also removes the requested metadata`() throws {
        let file = pngImage(type: 2, before: [pngChunk("tEXt", Array("A".utf8) + [0]), pngChunk("prVt", [1])]) {
            [UInt8($0 * 9), UInt8($1 * 9), 0]
        }
        let request = RewriteRequest(
            removed: [.text, .raw], replaced: [MetadataBlob(.xmp, Array("<x/>".utf8))], optimizes: true)
        let result = try optimized(file.bytes, request)
        #expect(pngNames(result) == ["IHDR", "iTXt", "IDAT", "IEND"])
    }

    @Test(arguments: [
        [pngChunk("PLTE", [1, 2, 3]), pngChunk("hIST", [0, 1])], [pngChunk("sPLT", Array("p".utf8) + [0, 8])],
        [pngChunk("prVT", [1, 2])], [pngChunk("PLTE", [5, 5, 5, 6, 6, 6])],
    ])
    func `keeps the form of the samples if chunks depend on it`(_ before: [[UInt8]]) throws {
        let file = pngImage(type: 2, before: before) { x, _ in [UInt8](repeating: UInt8(x), count: 3) }
        let result = try optimized(file.bytes)
        #expect(pngForm(result) == [8, 2])
        #expect(pngNames(result) == pngNames(file.bytes))
        #expect(result.count < file.bytes.count)
    }

    @Test func `keeps the order of a palette with a histogram`() throws {
        let palette: [UInt8] = [255, 255, 255, 0, 0, 0, 9, 9, 9, 1, 1, 1]
        let before = [pngChunk("PLTE", palette), pngChunk("hIST", [0, 1, 0, 2, 0, 3, 0, 4])]
        let result = try optimized(pngImage(type: 3, before: before) { x, y in [UInt8((x + y) % 4)] }.bytes)
        #expect(pngData(result, "PLTE") == palette)
        #expect(pngForm(result) == [8, 3])
    }

    @Test func `drops the position of the second half for Apple's decoder`() throws {
        let file = pngImage(type: 2, before: [pngChunk("iDOT", [UInt8](repeating: 0, count: 28))]) { x, y in
            [UInt8(x), UInt8(y), 0]
        }
        #expect(try !pngNames(optimized(file.bytes)).contains("iDOT"))
        #expect(try pngNames(rewritePNG(file.bytes)).contains("iDOT"))
    }

    @Test func `keeps colors if the profile is for colors`() throws {
        let profile = pngChunk("iCCP", Array("p".utf8) + [0, 0] + storedZlib(iccProfile()))
        let file = pngImage(type: 2, before: [profile]) { x, y in [UInt8](repeating: UInt8(x * 3 + y * 8), count: 3) }
        let form = pngForm(try optimized(file.bytes))
        #expect(form[1] & 2 == 2)
        let without = try optimized(file.bytes, RewriteRequest(removed: [.icc], optimizes: true))
        #expect(pngForm(without) == [8, 0])
        let added = RewriteRequest(replaced: [MetadataBlob(.icc, iccProfile())], optimizes: true)
        var plain = file
        plain.before = []
        let result = try rewritePNG(plain.bytes, added)
        #expect(pngForm(result)[1] & 2 == 2)
        #expect(try decodePNG(result).blob(.icc) == iccProfile())
    }

    @Test func `is smaller than the encoder's highest effort`() throws {
        let image = try pngPattern(PixelSize(64, 64), .rgb8)
        let encoded = try encodePNG(image, [OptionKey.effort: .integer(9)])
        #expect(try optimized(encoded).count <= encoded.count)
    }

    @Test func `compresses several segments`() throws {
        // Above 2 MiB of rows; noise, then rows that repeat.
        var noise = PNGNoise(state: 5)
        let size = PixelSize(1024, 900)
        let buffer = try PixelBuffer(size: size, format: .rgb8)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for offset in row.byteOffsets {
                    let value = y < 300 ? noise.next() : UInt8(truncatingIfNeeded: offset / 3 * 5 + y / 7)
                    row.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
                }
            }
        }
        let bytes = try encodePNG(buffer, [OptionKey.effort: .integer(1)])
        #expect(try optimized(bytes).count < bytes.count)
    }
}

@Suite struct `Sample-dependent chunks of an optimized PNG` {
    @Test func `include a background in the new form`() throws {
        // All 256 grays: a palette has no room for another color.
        let size = PixelSize(16, 16)
        func pixel(_ x: Int, _ y: Int) -> [UInt8] { [UInt8](repeating: UInt8(x * 16 + y), count: 3) }
        let gray = pngImage(type: 2, size: size, before: [pngChunk("bKGD", [0, 9, 0, 9, 0, 9])], pixel).bytes
        #expect(pngData(try optimized(gray), "bKGD") == [0, 9])
        let colored = pngImage(type: 2, size: size, before: [pngChunk("bKGD", [0, 9, 0, 8, 0, 9])], pixel).bytes
        #expect(pngData(try optimized(colored), "bKGD") == [0, 9, 0, 8, 0, 9])
    }

    @Test func `include a background with its own index`() throws {
        let colors: [[UInt8]] = [[1, 2, 3], [200, 100, 0], [9, 9, 90]]
        let file = pngImage(type: 2, before: [pngChunk("bKGD", [0, 70, 0, 80, 0, 90])]) { x, y in
            colors[(x / 3 + y / 5 * x) % 3]
        }
        let result = try optimized(file.bytes)
        let index = Int(try #require(pngData(result, "bKGD"))[0])
        #expect(try #require(pngData(result, "PLTE"))[3 * index..<3 * index + 3] == [70, 80, 90])
        #expect(pngForm(result) == [2, 3])
    }

    @Test(
        arguments: [
            // sBIT of the source, and its value after RGBA was reduced to gray without alpha.
            ([5, 5, 5, 8], [5]), ([8, 8, 8, 1], [8]),
        ] as [([UInt8], [UInt8])])
    func `include the significant bits of the remaining channels`(_ bits: [UInt8], _ expected: [UInt8]) throws {
        let file = pngImage(type: 6, before: [pngChunk("sBIT", bits)]) { x, y in
            [UInt8](repeating: UInt8(x * 7 + y * 5), count: 3) + [255]
        }
        let result = try optimized(file.bytes)
        #expect(pngData(result, "sBIT") == expected)
        #expect(pngForm(result) == [8, 0])
    }

    @Test func `keep colors whose significant bits differ`() throws {
        let file = pngImage(type: 2, before: [pngChunk("sBIT", [5, 6, 5])]) { x, y in
            [UInt8](repeating: UInt8(x * 7 + y * 5), count: 3)
        }
        let result = try optimized(file.bytes)
        #expect(pngData(result, "sBIT") == [5, 6, 5])
        #expect(pngForm(result)[1] & 2 == 2)
    }

    @Test func `include a short tRNS of a palette`() throws {
        let colors: [[UInt8]] = [[1, 2, 3, 255], [200, 100, 0, 255], [9, 9, 90, 128], [0, 0, 0, 0]]
        let file = pngImage(type: 6) { x, y in colors[(x / 3 + y / 5 * x) % 4] }
        let result = try optimized(file.bytes)
        #expect(pngForm(result) == [2, 3])
        #expect(pngData(result, "tRNS")?.count == 2)
    }
}

@Suite struct `Optimizing within limits` {
    private static let bytes = PNGKind(type: 6, depth: 8).file(120, 100, interlaced: false).bytes

    @Test func `ends if the image has too many pixels`() {
        var limits = DecodeLimits.default
        limits.maxPixels = 120 * 100 - 1
        #expect(pngRewriteFailure(Self.bytes, optimizing, limits: limits) == .limitExceeded)
        #expect(pngRewriteFailure(Self.bytes, limits: limits) == nil)
    }

    @Test func `ends if there is too little memory, and frees its memory`() throws {
        let all = RecordingHost()
        _ = try rewritePNG(Self.bytes, optimizing, host: all.services())
        #expect(all.mostReserved > 120 * 100 * 4 && all.reserved == 0)
        for part in 0..<8 {
            let host = RecordingHost(allowedMemory: all.mostReserved * part / 8)
            #expect(try pngRewriteFailure(Self.bytes, optimizing, host: host.services()) == .limitExceeded)
            #expect(host.reserved == 0)
        }
    }

    @Test func `reserves no memory if it only copies`() throws {
        let host = RecordingHost()
        _ = try rewritePNG(Self.bytes, RewriteRequest(removed: [.text]), host: host.services())
        #expect(host.mostReserved == 0)
    }

    @Test func `ends at damaged pixels`() {
        var bytes = Self.bytes
        let data = bytes.count - 40
        bytes[data] ^= 0xFF
        let count = bytes.count - 12
        let first = 8 + 25
        let sum = be32(pngChecksum(Array(bytes[first + 4..<count - 4])))
        bytes.replaceSubrange(count - 4..<count, with: sum)
        // The checksum of the chunk is correct, that of the zlib stream is not.
        #expect(pngRewriteFailure(bytes, optimizing) == .corrupt)
        #expect(pngRewriteFailure(bytes) == nil)
    }
}
