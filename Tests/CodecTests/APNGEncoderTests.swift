import APNGCodec
import CoderPluginKit
import ImageModel
import Testing

@Suite struct `APNG encoder` {
    private static let formats: [PixelFormat] = [
        .gray8, .grayAlpha8, .rgb8, .rgba8, .gray16, .grayAlpha16, .rgb16, .rgba16,
    ]

    // MARK: Pixels

    @Test(arguments: formats, 0...9) func `keeps every sample`(_ format: PixelFormat, _ effort: Int) throws {
        let size = PixelSize(39, 71)
        let canvases = try (0..<4).map { frame in
            try canvas(size, format) { x, y in
                let isSprite = (8..<19).contains(x - 4 * frame) && (10..<20).contains(y - 9 * frame)
                return (0..<format.bytesPerPixel).map { place in
                    isSprite ? 255 : UInt8(truncatingIfNeeded: x * x + y * (place + 3) + (y == 5 ? frame * x : 0))
                }
            }
        }
        let played = try PlayedAPNG(
            encodeAPNG(canvases, ["effort": .integer(Int64(effort))]), as: PixelFormat(.rgba, bits: format.bits))
        #expect(played.control == [4, 0])
        #expect(Int(played.header[8]) == format.bits)
        for (frame, source) in zip(played.frames, canvases) { #expect(frame.samples == expanded(source)) }
    }

    @Test(arguments: 0...9, ["auto", "never"])
    func `draws sprites that move over a transparent background`(_ effort: Int, _ palette: String) throws {
        let size = PixelSize(50, 40)
        let canvases = try (0..<9).map { frame in
            try canvas(size, .rgba8) { x, y in
                let (a, b) = ((x - 4 * frame, y - 2 * frame), (x - 30 + 2 * frame, y - 20))
                if (0..<9).contains(a.0), (0..<8).contains(a.1) { return [200, UInt8(frame), 9, 255] }
                if (0..<7).contains(b.0), (0..<7).contains(b.1) { return [1, 200, UInt8(b.0), 128] }
                return [0, 0, 0, 0]
            }
        }
        let played = try PlayedAPNG(
            encodeAPNG(canvases, ["effort": .integer(Int64(effort)), "apng.palette": .string(palette)]))
        #expect(played.header[9] == (palette == "auto" ? 3 : 6))
        #expect(played.frames.count == 9)
        for (frame, source) in zip(played.frames, canvases) { #expect(frame.samples == expanded(source)) }
        // Pillow does not restore correctly after a frame that is blended over.
        #expect(!played.frames.contains { $0.disposal == 2 && $0.blend == 1 })
    }

    @Test func `writes only the changed rectangle`() throws {
        let size = PixelSize(60, 50)
        let first = try noise(size)
        let second = try canvas(size, .rgb8) { x, y in
            (20..<25).contains(x) && (30..<33).contains(y) ? [1, 2, 3] : noiseColor(x, y)
        }
        let third = try canvas(size, .rgb8) { x, y in
            (20..<25).contains(x) && (30..<33).contains(y) ? [UInt8(x), 2, UInt8(y)] : noiseColor(x, y)
        }
        let played = try PlayedAPNG(encodeAPNG([first, second, third]))
        #expect(
            played.frames.map(\.rect) == [
                PixelRect(size), PixelRect(x: 20, y: 30, width: 5, height: 3),
                PixelRect(x: 20, y: 30, width: 5, height: 3),
            ])
    }

    @Test func `restores the pixels that a frame covered`() throws {
        let size = PixelSize(60, 50)
        let ground = try noise(size)
        let covered = try canvas(size, .rgb8) { x, y in
            (20..<45).contains(x) && (10..<33).contains(y) ? [1, 2, 3] : noiseColor(x, y)
        }
        let canvases = [ground, covered, ground]
        let bytes = try encodeAPNG(canvases)
        let played = try PlayedAPNG(bytes)
        #expect(played.frames[1].disposal == 2 && played.frames[2].rect.size == PixelSize(1, 1))
        for (frame, source) in zip(played.frames, canvases) { #expect(frame.samples == expanded(source)) }
    }

    @Test func `leaves unchanged pixels between distant changes transparent`() throws {
        let size = PixelSize(64, 64)
        let canvases = try [nil, 0, 1].map { (frame: Int?) in
            try canvas(size, .rgb8) { x, y in
                x == y && (x == 0 || x == 63) && frame != nil ? [UInt8(frame!), 77, 0] : noiseColor(x, y)
            }
        }
        let bytes = try encodeAPNG(canvases)
        let played = try PlayedAPNG(bytes)
        #expect(played.frames[1].rect == PixelRect(size) && played.frames[1].blend == 1)
        #expect(played.header[9] == 6)
        for (frame, source) in zip(played.frames, canvases) { #expect(frame.samples == expanded(source)) }
        let later = pngChunks(bytes).filter { $0.name == "fdAT" }.reduce(0) { $0 + $1.data.count }
        #expect(later < 500)
    }

    // MARK: Palettes

    @Test(arguments: [2, 16, 17, 250, 255, 256], ["auto", "always"])
    func `writes a palette if all frames fit one`(_ colors: Int, _ mode: String) throws {
        // Each frame brings new colors; only the last one completes them.
        let canvases = try (0..<4).map { frame in
            try canvas(PixelSize(32, 8), .rgb8) { x, y in
                let number = min(colors - 1, (y * 32 + x + frame) % (colors * (frame + 1) / 4 + 1))
                return [UInt8(number), UInt8(255 - number), 40]
            }
        }
        let bytes = try encodeAPNG(canvases, ["apng.palette": .string(mode)])
        let played = try PlayedAPNG(bytes)
        #expect(played.header[9] == 3)
        for (frame, source) in zip(played.frames, canvases) { #expect(frame.samples == expanded(source)) }
        // One more for holes, if there is room.
        let entries = (pngChunks(bytes).first { $0.name == "PLTE" }?.data.count ?? 0) / 3
        #expect(entries == min(256, colors + 1))
    }

    @Test(arguments: [PixelFormat.rgb8, .rgba8], [0, 3, 6, 9])
    func `changes to true color when a frame adds the 257th color`(_ format: PixelFormat, _ effort: Int) throws {
        let canvases = try (0..<6).map { frame in
            try canvas(PixelSize(40, 30), format) { x, y in
                let isNew = y == frame * 3
                let pixel = isNew ? [UInt8(x), UInt8(frame + 1), 9, 255] : [7, 7, 0, 255]
                return Array(pixel.prefix(format.channels.count))
            }
        }
        let played = try PlayedAPNG(encodeAPNG(canvases, ["effort": .integer(Int64(effort))]))
        // Six frames of 40 colors are 240, with the ground 241: one more row makes the difference.
        #expect(played.header[9] == 3)
        let more =
            try canvases + [
                canvas(PixelSize(40, 30), format) { x, y in
                    Array(
                        [UInt8(x), UInt8(y == 20 ? 99 : 1), UInt8(y == 20 ? 9 : 8), 255].prefix(format.channels.count))
                }
            ]
        let trueColor = try PlayedAPNG(encodeAPNG(more, ["effort": .integer(Int64(effort))]))
        #expect(trueColor.header[9] & 3 == 2)
        #expect(trueColor.frames.count == 7)
        for (frame, source) in zip(trueColor.frames, more) { #expect(frame.samples == expanded(source)) }
        #expect { try encodeAPNG(more, ["apng.palette": .string("always")]) } throws: {
            ($0 as? CoderError)?.code == .unsupportedFeature
        }
    }

    @Test func `writes no palette if disabled`() throws {
        let canvases = try (0..<2).map { frame in try canvas(PixelSize(9, 9), .rgb8) { _, _ in [UInt8(frame), 2, 3] } }
        #expect(try PlayedAPNG(encodeAPNG(canvases, ["apng.palette": .string("never")])).header[9] == 2)
        #expect(throws: CoderError.self) { try encodeAPNG(canvases, ["apng.palette": .string("maybe")]) }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 16, 17]) func `writes small indices in a still`(_ colors: Int) throws {
        let image = try canvas(PixelSize(19, 3), .rgb8) { x, y in [UInt8((x + y * 19) % colors), 0, 50] }
        for count in [nil, 1] {
            let bytes = try encodeAPNG([image]) { $0.frameCount = count }
            // A still of unknown length keeps an entry for holes.
            let entries = count == nil ? colors + 1 : colors
            #expect(Int(pngChunks(bytes)[0].data[8]) == (entries <= 2 ? 1 : entries <= 4 ? 2 : entries <= 16 ? 4 : 8))
            #expect(try PlayedAPNG(bytes).frames[0].samples == expanded(image))
        }
    }

    // MARK: Time

    @Test func `writes a plain PNG for a single frame`() throws {
        let image = try noise(PixelSize(20, 20))
        for count in [nil, 1] {
            let chunks = pngChunks(try encodeAPNG([image]) { $0.frameCount = count })
            #expect(chunks.map(\.name) == ["IHDR", "IDAT", "IEND"])
        }
        #expect(pngChunks(try encodeAPNG([image, image])).map(\.name) == ["IHDR", "IDAT", "IEND"])
    }

    @Test func `merges equal frames into one longer frame`() throws {
        let (a, b) = (try noise(PixelSize(8, 8)), try canvas(PixelSize(8, 8), .rgb8) { _, _ in [1, 1, 1] })
        let played = try PlayedAPNG(
            encodeAPNG(
                [a, a, a, b, b, a],
                durations: [
                    FrameDuration(1, over: 30), FrameDuration(2, over: 30), FrameDuration(1, over: 40),
                    FrameDuration(0, over: 1000), FrameDuration(7, over: 100), .unknown,
                ]))
        // 1/30 + 2/30 + 1/40 = 15/120 in the terms of the sum; 0 + 7/100 is counted in thousandths.
        #expect(played.frames.map(\.delay) == [[375, 3000].reduced(to: 120), [70, 1000], [0, 100]])
        #expect(played.control == [3, 0])
    }

    @Test func `writes one pixel if equal frames cannot be merged`() throws {
        let a = try noise(PixelSize(8, 8))
        let played = try PlayedAPNG(
            encodeAPNG([a, a, a], durations: [FrameDuration(65535, over: 7), FrameDuration(1, over: 65521)]))
        #expect(
            played.frames.map(\.rect.size) == [PixelSize(8, 8), PixelSize(1, 1)]
                && played.frames.map(\.delay) == [[65535, 7], [2, 65521]])
        #expect(played.frames[1].samples == expanded(a))
    }

    @Test func `keeps durations that fit`() throws {
        let frames = try (0..<5).map { frame in try canvas(PixelSize(2, 1), .gray8) { x, _ in [UInt8(frame + x)] } }
        let played = try PlayedAPNG(
            encodeAPNG(
                frames,
                durations: [
                    FrameDuration(10, over: 100), FrameDuration(1001, over: 30000),
                    FrameDuration(200_000, over: 500_000),
                    FrameDuration(65535, over: 65535), .unknown,
                ]))
        #expect(played.frames.map(\.delay) == [[10, 100], [1001, 30000], [2, 5], [65535, 65535], [0, 100]])
    }

    @Test func `rounds durations without drift`() throws {
        // 1000001/3000017 of a second has no smaller terms.
        let exact = FrameDuration(1_000_001, over: 3_000_017)
        let frames = try (0..<300).map { frame in
            try canvas(PixelSize(2, 1), .gray8) { x, _ in [UInt8(truncatingIfNeeded: frame + x)] }
        }
        let played = try PlayedAPNG(encodeAPNG(frames, durations: [exact]))
        let sum = played.frames.reduce(0.0) { $0 + Double($1.delay[0]) / Double($1.delay[1]) }
        #expect(abs(sum - 300 * 1_000_001 / 3_000_017) < 1.0 / 65535)
        #expect(played.frames.count == 300)
    }

    @Test(arguments: [
        (LoopCount.unknown, 1), (.plays(1), 1), (.plays(7), 7), (.infinite, 0), (.plays(.max), Int(Int32.max)),
    ])
    func `stores the loop count`(_ loops: LoopCount, _ plays: Int) throws {
        let frames = try (0..<2).map { frame in try canvas(PixelSize(1, 1), .gray8) { _, _ in [UInt8(frame)] } }
        #expect(try PlayedAPNG(encodeAPNG(frames) { $0.loopCount = loops }).control == [2, plays])
    }

    // MARK: Metadata and misuse

    @Test func `carries metadata in front of the pixels`() throws {
        let frames = try (0..<2).map { frame in
            try canvas(PixelSize(20, 20), .rgb8) { x, y in [UInt8(x * 12), UInt8(y * 12), UInt8(frame)] }
        }
        let exif = ExifOrientation.blob(.right)
        let bytes = try encodeAPNG(
            frames,
            blobs: [
                MetadataBlob(.exif, exif), MetadataBlob(.icc, iccProfile()), MetadataBlob(.xmp, Array("<x/>".utf8)),
                MetadataBlob(.text, Array("hello".utf8), key: "Comment"),
            ]
        ) { $0.density = .perMeter(x: 2835, y: 2835) }
        let names = pngChunks(bytes).map(\.name)
        let data = names.firstIndex(of: "IDAT")!
        for name in ["iCCP", "eXIf", "iTXt", "tEXt", "pHYs", "acTL", "fcTL"] {
            #expect(names.firstIndex(of: name).map { $0 < data } == true, "\(name)")
        }
        let image = try decodePNG(bytes)
        #expect(image.blob(.exif) == exif && image.blob(.icc) == iccProfile())
        #expect(image.blob(.xmp) == Array("<x/>".utf8) && image.blob(.text, "Comment") == Array("hello".utf8))
        #expect(image.info.density == .perMeter(x: 2835, y: 2835))
    }

    @Test func `refuses contradicting arguments`() throws {
        let encoder = try APNGEncoder(EncoderSession())
        let sink = ByteSink()
        #expect(throws: CoderError.self) { try encoder.begin(ImageInfo(size: .zero, nativeFormat: .rgb8), to: sink) }
        #expect(throws: CoderError.self) {
            try encoder.begin(ImageInfo(size: PixelSize(1 << 31, 1), nativeFormat: .rgb8), to: sink)
        }
        #expect(throws: CoderError.self) {
            try encoder.begin(ImageInfo(size: PixelSize(1, 1), nativeFormat: .bgra8), to: sink)
        }
        try encoder.begin(ImageInfo(size: PixelSize(2, 2), nativeFormat: .rgb8), to: sink)
        let wrong = try PixelBuffer(size: PixelSize(2, 3), format: .rgb8)
        #expect(throws: CoderError.self) {
            try encoder.add(FrameInfo(index: 0, rect: PixelRect(wrong.size)), pixels: Surface(wrong))
        }
        #expect(throws: CoderError.self) { try encoder.finish() }
        #expect(throws: CoderError.self) { try APNGEncoder(EncoderSession(options: ["effort": .integer(10)])) }
    }

    @Test func `refuses a transparent pixel in an opaque image`() throws {
        let image = try canvas(PixelSize(30, 30), .rgba8) { x, y in noiseColor(x, y) + [x == 9 ? 254 : 255] }
        #expect(throws: CoderError.self) {
            try encodeAPNG([image], ["apng.palette": .string("never")]) { $0.hasAlpha = false }
        }
    }

    // MARK: Images

    private func noise(_ size: PixelSize) throws -> PixelBuffer { try canvas(size, .rgb8, noiseColor) }

    private func noiseColor(_ x: Int, _ y: Int) -> [UInt8] {
        let number = UInt32(truncatingIfNeeded: x &* 73 &+ y &* 1031 &+ 17) &* 2_654_435_761
        return [24, 16, 8].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}

extension [Int] {
    /// The same fraction with another denominator.
    fileprivate func reduced(to denominator: Int) -> [Int] { [self[0] * denominator / self[1], denominator] }
}
