import AWebPCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

private func fixture() throws -> [UInt8] {
    try #require(readFile(Repository.fixture("awebp/every-kind-of-frame.webp")))
}

private func decoder(_ bytes: [UInt8], limits: DecodeLimits = .default) throws(CoderError) -> AWebPDecoder {
    try AWebPDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
}

private func pixels(_ decoder: AWebPDecoder, _ frame: FrameInfo, _ format: PixelFormat = .rgba8) throws -> [UInt8] {
    let buffer = try PixelBuffer(size: frame.rect.size, format: format)
    let surface = Surface(buffer)
    #expect(try decoder.decode(DecodeRequest(), into: surface) == .complete)
    return bytes(of: buffer)
}

/// The complete frames, and the error after them; nil for none.
private func walk(_ bytes: [UInt8], decoding: Bool = true) -> (frames: [FrameInfo], end: CoderError.Code?) {
    var frames: [FrameInfo] = []
    do throws(CoderError) {
        let decoder = try decoder(bytes)
        _ = try decoder.readHeader()
        _ = try decoder.metadata()
        while let frame = try decoder.nextFrame() {
            if decoding {
                let surface = Surface(try PixelBuffer(size: frame.rect.size, format: .rgba8))
                _ = try decoder.decode(DecodeRequest(), into: surface)
            }
            frames.append(frame)
        }
        return (frames, nil)
    } catch {
        return (frames, error.code)
    }
}

@Suite struct `Animated WebP decoding` {
    /// The values that the recipe passed to webpmux.
    private static let expected = [
        FrameInfo(
            index: 0, rect: PixelRect(x: 10, y: 6, width: 40, height: 24), duration: FrameDuration(100, over: 1000),
            blendsInFixedPoint: true),
        FrameInfo(
            index: 1, rect: PixelRect(x: 0, y: 0, width: 40, height: 24), duration: FrameDuration(33, over: 1000),
            blend: .over, disposal: .background, hasAlpha: true, blendsInFixedPoint: true),
        FrameInfo(
            index: 2, rect: PixelRect(x: 20, y: 16, width: 40, height: 24), duration: FrameDuration(0, over: 1000),
            blend: .over, blendsInFixedPoint: true),
        FrameInfo(
            index: 3, rect: PixelRect(x: 2, y: 2, width: 40, height: 24),
            duration: FrameDuration(16_777_215, over: 1000), disposal: .background, hasAlpha: true,
            blendsInFixedPoint: true),
        FrameInfo(
            index: 4, rect: PixelRect(x: 58, y: 38, width: 1, height: 1), duration: FrameDuration(1, over: 1000),
            blend: .over, blendsInFixedPoint: true),
    ]

    @Test func `reports the facts of the file`() throws {
        let decoder = try decoder(fixture())
        let info = try decoder.readHeader()

        #expect(info.size == PixelSize(60, 40) && info.frameCount == 5 && info.isAnimated)
        #expect(info.loopCount == .plays(3) && info.orientation == .right && info.color.hasProfile)
        #expect(info.background == RGBAColor(red: 10, green: 20, blue: 30, alpha: 40))
        #expect(info.hasAlpha && info.isLossy && info.nativeFormat == .rgba8)
        #expect(
            try decoder.metadata() == [
                MetadataBlob(.exif, ExifOrientation.blob(.right)), MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8)),
                MetadataBlob(.icc, Array("not a real profile".utf8)),
            ])
        for frame in Self.expected { #expect(try decoder.nextFrame() == frame) }
        #expect(try decoder.nextFrame() == nil)
    }

    @Test func `equals the pixels of another program`() throws {
        let decoder = try decoder(fixture())
        _ = try decoder.readHeader()
        for name in ["lossy", "lossy-alpha", "lossless", "lossless-alpha"] {
            let frame = try #require(try decoder.nextFrame())
            #expect(try pixels(decoder, frame) == HandmadeAWebP.samples(name), "\(name)")
        }
        let last = try #require(try decoder.nextFrame())
        #expect(try pixels(decoder, last) == [0, 0, 0, 255])
    }

    @Test func `decodes any frame`() throws {
        let decoder = try decoder(fixture())
        _ = try decoder.readHeader()
        for index in [3, 0, 4, 1, 1, 2] {
            #expect(try decoder.seek(toFrame: index) == index)
            #expect(try decoder.nextFrame() == Self.expected[index])
        }
        let frame = try #require(
            try {
                _ = try decoder.seek(toFrame: 1); return try decoder.nextFrame()
            }())
        #expect(try pixels(decoder, frame) == HandmadeAWebP.samples("lossy-alpha"))
        #expect(throws: CoderError.self) { try decoder.seek(toFrame: 5) }
    }

    @Test func `swaps channels and multiplies by alpha on demand`() throws {
        let decoder = try decoder(fixture())
        _ = try decoder.readHeader()
        _ = try decoder.seek(toFrame: 3)
        let frame = try #require(try decoder.nextFrame())
        var swapped = try HandmadeAWebP.samples("lossless-alpha")
        for at in stride(from: 0, to: swapped.count, by: 4) { swapped.swapAt(at, at + 2) }

        #expect(try pixels(decoder, frame, .bgra8) == swapped)
    }

    @Test func `treats lossless data without declared alpha as opaque only if it fills the canvas`() throws {
        let chunks = try HandmadeAWebP.stillChunks("lossless")
        func blend(_ width: Int) throws -> Blend? {
            let file = HandmadeAWebP.file(
                HandmadeAWebP.canvas(width, 24) + HandmadeAWebP.animation + HandmadeAWebP.frame(chunks))
            return try decoder(file).nextFrame()?.blend
        }

        #expect(try blend(40) == .source)
        #expect(try blend(42) == .over)
    }

    @Test func `reports an opaque image`() throws {
        let opaque = HandmadeAWebP.frame(try HandmadeAWebP.stillChunks("lossy"))
        let drawn = HandmadeAWebP.frame(try HandmadeAWebP.stillChunks("lossy-alpha"))
        let replacing = HandmadeAWebP.frame(try HandmadeAWebP.stillChunks("lossy-alpha"), flags: 2)
        let clearing = HandmadeAWebP.frame(try HandmadeAWebP.stillChunks("lossy"), flags: 1)
        func hasAlpha(_ frames: [UInt8], width: Int = 40) throws -> Bool {
            try decoder(
                HandmadeAWebP.file(HandmadeAWebP.canvas(width, 24) + HandmadeAWebP.animation + frames)
            ).readHeader().hasAlpha
        }

        #expect(try !hasAlpha(opaque + drawn))
        #expect(try hasAlpha(opaque + replacing))
        #expect(try hasAlpha(clearing + opaque))
        #expect(try hasAlpha(drawn + opaque))
        #expect(try hasAlpha(opaque, width: 41))
    }

    @Test func `makes a frame opaque that replaces the canvas and declares no alpha`() throws {
        // "VP8L" | length 4 | 2F | width - 1 14, height - 1 14, alpha 1, version 3
        var image = try HandmadeAWebP.stillChunks("lossless-alpha")
        #expect(image[12] & 0x10 != 0)
        image[12] ^= 0x10
        let file = HandmadeAWebP.file(
            HandmadeAWebP.canvas(40, 24) + HandmadeAWebP.animation + HandmadeAWebP.frame(image))
        let decoder = try decoder(file)
        #expect(try !decoder.readHeader().hasAlpha)

        let all = try pixels(decoder, #require(try decoder.nextFrame()))

        #expect(stride(from: 3, to: all.count, by: 4).allSatisfy { all[$0] == 255 })
    }

    @Test func `skips unknown chunks`() throws {
        let odd = HandmadeAWebP.chunk("abcd", [1, 2, 3])
        let chunks = try HandmadeAWebP.stillChunks("lossy-alpha")
        let frame = HandmadeAWebP.frame(odd + chunks + odd)
        let file = HandmadeAWebP.file(
            HandmadeAWebP.canvas(40, 24) + odd + HandmadeAWebP.animation + odd + frame + odd + frame + odd)
        let decoder = try decoder(file)

        #expect(try decoder.readHeader().frameCount == 2)
        #expect(try decoder.readHeader().loopCount == .infinite)
        let first = try #require(try decoder.nextFrame())
        #expect(try pixels(decoder, first) == HandmadeAWebP.samples("lossy-alpha"))
    }

    @Test func `refuses a still as not its own`() throws {
        for name in ["lossy", "lossless", "lossy-alpha", "metadata"] {
            let still = try #require(readFile(Repository.fixture("webp/\(name).webp")))
            #expect(walk(still).end == .notMine)
        }
    }
}

@Suite struct `Damaged animated WebP` {
    @Test func `delivers the complete frames`() throws {
        let whole = try fixture()
        // The ends of the frame chunks by webpinfo; libwebp needs all bytes of the first except the last.
        let ends = [325, 636, 750, 892, 938]
        for length in whole.indices {
            let (frames, end) = walk(Array(whole[..<length]))
            #expect(frames.count == ends.count { $0 <= length }, "\(length) bytes")
            #expect(end == .truncated, "\(length) bytes")
        }
    }

    @Test func `delivers the rows of a cut first frame`() throws {
        let decoder = try decoder(Array(fixture()[..<300]))
        _ = try decoder.readHeader()
        #expect(try decoder.nextFrame()?.index == 0)
        let buffer = try PixelBuffer(size: PixelSize(40, 24), format: .rgba8)
        let surface = Surface(buffer)
        guard case .partial(let rect) = try decoder.decode(DecodeRequest(wantsPartial: true), into: surface) else {
            Issue.record("a cut frame is reported as complete")
            return
        }
        #expect(rect.y == 0 && rect.width == 40 && rect.height > 0 && rect.height < 24)
        let expected = try HandmadeAWebP.samples("lossy")
        #expect(bytes(of: buffer)[..<(rect.height * 160)] == expected[..<(rect.height * 160)])
        #expect(throws: CoderError.self) { try decoder.nextFrame() }
    }

    @Test func `ends for any flipped bit`() throws {
        let allowed: Set<CoderError.Code?> = [
            nil, .corrupt, .truncated, .unsupportedFeature, .notMine, .limitExceeded,
        ]
        let whole = try fixture()
        for at in whole.indices {
            for bit in 0..<8 {
                var copy = whole
                copy[at] ^= 1 << bit
                let (frames, end) = walk(copy)
                #expect(allowed.contains(end) && frames.count <= 5, "bit \(bit) of byte \(at)")
            }
        }
    }

    private static let hostile: [(String, @Sendable () throws -> [UInt8], CoderError.Code)] = {
        typealias H = HandmadeAWebP
        @Sendable func lossy() throws -> [UInt8] { try H.stillChunks("lossy") }
        return [
            ("no frame", { H.file(H.canvas(40, 24) + H.animation) }, .corrupt),
            ("no animation chunk", { H.file(H.canvas(40, 24) + H.frame(try lossy())) }, .corrupt),
            (
                "a frame outside the canvas",
                { H.file(H.canvas(40, 24) + H.animation + H.frame(try lossy(), x: 2)) }, .corrupt
            ),
            (
                "a frame at the maximum offset",
                { H.file(H.canvas(40, 24) + H.animation + H.frame(try lossy(), x: 0x1FF_FFFE, y: 0x1FF_FFFE)) },
                .corrupt
            ),
            (
                "an image larger than its frame and the canvas",
                { H.file(H.canvas(20, 20) + H.animation + H.frame(try lossy(), size: PixelSize(20, 20))) }, .corrupt
            ),
            (
                "an invalid canvas",
                { H.file(H.canvas(1 << 24, 1 << 24) + H.animation + H.frame(try lossy())) }, .corrupt
            ),
            ("a frame without an image", { H.file(H.canvas(40, 24) + H.animation + H.frame([])) }, .corrupt),
            (
                "a frame shorter than its head",
                { H.file(H.canvas(40, 24) + H.animation + H.chunk("ANMF", [0, 0, 0])) }, .corrupt
            ),
            (
                "a length of 4 GiB in a frame",
                { H.file(H.canvas(40, 24) + H.animation + H.frame(H.chunk("VP8 ", [0, 0], says: 0xFFFF_FFFF))) },
                .corrupt
            ),
            ("a length of 4 GiB", { H.file(H.canvas(40, 24) + H.chunk("ANMF", [], says: 0xFFFF_FFFF)) }, .corrupt),
            (
                "a file of 4 GiB",
                { H.file(H.canvas(40, 24) + H.chunk("abcd", [], says: 0xFFFF_FFF0), says: 0xFFFF_FFFF) }, .corrupt
            ),
            ("a file that declares to be empty", { H.file(H.canvas(40, 24) + H.animation, says: 0) }, .corrupt),
            (
                "an image outside of a frame",
                { H.file(H.canvas(40, 24) + H.animation + (try lossy())) }, .corrupt
            ),
            (
                "an alpha chunk with lossless data",
                {
                    let alpha = H.chunk("ALPH", [0, 0])
                    return H.file(
                        H.canvas(40, 24) + H.animation + H.frame(alpha + (try H.stillChunks("lossless"))))
                }, .corrupt
            ),
            ("an empty canvas chunk", { H.file(H.chunk("VP8X", [2])) }, .corrupt),
        ]
    }()

    @Test(arguments: hostile.indices)
    func `refuses`(index: Int) throws {
        let (name, file, code) = Self.hostile[index]
        let (frames, end) = try walk(file())
        #expect(frames.isEmpty && end == code, "\(name)")
    }

    @Test func `accepts a canvas larger than any single image`() throws {
        let file = HandmadeAWebP.file(
            HandmadeAWebP.canvas(20_000, 30) + HandmadeAWebP.animation
                + HandmadeAWebP.frame(try HandmadeAWebP.stillChunks("lossy"), x: 19_960))
        let (frames, end) = walk(file)
        #expect(frames.map(\.rect) == [PixelRect(x: 19_960, y: 0, width: 40, height: 24)] && end == nil)
    }

    @Test func `uses the size of the image if its frame declares another size`() throws {
        let file = HandmadeAWebP.file(
            HandmadeAWebP.canvas(60, 60) + HandmadeAWebP.animation
                + HandmadeAWebP.frame(try HandmadeAWebP.stillChunks("lossy"), size: PixelSize(60, 60)))
        #expect(walk(file).frames.map(\.rect.size) == [PixelSize(40, 24)])
    }

    @Test func `stops at the frame limit`() throws {
        var limits = DecodeLimits.default
        limits.maxFrames = 4
        #expect(throws: CoderError.limit("frames", allowed: 4, requested: 5)) {
            try decoder(fixture(), limits: limits).readHeader()
        }
        limits.maxFrames = 5
        #expect(try decoder(fixture(), limits: limits).readHeader().frameCount == 5)
    }

    @Test func `refuses a blob above the limit`() throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 20
        #expect(throws: CoderError.self) { try decoder(fixture(), limits: limits).readHeader() }
    }
}

@Suite struct `Animated WebP from a growing source` {
    @Test(arguments: [1, 7, 64, 300])
    func `has the same result as a complete source`(step: Int) throws {
        let bytes = try fixture()
        let source = ByteSource(bytes, arrived: 0)
        let decoder = try AWebPDecoder(DecoderSession(source: source))
        var info: ImageInfo?
        var current: (frame: FrameInfo, pixels: PixelBuffer)?
        var images: [[UInt8]] = []
        var rowsEarly = 0
        var isAtEnd = false
        while !isAtEnd {
            do throws(CoderError) {
                if info == nil { info = try decoder.readHeader() }
                if current == nil {
                    guard let frame = try decoder.nextFrame() else {
                        isAtEnd = true
                        continue
                    }
                    current = (frame, try PixelBuffer(size: frame.rect.size, format: .rgba8))
                }
                if let (frame, buffer) = current {
                    let surface = Surface(buffer)
                    switch try decoder.decode(DecodeRequest(wantsPartial: frame.index == 0), into: surface) {
                    case .complete:
                        images.append(CodecTests.bytes(of: buffer))
                        current = nil
                        continue
                    case .partial(let rect): rowsEarly = rect.y + rect.height
                    }
                }
            } catch {
                if error.code != .needsInput { throw error }
                // A frame behind the first is reported only once it is complete.
                #expect(current == nil || current?.frame.index == 0)
                if source.isComplete { throw CoderError(.misuse, "requests input after the end") }
            }
            if source.available + step < bytes.count { source.arrive(step) } else { source.arrive() }
        }
        #expect(info?.frameCount == nil && info?.isAnimated == true)
        #expect(step > 1 || rowsEarly > 0)
        let names = ["lossy", "lossy-alpha", "lossless", "lossless-alpha"]
        #expect(try images == names.map(HandmadeAWebP.samples) + [[0, 0, 0, 255]])
        #expect(try decoder.metadata().map(\.kind) == [.exif, .xmp, .icc])
    }
}
