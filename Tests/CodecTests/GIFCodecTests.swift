import CoderPluginKit
import GIFCodec
import ImageModel
import TestSupport
import Testing

@Suite struct `GIF decoder` {
    @Test func `reads colors by index`() throws {
        var file = HandmadeGIF(2, 2)
        file.frame(0, 0, 2, 2, [0, 1, 2, 3])
        file.end()
        let (info, frames) = try decodeGIF(file.bytes)
        #expect(info.size == PixelSize(2, 2) && info.frameCount == 1 && !info.isAnimated && !info.hasAlpha)
        #expect(info.loopCount == .plays(1) && info.bitDepth == 2)
        #expect(frames.map(\.pixels) == [handmadeRGBA([0, 1, 2, 3])])
        #expect(try decodeGIF(file.bytes, as: .rgb8).frames[0].pixels == [0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255])
    }

    @Test func `reports frames raw`() throws {
        var file = HandmadeGIF(4, 4)
        file.control(delay: 7, disposal: 2, transparent: 1)
        file.frame(1, 2, 2, 1, [1, 2])
        file.control(delay: 0, disposal: 3)
        file.frame(3, 3, 5, 1, [1, 2, 3, 0, 1])
        file.frame(0, 0, 1, 1, [3])
        file.control(delay: 65535, disposal: 1)
        file.frame(0, 0, 1, 1, [2], palette: [9, 9, 9, 8, 8, 8, 1, 2, 3, 7, 7, 7])
        file.end()
        let (info, frames) = try decodeGIF(file.bytes)
        #expect(info.frameCount == 4 && info.isAnimated && info.hasAlpha)
        #expect(
            frames.map(\.info.rect) == [
                PixelRect(x: 1, y: 2, width: 2, height: 1), PixelRect(x: 3, y: 3, width: 5, height: 1),
                PixelRect(x: 0, y: 0, width: 1, height: 1), PixelRect(x: 0, y: 0, width: 1, height: 1),
            ])
        #expect(frames.map(\.info.disposal) == [.background, .previous, .keep, .keep])
        #expect(frames.map(\.info.duration.numerator) == [7, 0, 0, 65535])
        #expect(frames.allSatisfy { $0.info.duration.denominator == 100 })
        #expect(frames.map(\.info.hasAlpha) == [true, false, false, false])
        // A frame without a transparent index replaces its rectangle, unless a part of it is outside the canvas.
        #expect(frames.map(\.info.blend) == [.over, .over, .source, .source])
        #expect(frames.map(\.info.index) == [0, 1, 2, 3])
        #expect(frames[0].pixels == handmadeRGBA([1, 2], transparent: 1))
        #expect(frames[1].pixels == handmadeRGBA([1, 2, 3, 0, 1]))
        #expect(frames[3].pixels == [1, 2, 3, 255])
    }

    /// Heights around those with an empty pass.
    @Test(arguments: 1...18) func `places interlaced rows`(_ height: Int) throws {
        // Rows 0, 8, … then 4, 12, … then 2, 6, … then 1, 3, … (appendix E).
        let order =
            Array(stride(from: 0, to: height, by: 8)) + Array(stride(from: 4, to: height, by: 8))
            + Array(stride(from: 2, to: height, by: 4)) + Array(stride(from: 1, to: height, by: 2))
        var file = HandmadeGIF(1, height)
        file.frame(0, 0, 1, height, order.map { UInt8(($0 / 3 + $0) % 4) }, interlaced: true)
        file.end()
        #expect(
            try decodeGIF(file.bytes).frames[0].pixels == handmadeRGBA((0..<height).map { UInt8(($0 / 3 + $0) % 4) }))
    }

    @Test(arguments: ["NETSCAPE2.0", "ANIMEXTS1.0"]) func `counts plays, not repetitions`(_ name: String) throws {
        for (stored, count) in [(0, LoopCount.infinite), (1, .plays(2)), (65535, .plays(65536))] {
            var file = HandmadeGIF(1, 1)
            file.loops(stored, name: name)
            file.frame(0, 0, 1, 1, [1])
            file.end()
            #expect(try decodeGIF(file.bytes).info.loopCount == count)
        }
    }

    @Test func `reports background and density`() throws {
        var file = HandmadeGIF(1, 1, aspect: 113, background: 3)
        file.frame(0, 0, 1, 1, [1])
        file.end()
        let info = try decodeGIF(file.bytes).info
        #expect(info.background == RGBAColor(red: 0, green: 0, blue: 255))
        // (113 + 15) ÷ 64: pixels twice as wide as high.
        #expect(info.density == .aspect(x: 64, y: 128))
    }

    @Test func `decodes frames in any order`() throws {
        var file = HandmadeGIF(1, 1)
        for index in 0..<4 { file.frame(0, 0, 1, 1, [UInt8(index)]) }
        file.end()
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file.bytes)))
        _ = try decoder.readHeader()
        for index in [3, 0, 2, 2, 1] {
            #expect(try decoder.seek(toFrame: index) == index)
            let frame = try #require(try decoder.nextFrame())
            #expect(frame.index == index)
            #expect(try gifPixels(of: frame, decoder).pixels == handmadeRGBA([UInt8(index)]))
        }
        #expect(throws: CoderError.self) { try decoder.seek(toFrame: 4) }
    }

    @Test func `reports comments and XMP`() throws {
        let trailer: [UInt8] = [1] + (0...255).reversed().map { UInt8($0) } + [0]
        var file = HandmadeGIF(1, 1)
        file.bytes += [0x21, 0xFE] + HandmadeGIF.blocks([UInt8](repeating: 0x61, count: 300))
        file.bytes += [0x21, 0xFE] + HandmadeGIF.blocks([0xE9])
        file.bytes += [0x21, 0xFF, 11] + Array("XMP DataXMP<x:xmpmeta/>".utf8) + trailer
        file.bytes += [0x21, 0xFF, 11] + Array("ICCRGBG1012".utf8) + HandmadeGIF.blocks([1, 2, 3])
        file.bytes += [0x21, 0x77] + HandmadeGIF.blocks([5, 6])
        file.frame(0, 0, 1, 1, [1])
        file.end()
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file.bytes)))
        _ = try decoder.readHeader()
        #expect(
            try decoder.metadata() == [
                MetadataBlob(.icc, [1, 2, 3]), MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8)),
                MetadataBlob(.text, [UInt8](repeating: 0x61, count: 300), key: "Comment"),
                MetadataBlob(.text, Array("é".utf8), key: "Comment"),
            ])
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 100
        let bounded = try GIFDecoder(DecoderSession(source: ByteSource(file.bytes), limits: limits))
        _ = try bounded.readHeader()
        #expect(try bounded.metadata().map(\.bytes.count) == [3, 2])
    }

    @Test func `limits all comments together like one blob`() throws {
        var file = HandmadeGIF(1, 1)
        for _ in 0..<5 { file.bytes += [0x21, 0xFE] + HandmadeGIF.blocks([UInt8](repeating: 0x61, count: 60)) }
        file.frame(0, 0, 1, 1, [1])
        file.end()
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 130
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file.bytes), limits: limits))
        _ = try decoder.readHeader()

        #expect(try decoder.metadata().map(\.bytes.count) == [60, 60])
    }

    @Test(arguments: Fixture.valid("gif"))
    func `equals the pixels of other decoders`(_ fixture: Fixture) throws {
        let (info, frames) = try decodeGIF(fixture.bytes)
        let expected = try #require(fixture.expect)
        #expect(info.size == expected.size)
        if let count = expected.frameCount { #expect(info.frameCount == count && frames.count == count) }
        let theirs = try #require(giflibFrames(fixture.bytes))
        #expect(frames.map(\.pixels) == theirs.map(\.pixels))
        #expect(frames.map(\.info.rect) == theirs.map(\.info.rect))
        #expect(frames.map(\.info.duration) == theirs.map(\.info.duration))
    }

    // The host checks limits, not the codec.
    @Test(arguments: Fixture.bad("gif").filter { $0.errors != ["limitExceeded"] })
    func `refuses damaged files`(_ fixture: Fixture) throws {
        let code = try #require(gifFailure(fixture.bytes))
        #expect(fixture.errors.contains(code.description))
    }
}
