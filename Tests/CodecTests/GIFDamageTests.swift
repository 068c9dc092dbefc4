import CoderPluginKit
import GIFCodec
import ImageModel
import Testing

@Suite struct `Unusual GIF` {
    private static var file: HandmadeGIF {
        var file = HandmadeGIF(2, 2)
        file.frame(0, 0, 2, 2, [1, 2, 3, 1])
        return file
    }

    @Test func `may end without a trailer, or have bytes behind it`() throws {
        #expect(try decodeGIF(Self.file.bytes).frames.map(\.pixels) == [handmadeRGBA([1, 2, 3, 1])])
        #expect(try decodeGIF(Self.file.bytes + [0x3B, 0x2C, 1, 2]).frames.count == 1)
        #expect(try decodeGIF(Self.file.bytes + [0, 0, 0x99]).frames.count == 1)
    }

    @Test func `may lack the terminator of its last data`() throws {
        #expect(try decodeGIF(Self.file.bytes.dropLast()).frames.map(\.pixels) == [handmadeRGBA([1, 2, 3, 1])])
    }

    @Test func `may have no palette: black, white, then grays`() throws {
        var file = HandmadeGIF(2, 2, hasPalette: false)
        file.frame(0, 0, 2, 2, [0, 1, 2, 3])
        file.end()
        let pixels = try decodeGIF(file.bytes).frames[0].pixels
        #expect(pixels == [0, 0, 0, 255, 255, 255, 255, 255, 2, 2, 2, 255, 3, 3, 3, 255])
    }

    @Test func `may have fewer pixels than declared, or more`() throws {
        var short = HandmadeGIF(2, 2)
        short.frame(0, 0, 2, 2, [1, 2, 3])
        short.end()
        #expect(try decodeGIF(short.bytes).frames[0].pixels == handmadeRGBA([1, 2, 3]) + [0, 0, 0, 255])
        var long = HandmadeGIF(2, 2)
        long.frame(0, 0, 2, 2, [1, 2, 3, 1, 2, 2])
        long.end()
        #expect(try decodeGIF(long.bytes).frames[0].pixels == handmadeRGBA([1, 2, 3, 1]))
    }

    /// The header of a complete file declares `hasAlpha` before any pixel is decoded.
    @Test(arguments: [false, true], [false, true])
    func `never has transparent pixels if declared opaque`(isSecond: Bool, isSeenThrough: Bool) throws {
        var file = HandmadeGIF(2, 2)
        if isSecond { file.frame(0, 0, 2, 2, [1, 1, 1, 1]) }
        file.control(delay: 1, disposal: 1, transparent: isSeenThrough ? 3 : nil)
        file.frame(0, 0, 2, 2, [1, 2])
        file.end()

        let (info, frames) = try decodeGIF(file.bytes)

        #expect(info.hasAlpha == (isSeenThrough && !isSecond))
        let rest = Array(frames[frames.count - 1].pixels.suffix(8))
        #expect(rest == (isSeenThrough ? [0, 0, 0, 0, 0, 0, 0, 0] : [0, 0, 0, 255, 0, 0, 0, 255]))
    }

    @Test func `is declared transparent if its only frame is cut`() throws {
        let bytes = Self.file.bytes
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(Array(bytes.prefix(bytes.count - 2)))))
        #expect(try decoder.readHeader().hasAlpha)
    }

    @Test func `with a screen without area is as large as the first frame needs`() throws {
        for (width, height) in [(0, 0), (3, 0), (0, 4)] {
            var file = HandmadeGIF(width, height)
            file.frame(1, 2, 2, 2, [1, 2, 3, 1])
            file.frame(0, 0, 9, 1, [1, 2, 3, 1, 1, 1, 1, 1, 1])
            file.end()
            #expect(try decodeGIF(file.bytes).info.size == PixelSize(3, 4))
        }
    }

    @Test(arguments: 0...7) func `may have any disposal`(_ stored: Int) throws {
        var file = HandmadeGIF(1, 1)
        file.control(delay: 1, disposal: UInt8(stored))
        file.frame(0, 0, 1, 1, [1])
        file.frame(0, 0, 1, 1, [2])
        file.end()
        let (info, frames) = try decodeGIF(file.bytes)
        let expected: [Disposal] = [.keep, .keep, .background, .previous, .previous, .keep, .keep, .keep]
        #expect(frames.map(\.info.disposal) == [expected[stored], .keep])
        // The canvas is empty below the second frame when the first is cleared.
        #expect(info.hasAlpha == (expected[stored] != .keep))
    }

    @Test func `is transparent only if pixels are missing`() throws {
        var file = HandmadeGIF(2, 1)
        file.frame(0, 0, 2, 1, [1, 2])
        file.control(delay: 1, disposal: 3, transparent: 1)
        file.frame(0, 0, 2, 1, [1, 2])
        file.control(delay: 1, disposal: 2)
        file.frame(0, 0, 1, 1, [1])
        file.end()
        // Drawn over a full first frame; the disposal of the last frame has no effect.
        #expect(try !decodeGIF(file.bytes).info.hasAlpha)
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file.bytes)))
        _ = try decoder.readHeader()
        #expect(decoder.pixelFormats == [.rgba8])
        file.bytes.removeLast()
        file.frame(0, 0, 1, 1, [1])
        file.end()
        #expect(try decodeGIF(file.bytes).info.hasAlpha)
    }

    @Test func `may have frames without area`() throws {
        var file = HandmadeGIF(2, 2)
        file.frame(0, 0, 0, 2, [])
        file.frame(0, 0, 2, 2, [1, 2, 3, 1])
        file.end()
        let frames = try decodeGIF(file.bytes).frames
        #expect(frames.map(\.info.rect.isEmpty) == [true, false] && frames[1].pixels == handmadeRGBA([1, 2, 3, 1]))
    }

    @Test(arguments: [1, 2], [(0, 2), (2, 0), (0, 0)])
    func `is refused if no frame has area`(count: Int, size: (Int, Int)) throws {
        var file = HandmadeGIF(2, 2)
        for _ in 0..<count { file.frame(0, 0, size.0, size.1, []) }
        file.end()
        #expect(gifFailure(file.bytes) == .corrupt)

        // While the file arrives, a frame with area may follow.
        let source = ByteSource(file.bytes, arrived: file.bytes.count - 1)
        let decoder = try GIFDecoder(DecoderSession(source: source))
        #expect(try decoder.readHeader().size == PixelSize(2, 2))
        for _ in 0..<count { #expect(try decoder.nextFrame()?.rect.isEmpty == true) }
        source.arrive(1)
        #expect { try decoder.nextFrame() } throws: { ($0 as? CoderError)?.code == .corrupt }
    }

    @Test func `is truncated with its first frame, and keeps its pixels`() throws {
        let whole = Self.file.bytes
        // The data has two bytes of codes for 1, 2, 3; the fourth pixel is cut off.
        let bytes = Array(whole.prefix(whole.count - 2))
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(bytes)))
        let info = try decoder.readHeader()
        #expect(info.frameCount == 1)
        let frame = try #require(try decoder.nextFrame())
        let buffer = try PixelBuffer(size: frame.rect.size, format: .rgba8)
        #expect { try decoder.decode(DecodeRequest(), into: Surface(buffer)) } throws: {
            ($0 as? CoderError)?.code == .truncated
        }
        #expect(firstRow(buffer) == handmadeRGBA([1, 2]))
    }

    @Test func `reports complete frames, then truncation`() throws {
        var file = Self.file
        file.frame(0, 0, 2, 2, [3, 3, 3, 3])
        let bytes = Array(file.bytes.dropLast(3))
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(bytes)))
        #expect(try decoder.readHeader().frameCount == 1)
        let frame = try #require(try decoder.nextFrame())
        #expect(try gifPixels(of: frame, decoder).pixels == handmadeRGBA([1, 2, 3, 1]))
        #expect { try decoder.nextFrame() } throws: { ($0 as? CoderError)?.code == .truncated }
    }

    @Test func `keeps the pixels before an undefined code, except in the first frame`() throws {
        let broken = [2] + HandmadeGIF.blocks(HandmadeGIF.packed([4, 1, 7, 1]))
        var file = Self.file
        file.descriptor(0, 0, 2, 1)
        file.bytes += broken + [0x3B]
        #expect(try decodeGIF(file.bytes).frames.map(\.pixels)[1] == handmadeRGBA([1]) + [0, 0, 0, 0])
        var first = HandmadeGIF(2, 1)
        first.descriptor(0, 0, 2, 1)
        first.bytes += broken + [0x3B]
        #expect(gifFailure(first.bytes) == .corrupt)
    }

    @Test func `is refused if it cannot be interpreted`() {
        #expect(gifFailure(Array("GIF88a".utf8) + [1, 0, 1, 0, 0, 0, 0]) == .notMine)
        var flat = HandmadeGIF(0, 1)
        flat.frame(0, 0, 0, 1, [])
        #expect(gifFailure(flat.bytes) == .corrupt)
        var empty = HandmadeGIF(1, 1)
        empty.end()
        #expect(gifFailure(empty.bytes) == .corrupt)
        #expect(gifFailure(HandmadeGIF(1, 1).bytes + [0x99]) == .corrupt)
        for size in [0, 12] as [UInt8] {
            var file = HandmadeGIF(1, 1)
            file.descriptor(0, 0, 1, 1)
            file.bytes += [size, 1, 0, 0, 0x3B]
            #expect(gifFailure(file.bytes) == .corrupt)
        }
    }

    @Test func `is limited in the number and size of frames`() throws {
        var file = HandmadeGIF(1, 1)
        for _ in 0..<3 { file.frame(0, 0, 1, 1, [1]) }
        file.end()
        var limits = DecodeLimits.default
        limits.maxFrames = 2
        #expect(gifFailure(file.bytes, limits: limits) == .limitExceeded)
        var large = HandmadeGIF(1, 1)
        large.frame(0, 0, 60000, 60000, [1])
        #expect(gifFailure(large.bytes) == .limitExceeded)
    }

    @Test func `never traps when a read of the source fails`() throws {
        var file = HandmadeGIF(2, 2)
        file.loops(2)
        file.control(delay: 1)
        file.frame(0, 0, 2, 2, [1, 2, 3, 1])
        file.end()
        // The number of reads before the first failure, and the number of failures from there on.
        for (allowed, failing) in (0..<12).flatMap({ allowed in [1, .max].map { (allowed, $0) } }) {
            var count = 0
            let source = ByteSource(count: file.bytes.count) { range throws(CoderError) in
                count += 1
                if count > allowed, count - allowed <= failing { throw CoderError(.inputOutput, "the disk is gone") }
                return Array(file.bytes[range])
            }
            let decoder = try? GIFDecoder(DecoderSession(source: source))
            if let size = try? decoder?.readHeader().size { #expect(size == PixelSize(2, 2)) }
            while let frame = try? decoder?.nextFrame() { #expect(frame.rect.size.width <= 0xFFFF) }
        }
    }

    @Test func `ends safely when cut or changed`() throws {
        var file = HandmadeGIF(3, 3)
        file.loops(2)
        let controlSize = file.bytes.count + 2
        file.control(delay: 3, disposal: 2, transparent: 1)
        file.frame(0, 0, 3, 3, [0, 1, 2, 3, 0, 1, 2, 3, 0], interlaced: true)
        file.frame(1, 1, 2, 2, [3, 2, 1, 0], palette: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        file.end()
        var limits = DecodeLimits.default
        limits.maxPixels = 1 << 20
        for offset in file.bytes.indices {
            _ = gifFailure(Array(file.bytes.prefix(offset)), limits: limits)
            for bit in 0..<8 {
                var changed = file.bytes
                changed[offset] ^= 1 << UInt8(bit)
                let ours = try? decodeGIF(changed, limits: limits).frames
                // If both decoders accept a file, their results must be equal. But a graphic control that is too long
                // counts here, as
                // in browsers, and not in giflib.
                if offset != controlSize, let ours, let theirs = giflibFrames(changed), ours.count == theirs.count {
                    for (mine, other) in zip(ours, theirs) where mine.info.rect == other.info.rect {
                        // giflib 5.2.1 makes pixels of some undefined codes; here the rest is then transparent.
                        let kept = mine.info.index == 0 ? mine.pixels : mine.pixels.droppingLastZeros
                        #expect(other.pixels.starts(with: kept), "byte \(offset), bit \(bit)")
                    }
                }
            }
        }
    }
}

/// The first row of an image of two columns.
private func firstRow(_ buffer: PixelBuffer) -> [UInt8] { Array(bytesOfRows(buffer).prefix(8)) }

extension [UInt8] {
    fileprivate var droppingLastZeros: [UInt8] {
        var rest = self
        while rest.last == 0 { rest.removeLast() }
        return rest
    }
}
