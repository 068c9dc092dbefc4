import CoderPluginKit
import GIFCodec
import ImageModel
import TestSupport
import Testing

/// The results of a file that arrived piece by piece.
private struct Progress: Equatable {
    var frames: [FrameInfo] = []
    /// The pixels of complete frames, and last of the incomplete one.
    var pixels: [[UInt8]] = []
    var failure: CoderError.Code?
    /// Rows of the first frame that were reported as changed, call by call.
    var changes: [PixelRect] = []
    /// The bytes available when a frame was reported, and when it was complete.
    var told: [Int] = []
    var done: [Int] = []

    static func == (a: Progress, b: Progress) -> Bool {
        a.frames == b.frames && a.pixels == b.pixels && a.failure == b.failure
    }
}

/// Decodes a growing source; repeats every call that needs more input.
private final class Arrival {
    let source: ByteSource
    private let decoder: GIFDecoder
    private let wantsPartial: Bool
    private var hasHeader = false
    private var current: (frame: FrameInfo, buffer: PixelBuffer)?
    private(set) var result = Progress()

    init(_ file: [UInt8], wantsPartial: Bool, limits: DecodeLimits) throws {
        source = ByteSource(file, arrived: 0)
        decoder = try GIFDecoder(DecoderSession(source: source, limits: limits))
        self.wantsPartial = wantsPartial
    }

    /// Takes the next step; false behind the last frame.
    func step() throws(CoderError) -> Bool {
        if !hasHeader {
            _ = try decoder.readHeader()
            hasHeader = true
        }
        if let current {
            try decode(current.frame, current.buffer)
            return true
        }
        guard let frame = try decoder.nextFrame() else { return false }
        #expect(frame.index == result.frames.count)
        result.frames.append(frame)
        result.told.append(source.available)
        if frame.rect.isEmpty {
            finish([])
        } else {
            current = (frame, try PixelBuffer(size: frame.rect.size, format: .rgba8))
        }
        return true
    }

    private func decode(_ frame: FrameInfo, _ buffer: PixelBuffer) throws(CoderError) {
        let outcome = try decoder.decode(DecodeRequest(wantsPartial: wantsPartial), into: Surface(buffer))
        guard case .partial(let rect) = outcome else { return finish(bytesOfRows(buffer)) }
        #expect(frame.index == 0 && wantsPartial && !rect.isEmpty && PixelRect(buffer.size).contains(rect))
        result.changes.append(rect)
        if !source.isComplete { throw .needsInput }
    }

    private func finish(_ pixels: [UInt8]) {
        result.pixels.append(pixels)
        result.done.append(source.available)
        current = nil
    }

    func fail(_ code: CoderError.Code) {
        result.failure = code
        if let current { result.pixels.append(bytesOfRows(current.buffer)) }
    }
}

/// Decodes while `chunk` returns how many bytes arrive next.
private func progress(
    of file: [UInt8], wantsPartial: Bool = true, limits: DecodeLimits = .default, chunk: () -> Int
) throws -> Progress {
    let arrival = try Arrival(file, wantsPartial: wantsPartial, limits: limits)
    let source = arrival.source
    while true {
        do {
            if try !arrival.step() { return arrival.result }
        } catch {
            guard error.code == .needsInput else {
                arrival.fail(error.code)
                return arrival.result
            }
            try #require(!source.isComplete)
            let count = chunk()
            source.arrive(source.available + count < file.count ? count : nil)
        }
    }
}

private func atOnce(_ file: [UInt8], wantsPartial: Bool = true) throws -> Progress {
    try progress(of: file, wantsPartial: wantsPartial) { file.count }
}

private let handmade: [UInt8] = {
    var file = HandmadeGIF(3, 9)
    file.loops(2)
    file.control(delay: 3, disposal: 2, transparent: 1)
    file.frame(0, 0, 3, 9, (0..<27).map { UInt8($0 * 5 % 4) }, interlaced: true)
    file.bytes += [0x21, 0xFE, 2, 65, 66, 0]
    file.frame(1, 1, 2, 2, [3, 2, 1, 0], palette: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    file.frame(0, 0, 0, 2, [])
    file.control(delay: 9, disposal: 3)
    file.frame(0, 0, 1, 1, [2])
    file.end()
    return file.bytes
}()

private let files: [[UInt8]] =
    [handmade, randomGIF(seed: 7, largest: 20, frames: 3)]
    + ["images/f.gif", "images/three-frames.gif"].compactMap { name in
        Fixture.valid("gif").first { $0.name == name }?.bytes
    }

@Suite struct `GIF from a growing source` {
    @Test(arguments: files) func `has the same result byte by byte and at once`(_ file: [UInt8]) throws {
        let whole = try atOnce(file)
        #expect(whole.failure == nil && whole.frames.count == whole.pixels.count)
        #expect(try decodeGIF(file).frames.map(\.pixels) == whole.pixels)
        #expect(try progress(of: file) { 1 } == whole)
        #expect(try progress(of: file, wantsPartial: false) { 1 } == whole)
        for seed in 0..<20 {
            var random = SeededGenerator(seed: seed)
            #expect(try progress(of: file) { Int.random(in: 1...97, using: &random) } == whole, "seed \(seed)")
        }
    }

    @Test(arguments: files) func `that stops at any byte keeps all earlier results`(_ file: [UInt8]) throws {
        let whole = try progress(of: file) { 1 }
        for count in 0..<file.count {
            let part = Array(file.prefix(count))
            let cut = try atOnce(part)
            var random = SeededGenerator(seed: count)
            #expect(try progress(of: part) { Int.random(in: 1...31, using: &random) } == cut, "\(count) bytes")
            // Everything reported or complete with fewer bytes is so with these bytes, too.
            let complete = whole.done.filter { $0 < count }.count
            #expect(cut.frames.starts(with: whole.frames.prefix(complete)), "\(count) bytes")
            #expect(Array(cut.pixels.prefix(complete)) == Array(whole.pixels.prefix(complete)), "\(count) bytes")
            #expect(cut.frames.elementsEqual(whole.frames.prefix(cut.frames.count)), "\(count) bytes")
            if complete < whole.frames.count { #expect(cut.failure != nil || cut.frames.count >= complete) }
        }
    }

    @Test func `reports its first frame before its pixels, others when they are complete`() throws {
        let result = try progress(of: handmade) { 1 }
        // 13 and 12 of the screen, 19 of the loop, 8 of the control, 10 of the descriptor and the code size.
        #expect(result.told[0] == 13 + 12 + 19 + 8 + 11)
        let whole = try decodeGIF(handmade)
        #expect(whole.frames.count == 4)
        for index in 1..<4 { #expect(result.done[index] == result.told[index]) }
        // 27 pixels in 41 and a half codes of 3 bits are in 16 bytes; the end and its terminator are not needed.
        #expect(result.done[0] < result.told[1])
    }

    @Test func `delivers rows as they arrive`() throws {
        var file = HandmadeGIF(2, 5)
        file.frame(0, 0, 2, 5, [0, 1, 1, 2, 2, 3, 3, 0, 0, 1])
        file.end()
        let rows = try progress(of: file.bytes) { 1 }.changes
        #expect(rows.count > 1 && rows.allSatisfy { $0.width == 2 && $0.x == 0 })
        // No row is painted again, except a partial one.
        for (above, below) in zip(rows, rows.dropFirst()) { #expect(below.y >= above.y + above.height - 1) }
    }

    @Test func `is coarse at first if interlaced`() throws {
        let colors = (0..<16).map { UInt8($0 % 3 + 1) }
        // Rows 0, 8, then 4, 12, then 2, 6, …
        let order = [0, 8, 4, 12, 2, 6, 10, 14, 1, 3, 5, 7, 9, 11, 13, 15]
        var file = HandmadeGIF(1, 16)
        file.frame(0, 0, 1, 16, order.map { colors[$0] }, interlaced: true)
        file.end()
        let source = ByteSource(file.bytes, arrived: 0)
        let decoder = try GIFDecoder(DecoderSession(source: source))
        // Up to the second byte of the data: 4, 1, 2 … are codes of 3 bits, three pixels in four and a half codes.
        source.arrive(25 + 10 + 2 + 2)
        _ = try decoder.readHeader()
        _ = try decoder.nextFrame()
        let buffer = try PixelBuffer(size: PixelSize(1, 16), format: .rgba8)
        let request = DecodeRequest(wantsPartial: true)
        #expect(
            try decoder.decode(request, into: Surface(buffer)) == .partial(PixelRect(x: 0, y: 0, width: 1, height: 16)))
        let coarse = (0..<16).map { colors[$0 < 4 ? 0 : $0 < 8 ? 4 : 8] }
        #expect(bytesOfRows(buffer) == handmadeRGBA(coarse))
        source.arrive()
        #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
        #expect(bytesOfRows(buffer) == handmadeRGBA(colors))
    }

    @Test func `restarts in another surface, and after a jump`() throws {
        let source = ByteSource(handmade, arrived: 0)
        let decoder = try GIFDecoder(DecoderSession(source: source))
        source.arrive(13 + 12 + 19 + 8 + 11 + 8)
        _ = try decoder.readHeader()
        _ = try decoder.nextFrame()
        let buffers = try (0..<2).map { _ in try PixelBuffer(size: PixelSize(3, 9), format: .rgba8) }
        for buffer in buffers {
            #expect(try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(buffer)) != .complete)
        }
        #expect(bytesOfRows(buffers[0]) == bytesOfRows(buffers[1]))
        source.arrive()
        #expect(try decoder.seek(toFrame: 0) == 0)
        _ = try decoder.nextFrame()
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffers[0])) == .complete)
        #expect(bytesOfRows(buffers[0]) == (try decodeGIF(handmade).frames[0].pixels))
    }

    @Test func `keeps the frame limit`() throws {
        var limits = DecodeLimits.default
        limits.maxFrames = 2
        let result = try progress(of: handmade, limits: limits) { 1 }
        #expect(result.frames.count == 2 && result.failure == .limitExceeded)
    }

    /// Long enough for a walk in several pieces, which end anywhere in a block.
    @Test func `continues its walk where it ended`() throws {
        var random = SeededGenerator(seed: 1)
        var file = HandmadeGIF(1, 1)
        file.bytes += [0x21, 0xFE]
        for _ in 0..<2000 {
            let block = (0..<Int.random(in: 1...255, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
            file.bytes += [UInt8(block.count)] + block
        }
        file.bytes.append(0)
        file.frame(0, 0, 1, 1, [1])
        file.end()
        #expect(try decodeGIF(file.bytes).frames.map(\.pixels) == [handmadeRGBA([1])])
        #expect(try progress(of: file.bytes) { Int.random(in: 1...997, using: &random) }.pixels == [handmadeRGBA([1])])
    }

    @Test(arguments: [2, 3])
    func `keeps the pixels below missing pixels of a frame that replaces a part of the canvas`(width: Int) throws {
        var file = HandmadeGIF(width, 1)
        file.frame(0, 0, 2, 1, [1, 2])
        file.frame(0, 0, 2, 1, [3])
        file.control(delay: 1, transparent: 0)
        file.frame(0, 0, 2, 1, [3])
        file.end()
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file.bytes)))
        _ = try decoder.readHeader()
        let canvas = try PixelBuffer(size: PixelSize(2, 1), format: .rgba8)
        var blends: [Blend] = []
        var seen: [[UInt8]] = []
        while let frame = try decoder.nextFrame() {
            blends.append(frame.blend)
            _ = try decoder.decode(DecodeRequest(), into: Surface(canvas))
            seen.append(bytesOfRows(canvas))
        }
        #expect(blends == [.source, .source, .over])
        // A frame that replaces the whole canvas does not depend on the pixels below it: missing pixels are black.
        let second = width == 2 ? handmadeRGBA([3]) + [0, 0, 0, 255] : handmadeRGBA([3, 2])
        #expect(seen == [handmadeRGBA([1, 2]), second, handmadeRGBA([3]) + [0, 0, 0, 0]])
    }
}
