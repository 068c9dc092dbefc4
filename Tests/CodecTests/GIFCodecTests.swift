import CoderPluginKit
import GIFCodec
import GIFShim
import ImageModel
import TestSupport
import Testing

// MARK: A file made by hand

/// Writes GIF block by block; pixels as codes that never leave their first size, so that no LZW encoder is needed.
private struct HandmadeGIF {
    var bytes: [UInt8]

    /// A canvas of four colours: black, red, green, blue.
    init(_ width: Int, _ height: Int, aspect: UInt8 = 0, background: UInt8 = 0, hasPalette: Bool = true) {
        bytes = Array("GIF89a".utf8) + le16(width) + le16(height) + [hasPalette ? 0x81 : 0, background, aspect]
        if hasPalette { bytes += [0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255] }
    }

    mutating func control(delay: Int, disposal: UInt8 = 0, transparent: UInt8? = nil) {
        bytes += [0x21, 0xF9, 4, disposal << 2 | (transparent == nil ? 0 : 1)] + le16(delay) + [transparent ?? 0, 0]
    }

    mutating func loops(_ count: Int, name: String = "NETSCAPE2.0") {
        bytes += [0x21, 0xFF, 11] + Array(name.utf8) + [3, 1] + le16(count) + [0]
    }

    mutating func frame(
        _ x: Int, _ y: Int, _ width: Int, _ height: Int, _ pixels: [UInt8], interlaced: Bool = false,
        palette: [UInt8] = []
    ) {
        descriptor(x, y, width, height, interlaced: interlaced, palette: palette)
        bytes += Self.data(pixels)
    }

    mutating func descriptor(
        _ x: Int, _ y: Int, _ width: Int, _ height: Int, interlaced: Bool = false, palette: [UInt8] = []
    ) {
        let flags: UInt8 = (interlaced ? 0x40 : 0) | (palette.isEmpty ? 0 : 0x81)
        bytes += [0x2C] + le16(x) + le16(y) + le16(width) + le16(height) + [flags] + palette
    }

    mutating func end() { bytes.append(0x3B) }

    /// Codes of 3 bits for pixels 0 … 3, with a clear code (4) in front of every second one, then the end code (5).
    static func data(_ pixels: [UInt8], ends: Bool = true) -> [UInt8] {
        var codes: [Int] = []
        for (index, pixel) in pixels.enumerated() { codes += index % 2 == 0 ? [4, Int(pixel)] : [Int(pixel)] }
        if ends { codes.append(5) }
        return [2] + blocks(packed(codes))
    }

    static func packed(_ codes: [Int]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: (codes.count * 3 + 7) / 8)
        for (index, code) in codes.enumerated() {
            for bit in 0..<3 where code >> bit & 1 == 1 {
                bytes[(index * 3 + bit) / 8] |= 1 << UInt8((index * 3 + bit) % 8)
            }
        }
        return bytes
    }

    static func blocks(_ bytes: [UInt8]) -> [UInt8] {
        stride(from: 0, to: bytes.count, by: 255).flatMap { start -> [UInt8] in
            let block = bytes[start..<min(start + 255, bytes.count)]
            return [UInt8(block.count)] + block
        } + [0]
    }
}

private func le16(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

// The four colours of a handmade file as RGBA.
private let colors: [[UInt8]] = [[0, 0, 0, 255], [255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255]]

private func rgba(_ pixels: [UInt8], transparent: UInt8? = nil) -> [UInt8] {
    pixels.flatMap { $0 == transparent ? [0, 0, 0, 0] : colors[Int($0)] }
}

// MARK: Decoding

private func bytes(_ buffer: PixelBuffer) -> [UInt8] {
    (0..<buffer.size.height).flatMap { y in
        buffer.withRow(y) { row in (0..<row.byteCount).map { row.byte(at: $0) } }
    }
}

private struct Frame {
    var info: FrameInfo
    /// RGBA; empty where the frame is.
    var pixels: [UInt8]
}

private func decode(
    _ file: [UInt8], as format: PixelFormat = .rgba8, limits: DecodeLimits = .default
) throws -> (info: ImageInfo, frames: [Frame]) {
    let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file), limits: limits))
    let info = try decoder.readHeader()
    var frames: [Frame] = []
    while let frame = try decoder.nextFrame() { frames.append(try pixels(of: frame, decoder, format)) }
    return (info, frames)
}

private func pixels(of frame: FrameInfo, _ decoder: GIFDecoder, _ format: PixelFormat = .rgba8) throws -> Frame {
    if frame.rect.isEmpty { return Frame(info: frame, pixels: []) }
    let buffer = try PixelBuffer(size: frame.rect.size, format: format)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return Frame(info: frame, pixels: bytes(buffer))
}

private func failure(_ file: [UInt8], limits: DecodeLimits = .default) -> CoderError.Code? {
    do {
        _ = try decode(file, limits: limits)
        return nil
    } catch {
        return (error as? CoderError)?.code
    }
}

/// Every frame as giflib reads it; nil where it gives up.
private func second(_ file: [UInt8]) -> [Frame]? {
    unsafe file.withUnsafeBufferPointer { buffer in
        guard let reader = unsafe gifshim_open(buffer.baseAddress, UInt64(buffer.count)) else { return nil }
        defer { unsafe gifshim_close(reader) }
        var frames: [Frame] = []
        while true {
            var frame = unsafe gifshim_frame()
            switch unsafe gifshim_next(reader, &frame) {
            case 0: return frames
            case 1:
                let rect = unsafe PixelRect(
                    x: Int(frame.x), y: Int(frame.y), width: Int(frame.width), height: Int(frame.height))
                let pixels = unsafe Array(UnsafeBufferPointer(start: frame.rgba, count: rect.width * rect.height * 4))
                let duration = unsafe FrameDuration(frame.delay, over: 100)
                frames.append(
                    Frame(info: FrameInfo(index: frames.count, rect: rect, duration: duration), pixels: pixels))
            default: return nil
            }
        }
    }
}

@Suite struct `GIF decoder` {
    @Test func `reads colours by index`() throws {
        var file = HandmadeGIF(2, 2)
        file.frame(0, 0, 2, 2, [0, 1, 2, 3])
        file.end()
        let (info, frames) = try decode(file.bytes)
        #expect(info.size == PixelSize(2, 2) && info.frameCount == 1 && !info.isAnimated && !info.hasAlpha)
        #expect(info.loopCount == .plays(1) && info.bitDepth == 2)
        #expect(frames.map(\.pixels) == [rgba([0, 1, 2, 3])])
        #expect(try decode(file.bytes, as: .rgb8).frames[0].pixels == [0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255])
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
        let (info, frames) = try decode(file.bytes)
        #expect(info.frameCount == 4 && info.isAnimated && info.hasAlpha)
        #expect(
            frames.map(\.info.rect) == [
                PixelRect(x: 1, y: 2, width: 2, height: 1), PixelRect(x: 3, y: 3, width: 5, height: 1),
                PixelRect(x: 0, y: 0, width: 1, height: 1), PixelRect(x: 0, y: 0, width: 1, height: 1),
            ])
        #expect(frames.map(\.info.disposal) == [.background, .previous, .keep, .keep])
        #expect(frames.map(\.info.duration.numerator) == [7, 0, 0, 65535])
        #expect(frames.allSatisfy { $0.info.duration.denominator == 100 && $0.info.blend == .over })
        #expect(frames.map(\.info.hasAlpha) == [true, false, false, false])
        #expect(frames.map(\.info.index) == [0, 1, 2, 3])
        #expect(frames[0].pixels == rgba([1, 2], transparent: 1))
        #expect(frames[1].pixels == rgba([1, 2, 3, 0, 1]))
        #expect(frames[3].pixels == [1, 2, 3, 255])
    }

    /// Heights around those where a pass is empty.
    @Test(arguments: 1...18) func `puts interlaced rows into place`(_ height: Int) throws {
        // Rows 0, 8, … then 4, 12, … then 2, 6, … then 1, 3, … (appendix E).
        let order =
            Array(stride(from: 0, to: height, by: 8)) + Array(stride(from: 4, to: height, by: 8))
            + Array(stride(from: 2, to: height, by: 4)) + Array(stride(from: 1, to: height, by: 2))
        var file = HandmadeGIF(1, height)
        file.frame(0, 0, 1, height, order.map { UInt8(($0 / 3 + $0) % 4) }, interlaced: true)
        file.end()
        #expect(try decode(file.bytes).frames[0].pixels == rgba((0..<height).map { UInt8(($0 / 3 + $0) % 4) }))
    }

    @Test(arguments: ["NETSCAPE2.0", "ANIMEXTS1.0"]) func `counts plays, not repetitions`(_ name: String) throws {
        for (stored, count) in [(0, LoopCount.infinite), (1, .plays(2)), (65535, .plays(65536))] {
            var file = HandmadeGIF(1, 1)
            file.loops(stored, name: name)
            file.frame(0, 0, 1, 1, [1])
            file.end()
            #expect(try decode(file.bytes).info.loopCount == count)
        }
    }

    @Test func `tells background and density`() throws {
        var file = HandmadeGIF(1, 1, aspect: 113, background: 3)
        file.frame(0, 0, 1, 1, [1])
        file.end()
        let info = try decode(file.bytes).info
        #expect(info.background == RGBAColor(red: 0, green: 0, blue: 255))
        // (113 + 15) ÷ 64: pixels twice as wide as high.
        #expect(info.density == .aspect(x: 64, y: 128))
    }

    @Test func `finds frames in any order`() throws {
        var file = HandmadeGIF(1, 1)
        for index in 0..<4 { file.frame(0, 0, 1, 1, [UInt8(index)]) }
        file.end()
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file.bytes)))
        _ = try decoder.readHeader()
        for index in [3, 0, 2, 2, 1] {
            #expect(try decoder.seek(toFrame: index) == index)
            let frame = try #require(try decoder.nextFrame())
            #expect(frame.index == index)
            #expect(try pixels(of: frame, decoder).pixels == rgba([UInt8(index)]))
        }
        #expect(throws: CoderError.self) { try decoder.seek(toFrame: 4) }
    }

    @Test func `hands out comments and XMP`() throws {
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

    @Test(arguments: Fixture.valid("gif"))
    func `gives the pixels that other decoders give`(_ fixture: Fixture) throws {
        let (info, frames) = try decode(fixture.bytes)
        let expected = try #require(fixture.expect)
        #expect(info.size == expected.size)
        if let count = expected.frameCount { #expect(info.frameCount == count && frames.count == count) }
        let theirs = try #require(second(fixture.bytes))
        #expect(frames.map(\.pixels) == theirs.map(\.pixels))
        #expect(frames.map(\.info.rect) == theirs.map(\.info.rect))
        #expect(frames.map(\.info.duration) == theirs.map(\.info.duration))
    }

    @Test(arguments: Fixture.bad("gif"))
    func `refuses what is damaged`(_ fixture: Fixture) throws {
        // The canvas is the host's to limit.
        if fixture.errors == ["limitExceeded"] { return }
        let code = try #require(failure(fixture.bytes))
        #expect(fixture.errors.contains(code.description))
    }
}

@Suite struct `GIF that is odd` {
    private static var file: HandmadeGIF {
        var file = HandmadeGIF(2, 2)
        file.frame(0, 0, 2, 2, [1, 2, 3, 1])
        return file
    }

    @Test func `may end without a trailer, and hold anything behind it`() throws {
        #expect(try decode(Self.file.bytes).frames.map(\.pixels) == [rgba([1, 2, 3, 1])])
        #expect(try decode(Self.file.bytes + [0x3B, 0x2C, 1, 2]).frames.count == 1)
        #expect(try decode(Self.file.bytes + [0, 0, 0x99]).frames.count == 1)
    }

    @Test func `may lack the terminator of its last data`() throws {
        #expect(try decode(Self.file.bytes.dropLast()).frames.map(\.pixels) == [rgba([1, 2, 3, 1])])
    }

    @Test func `may have no palette: black, white, then grays`() throws {
        var file = HandmadeGIF(2, 2, hasPalette: false)
        file.frame(0, 0, 2, 2, [0, 1, 2, 3])
        file.end()
        let pixels = try decode(file.bytes).frames[0].pixels
        #expect(pixels == [0, 0, 0, 255, 255, 255, 255, 255, 2, 2, 2, 255, 3, 3, 3, 255])
    }

    @Test func `may have fewer pixels than it says, or more`() throws {
        var short = HandmadeGIF(2, 2)
        short.frame(0, 0, 2, 2, [1, 2, 3])
        short.end()
        #expect(try decode(short.bytes).frames[0].pixels == rgba([1, 2, 3]) + [0, 0, 0, 0])
        var long = HandmadeGIF(2, 2)
        long.frame(0, 0, 2, 2, [1, 2, 3, 1, 2, 2])
        long.end()
        #expect(try decode(long.bytes).frames[0].pixels == rgba([1, 2, 3, 1]))
    }

    @Test func `may have frames without area`() throws {
        var file = HandmadeGIF(2, 2)
        file.frame(0, 0, 0, 2, [])
        file.frame(0, 0, 2, 2, [1, 2, 3, 1])
        file.end()
        let frames = try decode(file.bytes).frames
        #expect(frames.map(\.info.rect.isEmpty) == [true, false] && frames[1].pixels == rgba([1, 2, 3, 1]))
    }

    @Test func `is truncated where its first frame is, and keeps its pixels`() throws {
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
        #expect(firstRow(buffer) == rgba([1, 2]))
    }

    @Test func `reports whole frames, then that it is truncated`() throws {
        var file = Self.file
        file.frame(0, 0, 2, 2, [3, 3, 3, 3])
        let bytes = Array(file.bytes.dropLast(3))
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(bytes)))
        #expect(try decoder.readHeader().frameCount == 1)
        let frame = try #require(try decoder.nextFrame())
        #expect(try pixels(of: frame, decoder).pixels == rgba([1, 2, 3, 1]))
        #expect { try decoder.nextFrame() } throws: { ($0 as? CoderError)?.code == .truncated }
    }

    @Test func `is refused where it cannot be meant`() {
        #expect(failure(Array("GIF88a".utf8) + [1, 0, 1, 0, 0, 0, 0]) == .notMine)
        #expect(failure(HandmadeGIF(0, 1).bytes) == .corrupt)
        var empty = HandmadeGIF(1, 1)
        empty.end()
        #expect(failure(empty.bytes) == .corrupt)
        #expect(failure(HandmadeGIF(1, 1).bytes + [0x99]) == .corrupt)
        for size in [0, 12] as [UInt8] {
            var file = HandmadeGIF(1, 1)
            file.descriptor(0, 0, 1, 1)
            file.bytes += [size, 1, 0, 0, 0x3B]
            #expect(failure(file.bytes) == .corrupt)
        }
        var file = HandmadeGIF(2, 1)
        file.descriptor(0, 0, 2, 1)
        // 7 comes before there is such a code.
        file.bytes += [2] + HandmadeGIF.blocks(HandmadeGIF.packed([4, 1, 7])) + [0x3B]
        #expect(failure(file.bytes) == .corrupt)
    }

    @Test func `is bounded in frames and in their size`() throws {
        var file = HandmadeGIF(1, 1)
        for _ in 0..<3 { file.frame(0, 0, 1, 1, [1]) }
        file.end()
        var limits = DecodeLimits.default
        limits.maxFrames = 2
        #expect(failure(file.bytes, limits: limits) == .limitExceeded)
        var large = HandmadeGIF(1, 1)
        large.frame(0, 0, 60000, 60000, [1])
        #expect(failure(large.bytes) == .limitExceeded)
    }

    @Test func `never does harm when cut or changed`() throws {
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
            _ = failure(Array(file.bytes.prefix(offset)), limits: limits)
            for bit in 0..<8 {
                var changed = file.bytes
                changed[offset] ^= 1 << UInt8(bit)
                let ours = try? decode(changed, limits: limits).frames
                // What both take, both must take for the same; but a graphic control that is too long counts here, as
                // in browsers, and not there.
                if offset != controlSize, let ours, let theirs = second(changed), ours.count == theirs.count {
                    for (mine, other) in zip(ours, theirs) where mine.info.rect == other.info.rect {
                        #expect(mine.pixels == other.pixels, "byte \(offset), bit \(bit)")
                    }
                }
            }
        }
    }

    @Test func `waits for frames that have not arrived`() throws {
        var file = Self.file
        file.frame(0, 0, 2, 2, [3, 3, 3, 3])
        file.end()
        let source = ByteSource(file.bytes, arrived: 0)
        let decoder = try GIFDecoder(DecoderSession(source: source))
        var header: ImageInfo?
        var frames: [Frame] = []
        var isDone = false
        while !isDone {
            do {
                if header == nil { header = try decoder.readHeader() }
                if let frame = try decoder.nextFrame() {
                    frames.append(try pixels(of: frame, decoder))
                } else {
                    isDone = true
                }
            } catch let error as CoderError where error.code == .needsInput {
                try #require(!source.isComplete)
                source.arrive(1)
            }
        }
        #expect(header?.frameCount == nil && header?.size == PixelSize(2, 2))
        #expect(frames.map(\.pixels) == [rgba([1, 2, 3, 1]), rgba([3, 3, 3, 3])])
    }
}

/// The first row of a picture of two columns.
private func firstRow(_ buffer: PixelBuffer) -> [UInt8] { Array(bytes(buffer).prefix(8)) }

// MARK: Encoder

private struct Given {
    var pixels: [UInt8]
    var info: FrameInfo
}

private func encode(
    _ size: PixelSize, _ format: PixelFormat, _ frames: [Given], loops: LoopCount = .unknown,
    options: CoderOptions = [:], blobs: [MetadataBlob] = []
) throws -> [UInt8] {
    let encoder = try GIFEncoder(EncoderSession(options: options))
    let sink = ByteSink()
    var info = ImageInfo(size: size, nativeFormat: format)
    info.loopCount = loops
    info.frameCount = frames.count
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    for frame in frames {
        let buffer = try PixelBuffer(size: frame.info.rect.size, format: format)
        let stride = buffer.bytesPerRow
        for y in 0..<buffer.size.height {
            buffer.withMutableRow(y) { row in
                for x in 0..<stride {
                    row.storeBytes(of: frame.pixels[y * stride + x], toByteOffset: x, as: UInt8.self)
                }
            }
        }
        try encoder.add(frame.info, pixels: Surface(buffer))
    }
    try encoder.finish()
    return sink.written
}

/// Frames of the same size, drawn one over the other by the rules of disposal.
private func composited(_ frames: [Frame], _ size: PixelSize) -> [[UInt8]] {
    var canvas = [UInt8](repeating: 0, count: size.width * size.height * 4)
    return frames.map { frame in
        let before = canvas
        let rect = frame.info.rect
        func each(_ body: (Int, Int) -> Void) {
            for y in 0..<rect.height {
                for x in 0..<rect.width {
                    body((y * rect.width + x) * 4, ((rect.y + y) * size.width + rect.x + x) * 4)
                }
            }
        }
        each { from, to in
            if frame.pixels[from + 3] != 0 { canvas.replaceSubrange(to..<to + 4, with: frame.pixels[from..<from + 4]) }
        }
        defer {
            switch frame.info.disposal {
            case .keep: break
            case .background: each { _, to in canvas.replaceSubrange(to..<to + 4, with: [0, 0, 0, 0]) }
            case .previous: canvas = before
            }
        }
        return canvas
    }
}

@Suite struct `GIF encoder` {
    private static let canvas = PixelRect(x: 0, y: 0, width: 2, height: 2)

    @Test(arguments: [1, 2, 3, 5, 17, 200, 256])
    func `keeps up to 256 colours as they are`(_ count: Int) throws {
        let size = PixelSize(67, 41)
        let pixels = (0..<67 * 41).flatMap { index -> [UInt8] in
            let color = index * 7 % count
            return color == 3 ? [0, 0, 0, 0] : [UInt8(color), UInt8(255 - color), UInt8(color / 2), 255]
        }
        let bytes = try encode(
            size, .rgba8, [Given(pixels: pixels, info: FrameInfo(index: 0, rect: PixelRect(size)))])
        let (info, frames) = try decode(bytes)
        #expect(info.hasAlpha == (count > 3) && info.loopCount == .plays(1))
        #expect(frames.map(\.pixels) == [pixels])
        #expect(second(bytes)?.map(\.pixels) == [pixels])
    }

    /// Long enough for the table of codes to fill several times, and with runs for codes before they are known.
    @Test(arguments: [1, 2, 200]) func `packs pixels so that giflib unpacks them`(_ run: Int) throws {
        let size = PixelSize(300, 200)
        var state: UInt32 = 1
        let pixels = (0..<60000).map { index -> UInt8 in
            if index % run == 0 { state = state &* 1_664_525 &+ 1_013_904_223 }
            return UInt8(state >> 24)
        }
        let bytes = try encode(
            size, .gray8, [Given(pixels: pixels, info: FrameInfo(index: 0, rect: PixelRect(size)))])
        let expected = pixels.flatMap { gray -> [UInt8] in [gray, gray, gray, 255] }
        #expect(second(bytes)?.first?.pixels == expected)
        #expect(try decode(bytes).frames.first?.pixels == expected)
    }

    @Test func `makes 256 of many colours that stay close`() throws {
        let size = PixelSize(64, 64)
        let pixels = (0..<4096).flatMap { index -> [UInt8] in
            let (x, y) = (UInt8(index % 64), UInt8(index / 64))
            return [x * 4, y * 4, (x + y) * 2]
        }
        for isDithered in [true, false] {
            let bytes = try encode(
                size, .rgb8, [Given(pixels: pixels, info: FrameInfo(index: 0, rect: PixelRect(size)))],
                options: ["gif.dither": .bool(isDithered)])
            let got = try decode(bytes).frames[0].pixels
            var (total, drift) = (0, [0, 0, 0])
            for index in 0..<4096 {
                for channel in 0..<3 {
                    let difference = Int(got[index * 4 + channel]) - Int(pixels[index * 3 + channel])
                    total += abs(difference)
                    drift[channel] += difference
                }
            }
            // 256 colours over a plane of 64 × 64 steps: a cell is four steps of 4 wide, the mean distance about 4.
            #expect(total / (3 * 4096) <= 8)
            // Dithering moves errors about; it must not make the picture brighter or darker.
            #expect(drift.allSatisfy { abs($0) / 4096 <= 1 })
        }
    }

    @Test func `takes half transparent pixels for one or the other`() throws {
        let pixels: [UInt8] = [1, 2, 3, 128, 1, 2, 3, 127, 1, 2, 3, 255, 9, 9, 9, 0]
        let bytes = try encode(
            PixelSize(2, 2), .rgba8, [Given(pixels: pixels, info: FrameInfo(index: 0, rect: Self.canvas))])
        #expect(try decode(bytes).frames[0].pixels == [1, 2, 3, 255, 0, 0, 0, 0, 1, 2, 3, 255, 0, 0, 0, 0])
    }

    @Test(arguments: [LoopCount.infinite, .plays(1), .plays(2), .plays(65536)])
    func `gives back how often it is played`(_ count: LoopCount) throws {
        let frame = Given(pixels: [1, 2, 3], info: FrameInfo(index: 0, rect: PixelRect(PixelSize(1, 1))))
        #expect(try decode(encode(PixelSize(1, 1), .rgb8, [frame], loops: count)).info.loopCount == count)
    }

    @Test func `gives back frames, durations and disposal`() throws {
        let given = [
            Given(
                pixels: [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4],
                info: FrameInfo(index: 0, rect: Self.canvas, duration: .milliseconds(95), disposal: .keep)),
            Given(
                pixels: [4, 4, 4],
                info: FrameInfo(
                    index: 1, rect: PixelRect(x: 1, y: 0, width: 1, height: 1), duration: FrameDuration(1, over: 3),
                    blend: .over, disposal: .previous)),
            Given(
                pixels: [7, 8, 9],
                info: FrameInfo(
                    index: 2, rect: PixelRect(x: 0, y: 1, width: 1, height: 1), duration: .unknown, blend: .over,
                    disposal: .background)),
        ]
        let bytes = try encode(PixelSize(2, 2), .rgb8, given, loops: .infinite)
        let frames = try decode(bytes).frames
        #expect(frames.map(\.info.rect) == given.map(\.info.rect))
        #expect(frames.map(\.info.disposal) == [.keep, .previous, .background])
        // 9.5, 33.3 and no hundredths of a second
        #expect(frames.map(\.info.duration.numerator) == [10, 33, 0])
        #expect(frames[1].pixels == [4, 4, 4, 255] && frames[2].pixels == [7, 8, 9, 255])
        #expect(second(bytes)?.map(\.pixels) == frames.map(\.pixels))
    }

    @Test func `lets replacing frames show through where they have holes`() throws {
        let pictures: [[UInt8]] = [
            [1, 1, 1, 255, 2, 2, 2, 255, 3, 3, 3, 255, 0, 0, 0, 0],
            [0, 0, 0, 0, 5, 5, 5, 255, 0, 0, 0, 0, 6, 6, 6, 255],
            [7, 7, 7, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        ]
        let given = pictures.enumerated().map {
            Given(pixels: $0.element, info: FrameInfo(index: $0.offset, rect: Self.canvas, blend: .source))
        }
        let frames = try decode(encode(PixelSize(2, 2), .rgba8, given)).frames
        #expect(composited(frames, PixelSize(2, 2)) == pictures)
    }

    @Test func `carries comments and XMP`() throws {
        let blobs = [
            MetadataBlob(.xmp, Array("<x:xmpmeta>ž</x:xmpmeta>".utf8)),
            MetadataBlob(.text, [UInt8](repeating: 0x62, count: 700), key: "Comment"),
        ]
        let frame = Given(pixels: [1, 2, 3], info: FrameInfo(index: 0, rect: PixelRect(PixelSize(1, 1))))
        let bytes = try encode(PixelSize(1, 1), .rgb8, [frame], blobs: blobs)
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try decoder.readHeader()
        #expect(try decoder.metadata() == blobs)
        #expect(second(bytes)?.count == 1)
    }

    @Test func `refuses what GIF cannot hold`() throws {
        let large = ImageInfo(size: PixelSize(65536, 1), nativeFormat: .rgb8)
        #expect(throws: CoderError.self) { try GIFEncoder(EncoderSession()).begin(large, to: ByteSink()) }
        let encoder = try GIFEncoder(EncoderSession())
        let deep = ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgba16)
        #expect(try encoder.acceptedFormats(for: deep) == [.rgba8])
        try encoder.begin(ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgb8), to: ByteSink())
        #expect(try !encoder.add(MetadataBlob(.icc, [1])))
        #expect(throws: CoderError.self) { try encoder.finish() }
    }
}
