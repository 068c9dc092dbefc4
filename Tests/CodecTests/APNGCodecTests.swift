import APNGCodec
import CoderPluginKit
import ImageModel
import PNGCodec
import TestSupport
import Testing

@Suite struct `APNG decoder` {
    @Test func `delivers the frames as stored`() throws {
        let animation = try decodeAPNG(threeGrayFrames.bytes)
        #expect(animation.info.size == PixelSize(2, 2))
        #expect(animation.info.frameCount == 3 && animation.info.isAnimated)
        #expect(animation.info.nativeFormat == .gray8)
        #expect(animation.samples == threeGraySamples)
        #expect(animation.frames.map(\.index) == [0, 1, 2])
        #expect(animation.frames[1].rect == PixelRect(x: 1, y: 1, width: 1, height: 1))
        #expect(animation.failure == nil)
    }

    @Test func `does not report a default image that is not a frame`() throws {
        var file = threeGrayFrames
        file.hidden = [0, 90, 91, 0, 92, 93]
        #expect(try decodeAPNG(file.bytes).samples == threeGraySamples)
        // A decoder without APNG support shows the default image.
        #expect(try decodePNG(file.bytes).samples == [90, 91, 92, 93])
    }

    @Test func `keeps delays, and treats a denominator of 0 as 100`() throws {
        var file = threeGrayFrames
        file.frames[0].delay = (7, 30)
        file.frames[1].delay = (65535, 0)
        file.frames[2].delay = (0, 1)
        let durations = try decodeAPNG(file.bytes).frames.map(\.duration)
        #expect(durations == [FrameDuration(7, over: 30), FrameDuration(65535, over: 100), FrameDuration(0, over: 1)])
    }

    @Test(arguments: [(0, LoopCount.infinite), (1, .plays(1)), (65536, .plays(65536))])
    func `reports the loop count`(_ stored: Int, _ plays: LoopCount) throws {
        var file = threeGrayFrames
        file.plays = stored
        #expect(try decodeAPNG(file.bytes).info.loopCount == plays)
    }

    @Test func `reports the disposal of a frame`() throws {
        var file = threeGrayFrames
        for index in 0..<3 { file.frames[index].dispose = 2 }
        // Below the first frame the canvas is empty, so restoring it is clearing.
        #expect(try decodeAPNG(file.bytes).frames.map(\.disposal) == [.background, .previous, .previous])
        for index in 0..<3 { file.frames[index].dispose = UInt8(index) }
        #expect(try decodeAPNG(file.bytes).frames.map(\.disposal) == [.keep, .background, .previous])
        #expect(try decodeAPNG(file.bytes).info.hasAlpha)
        #expect(try !decodeAPNG(threeGrayFrames.bytes).info.hasAlpha)
    }

    @Test func `reports blend source if blending has the same result`() throws {
        var file = threeGrayFrames
        for index in 0..<3 { file.frames[index].blend = 1 }
        #expect(try decodeAPNG(file.bytes).frames.map(\.blend) == [.source, .source, .source])
        file.before = [pngChunk("tRNS", [0, 9])]
        let animation = try decodeAPNG(file.bytes)
        #expect(animation.frames.map(\.blend) == [.source, .over, .over])
        #expect(animation.frames.allSatisfy { $0.hasAlpha })
        #expect(animation.samples == [[1, 255, 2, 255, 3, 255, 4, 255], [9, 0], [5, 255, 6, 255, 7, 255, 8, 255]])
    }

    @Test func `decodes straight into an RGBA canvas, and changes no pixel around the frame`() throws {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0xAA, count: 64)
        // Row 1 of a canvas of 3 pixels and some padding, from column 1 on.
        let place = unsafe PixelBuffer(
            size: PixelSize(1, 1), format: .rgba8, stride: 16, memory: memory + 20, byteCount: 4
        ) { _, _ in }
        let decoder = try APNGDecoder(DecoderSession(source: ByteSource(threeGrayFrames.bytes)))
        _ = try decoder.readHeader()
        #expect(decoder.pixelFormats.contains(.rgba8))
        _ = try decoder.nextFrame()
        _ = try decoder.nextFrame()
        #expect(try decoder.decode(DecodeRequest(), into: Surface(place)) == .complete)
        let all = unsafe Array(UnsafeRawBufferPointer(start: memory, count: 64))
        #expect(all[20..<24] == [9, 9, 9, 255])
        #expect((all[..<20] + all[24...]).allSatisfy { $0 == 0xAA })
        unsafe memory.deallocate()
    }

    @Test func `uses palette and depth for every frame`() throws {
        var file = HandmadeAPNG(
            type: 3, depth: 4,
            frames: [
                HandmadeAPNG.Frame(rows: [0, 0x01, 0, 0x20]),
                HandmadeAPNG.Frame(rect: PixelRect(x: 1, y: 0, width: 1, height: 2), rows: [0, 0x20, 0, 0x10]),
            ])
        file.before = [pngChunk("PLTE", [10, 11, 12, 20, 21, 22, 30, 31, 32]), pngChunk("tRNS", [0, 100])]
        let (a, b, c) = ([10, 11, 12, 0], [20, 21, 22, 100], [30, 31, 32, 255])
        #expect(try decodeAPNG(file.bytes).samples == [a + b + c + a, c + b])

        var deep = HandmadeAPNG(type: 0, depth: 16, frames: [])
        for value in [1, 2] as [UInt8] {
            deep.frames.append(HandmadeAPNG.Frame(rows: [0, value, 3, 4, 5, 0, 6, 7, 8, 9]))
        }
        #expect(try decodeAPNG(deep.bytes).samples == [[0x103, 0x405, 0x607, 0x809], [0x203, 0x405, 0x607, 0x809]])
    }

    @Test func `decodes any frame again`() throws {
        let decoder = try APNGDecoder(DecoderSession(source: ByteSource(threeGrayFrames.bytes)))
        let info = try decoder.readHeader()
        for index in [2, 0, 1, 1, 0, 2] {
            #expect(try decoder.seek(toFrame: index) == index)
            let frame = try #require(try decoder.nextFrame())
            #expect(frame.index == index)
            let buffer = try PixelBuffer(size: frame.rect.size, format: info.nativeFormat)
            #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
            var part = info
            part.size = frame.rect.size
            #expect(DecodedPNG(info: part, buffer: buffer, blobs: []).samples == threeGraySamples[index])
        }
        #expect { try decoder.seek(toFrame: 3) } throws: { ($0 as? CoderError)?.code == .invalidArgument }
    }

    @Test func `reports metadata like PNG`() throws {
        var file = threeGrayFrames
        file.before = [pngChunk("tEXt", Array("Title".utf8) + [0, 0x41]), pngChunk("pHYs", be32(1) + be32(2) + [1])]
        let decoder = try APNGDecoder(DecoderSession(source: ByteSource(file.bytes)))
        #expect(try decoder.readHeader().density == .perMeter(x: 1, y: 2))
        #expect(try decoder.metadata() == [MetadataBlob(.text, [0x41], key: "Title")])
    }

    @Test func `refuses an image without animation as not its own`() {
        #expect { try decodeAPNG(onePixelPNG().bytes) } throws: { ($0 as? CoderError)?.code == .notMine }
        #expect { try decodeAPNG([1, 2, 3, 4, 5, 6, 7, 8]) } throws: { ($0 as? CoderError)?.code == .notMine }
    }

    @Test(arguments: Fixture.valid("apng"))
    func `decodes the first frame of a fixture`(_ fixture: Fixture) throws {
        let expected = try #require(fixture.expect)
        let decoder = try APNGDecoder(DecoderSession(source: ByteSource(fixture.bytes)))
        let info = try decoder.readHeader()
        #expect(info.size == expected.size)
        #expect(info.frameCount == expected.frameCount)
        #expect(info.bitDepth == expected.bitDepth)
        #expect(info.hasAlpha == expected.hasAlpha)
        let frame = try #require(try decoder.nextFrame())
        let buffer = try PixelBuffer(size: frame.rect.size, format: .rgba8)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        #expect(PixelDigest.of(buffer) == expected.pixelSHA256)
    }
}

@Suite struct `APNG from a growing source` {
    /// Every frame, with the number of bytes available when it was reported, and when it was decoded.
    private func grow(_ bytes: [UInt8], by step: Int) throws -> (reported: [Int], decoded: [Int], samples: [[Int]]) {
        let source = ByteSource(bytes, arrived: 0)
        let decoder = try APNGDecoder(DecoderSession(source: source))
        var (reported, decoded, samples): ([Int], [Int], [[Int]]) = ([], [], [])
        var info: ImageInfo?
        var frame: FrameInfo?
        var buffer: PixelBuffer?
        while true {
            do {
                if info == nil { info = try decoder.readHeader() }
                var part = try #require(info)
                if frame == nil {
                    guard let next = try decoder.nextFrame() else { return (reported, decoded, samples) }
                    frame = next
                    buffer = try PixelBuffer(size: next.rect.size, format: part.nativeFormat)
                    reported.append(source.available)
                }
                let surface = try #require(buffer)
                part.size = surface.size
                if try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(surface)) == .complete {
                    samples.append(DecodedPNG(info: part, buffer: surface, blobs: []).samples)
                    decoded.append(source.available)
                    frame = nil
                    continue
                }
            } catch let error as CoderError where error.code == .needsInput {
                try #require(!source.isComplete)
            }
            if source.available == bytes.count { source.arrive() } else { source.arrive(step) }
        }
    }

    @Test(arguments: [1, 7, 100], [false, true])
    func `delivers the same frames`(_ step: Int, _ isHidden: Bool) throws {
        var file = threeGrayFrames
        if isHidden { file.hidden = [0, 90, 91, 0, 92, 93] }
        #expect(try grow(file.bytes, by: step).samples == threeGraySamples)
    }

    @Test(arguments: Fixture.valid("apng"))
    func `delivers the same frames of a fixture`(_ fixture: Fixture) throws {
        #expect(try grow(fixture.bytes, by: 13).samples == decodeAPNG(fixture.bytes).samples)
    }

    @Test func `reports the first frame early, and others when they are complete`() throws {
        var ends: [String: [Int]] = [:]
        var position = 8
        for chunk in threeGrayFrames.chunks {
            position += chunk.bytes.count
            ends[chunk.name, default: []].append(position)
        }
        let (reported, decoded, _) = try grow(threeGrayFrames.bytes, by: 1)
        // Eight bytes of the next chunk show that the frame is complete.
        #expect(reported[0] == ends["fcTL"]![0] + 8)
        #expect(decoded[0] == ends["IDAT"]![0] + 8)
        #expect(reported[1] == ends["fdAT"]![0] + 8 && decoded[1] == reported[1])
        #expect(reported[2] == ends["fdAT"]!.last! + 8 && decoded[2] == reported[2])
    }

    @Test func `shows rows of the first frame as they arrive`() throws {
        let bytes = threeGrayFrames.bytes
        // Signature, IHDR, acTL, fcTL, the head of IDAT, seven bytes of zlib, the first row.
        let source = ByteSource(bytes, arrived: 8 + 25 + 20 + 38 + 8 + 7 + 3)
        let decoder = try APNGDecoder(DecoderSession(source: source))
        let info = try decoder.readHeader()
        #expect(info.frameCount == nil && info.isAnimated && info.hasAlpha)
        _ = try decoder.nextFrame()
        let buffer = try PixelBuffer(size: info.size, format: .gray8)
        let outcome = try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(buffer))
        #expect(outcome == .partial(PixelRect(x: 0, y: 0, width: 2, height: 1)))
        #expect(DecodedPNG(info: info, buffer: buffer, blobs: []).samples == [1, 2, 0, 0])
        #expect(throws: CoderError.needsInput) { try decoder.nextFrame() }
    }
}
