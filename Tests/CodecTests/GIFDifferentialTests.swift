import CoderPluginKit
import GIFCodec
import Glibc
import ImageModel
import TestSupport
import Testing

/// A seeded generator, so that a failure can be reproduced (xorshift64*, Vigna 2016).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

/// Random codes among the defined ones, and their packed bits.
///
/// Tracks only string lengths, no pixels: the decoders produce the pixels.
struct RandomCodes {
    enum Taste: CaseIterable {
        case any, literals, newest, own
    }

    var minimumSize: Int
    var taste: Taste
    /// The probability of a clear code in percent; values above the range never clear.
    var clears: Int
    var clearsWhenFull: Bool
    var startsClear: Bool
    var ends: Bool

    private(set) var bytes: [UInt8] = []
    private var bits = 0
    private var bitCount = 0
    private var size = 0
    private var lengths: [Int] = []
    private var last: Int?

    init(using random: inout SeededGenerator) {
        minimumSize = Int.random(in: 1...8, using: &random)
        taste = Taste.allCases.randomElement(using: &random)!
        clears = random.chance(50) ? 0 : Int.random(in: 0...3, using: &random)
        clearsWhenFull = random.chance(50)
        startsClear = random.chance(90)
        ends = random.chance(90)
    }

    private var clearCode: Int { 1 << minimumSize }

    /// Codes for exactly `count` pixels, as data blocks of random lengths.
    mutating func blocks(_ count: Int, using random: inout SeededGenerator) -> [UInt8] {
        reset()
        if startsClear { put(clearCode) }
        var left = count
        while left > 0 {
            if last != nil, random.chance(clears) || clearsWhenFull && lengths.count == 4096 {
                put(clearCode)
                reset()
            }
            var code = Int.random(in: 0..<clearCode, using: &random)
            if let last, lengths.count > clearCode + 2 || lengths.count < 4096 {
                let drawn = draw(using: &random)
                // A code of the size after next is the last string and its first pixel.
                let length = drawn == lengths.count ? lengths[last] + 1 : lengths[drawn]
                if length > 0, length <= left { code = drawn }
            }
            put(code)
            if let last, lengths.count < 4096 { lengths.append(lengths[last] + 1) }
            left -= lengths[code]
            last = code
            if lengths.count == 1 << size, size < 12 { size += 1 }
        }
        if ends { put(clearCode + 1) }
        if bitCount > 0 { bytes.append(UInt8(bits & 0xFF)) }
        var result: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let block = rest.prefix(random.chance(70) ? 255 : Int.random(in: 1...255, using: &random))
            result += [UInt8(block.count)] + block
            rest = rest.dropFirst(block.count)
        }
        return result + [0]
    }

    private func draw(using random: inout SeededGenerator) -> Int {
        let behind = lengths.count < 4096 ? lengths.count : lengths.count - 1
        switch taste {
        case .any: return Int.random(in: 0...behind, using: &random)
        case .literals: return Int.random(in: 0..<clearCode, using: &random)
        case .newest: return Int.random(in: max(0, behind - 8)...behind, using: &random)
        case .own: return random.chance(95) ? behind : Int.random(in: 0...behind, using: &random)
        }
    }

    private mutating func reset() {
        size = minimumSize + 1
        // The clear code and the end code produce no pixel.
        lengths = [Int](repeating: 1, count: clearCode) + [0, 0]
        last = nil
    }

    private mutating func put(_ code: Int) {
        bits |= code << bitCount
        bitCount += size
        while bitCount >= 8 {
            bytes.append(UInt8(bits & 0xFF))
            bits >>= 8
            bitCount -= 8
        }
    }
}

/// A file of random streams; every color is unique, so that equal pixels are equal indices.
func randomGIF(seed: Int, largest: Int, frames: Int = 1) -> [UInt8] {
    var random = SeededGenerator(seed: seed)
    let colors = (0..<256).flatMap { [UInt8($0), UInt8(255 - $0), UInt8($0 / 2)] }
    var bytes = Array("GIF89a".utf8) + le16(largest) + le16(largest) + [0xF7, 0, 0] + colors
    for _ in 0..<frames {
        let width = Int.random(in: 1...largest, using: &random)
        let height = Int.random(in: 1...largest, using: &random)
        if random.chance(50) {
            let transparent = random.chance(50) ? [1, 5, 0, UInt8.random(in: 0...255, using: &random)] : [0, 5, 0, 0]
            bytes += [0x21, 0xF9, 4] + transparent + [0]
        }
        // A local palette may be too short for some indices.
        let bits = random.chance(30) ? Int.random(in: 1...8, using: &random) : nil
        let flags = (random.chance(40) ? 0x40 : 0) | (bits.map { 0x80 | $0 - 1 } ?? 0)
        bytes += [0x2C, 0, 0, 0, 0] + le16(width) + le16(height) + [UInt8(flags)]
        if let bits { bytes += colors.suffix(3 << bits) }
        var codes = RandomCodes(using: &random)
        bytes += [UInt8(codes.minimumSize)] + codes.blocks(width * height, using: &random)
    }
    return bytes + [0x3B]
}

@Suite struct `GIF against giflib` {
    private func compare(_ file: [UInt8], _ name: Comment) throws {
        let theirs = try #require(giflibFrames(file), name)
        let ours = try decodeGIF(file).frames
        #expect(ours.map(\.info.rect) == theirs.map(\.info.rect), name)
        #expect(ours.map(\.pixels) == theirs.map(\.pixels), name)
    }

    @Test(arguments: 0..<20) func `unpacks any sequence of codes to the same indices`(_ group: Int) throws {
        for seed in group * 120..<(group + 1) * 120 { try compare(randomGIF(seed: seed, largest: 40), "seed \(seed)") }
    }

    /// Enough pixels for full tables, for clear codes behind them, and for more than a cache.
    @Test(arguments: 10_000..<10_040) func `unpacks long sequences of codes to the same indices`(_ seed: Int) throws {
        try compare(randomGIF(seed: seed, largest: 400), "seed \(seed)")
    }

    @Test func `unpacks one frame after another`() throws {
        for seed in 20_000..<20_020 { try compare(randomGIF(seed: seed, largest: 60, frames: 8), "seed \(seed)") }
    }

    /// The longest possible strings, 4094 of them, and a full table behind: at least 4094 · 4095 ÷ 2 pixels.
    @Test func `keeps eight million pixels of strings`() throws {
        var bits: [UInt8] = []
        var (word, count, size) = (4, 3, 3)
        func flush() {
            while count >= 8 {
                bits.append(UInt8(word & 0xFF))
                word >>= 8
                count -= 8
            }
        }
        // Clear, 1, then every code as soon as it is defined: 1, 11, 111, …
        for code in [1] + Array(6...4095) + [4095, 4000] {
            word |= code << count
            count += size
            flush()
            if code >= 6, code + 1 == 1 << size, size < 12 { size += 1 }
        }
        word |= 5 << count
        count += size + 7
        flush()
        let side = 2895
        var file = HandmadeGIF(side, side)
        file.descriptor(0, 0, side, side)
        file.bytes += [2] + HandmadeGIF.blocks(bits) + [0x3B]
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(file.bytes)))
        _ = try decoder.readHeader()
        _ = try decoder.nextFrame()
        let buffer = try PixelBuffer(size: PixelSize(side, side), format: .rgba8)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        // 4091 strings of 1 … 4091 pixels, then the last again and one of 3996.
        let painted = 4091 * 4092 / 2 + 4091 + 3996
        let red = handmadeRGBA([UInt8](repeating: 1, count: side))
        var equal = 0
        for y in 0..<side {
            equal += buffer.withRow(y) { row in
                unsafe row.withUnsafeBytes { unsafe memcmp($0.baseAddress!, red, red.count) == 0 ? 1 : 0 }
            }
        }
        #expect(equal == painted / side)
        let last = buffer.withRow(painted / side) { row in (0..<row.byteCount).map { row.byte(at: $0) } }
        let black = [[UInt8]](repeating: [0, 0, 0, 255], count: side - painted % side).flatMap { $0 }
        #expect(last.elementsEqual(red.prefix(4 * (painted % side)) + black))
    }

    // MARK: Third-party files

    private static let corpus = ["\(Repository.root)/../shared/corpus", "\(Repository.root)/../../shared/corpus"]
        .first { readFile("\($0)/manifest.tsv") != nil }

    /// Third-party images; skipped if they are missing.
    @Test(.enabled(if: corpus != nil, "there is no ../shared/corpus"))
    func `decodes third-party files like giflib`() throws {
        let folder = try #require(Self.corpus)
        let lines = String(decoding: try #require(readFile("\(folder)/manifest.tsv")), as: UTF8.self)
        var compared = 0
        for line in lines.split(separator: "\n") {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard fields.count > 3, fields[3] == "gif", let file = readFile("\(folder)/open/\(fields[0])"),
                let theirs = giflibFrames(file), let ours = try? decodeGIF(file).frames
            else { continue }
            let name = Comment(rawValue: String(fields[0]))
            compared += 1
            #expect(ours.map(\.info.rect) == theirs.map(\.info.rect), name)
            for (mine, other) in zip(ours, theirs) where mine.pixels != other.pixels {
                Issue.record("\(fields[0]), frame \(mine.info.index)")
            }
        }
        #expect(compared > 50)
    }

    // MARK: Files that giflib refuses

    private static func file(_ data: [UInt8], hasPalette: Bool = true, ends: Bool = true) -> [UInt8] {
        var file = HandmadeGIF(2, 2, hasPalette: hasPalette)
        file.descriptor(0, 0, 2, 2)
        return file.bytes + data + (ends ? [0x3B] : [])
    }

    @Test(arguments: 9...11) func `accepts codes that begin wider than a pixel`(_ size: Int) throws {
        // Clear, 1, 2, 3, 0, end.
        var (word, count) = (0, 0)
        for code in [1 << size, 1, 2, 3, 0, 1 << size + 1] {
            word |= code << count
            count += size + 1
            if count > 48 { break }
        }
        // Five codes of at most 12 bits fit one word; the end code may be missing.
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: UInt64(bitPattern: Int64(word)) >> UInt64(8 * $0)) }
        let file = Self.file([UInt8(size)] + HandmadeGIF.blocks(bytes))
        #expect(giflibFrames(file) == nil)
        #expect(try decodeGIF(file).frames.map(\.pixels) == [handmadeRGBA([1, 2, 3, 0])])
    }

    @Test func `accepts images without colors`() throws {
        let file = Self.file(HandmadeGIF.data([0, 1, 2, 3]), hasPalette: false)
        #expect(giflibFrames(file) == nil)
        #expect(try decodeGIF(file).frames.count == 1)
    }

    @Test func `accepts files without a trailer, and data without an end`() throws {
        let file = Self.file(HandmadeGIF.data([0, 1, 2, 3]), ends: false)
        #expect(giflibFrames(file) == nil)
        #expect(try decodeGIF(file).frames.map(\.pixels) == [handmadeRGBA([0, 1, 2, 3])])
        let cut = file.dropLast()
        #expect(giflibFrames(Array(cut)) == nil)
        #expect(try decodeGIF(Array(cut)).frames.map(\.pixels) == [handmadeRGBA([0, 1, 2, 3])])
    }

    @Test func `accepts images with too few pixels`() throws {
        for ends in [true, false] {
            let file = Self.file(HandmadeGIF.data([1, 2, 3], ends: ends))
            #expect(giflibFrames(file) == nil)
            #expect(try decodeGIF(file).frames.map(\.pixels) == [handmadeRGBA([1, 2, 3]) + [0, 0, 0, 255]])
        }
    }

    @Test func `needs no end code if all pixels are there`() throws {
        let file = Self.file(HandmadeGIF.data([1, 2, 3, 1], ends: false))
        #expect(try decodeGIF(file).frames.map(\.pixels) == [handmadeRGBA([1, 2, 3, 1])])
        #expect(giflibFrames(file)?.map(\.pixels) == [handmadeRGBA([1, 2, 3, 1])])
    }

    /// giflib accepts codes that begin with one bit, which no image needs; other decoders refuse them.
    @Test func `refuses an invalid code size`() {
        #expect(gifFailure(Self.file([0] + HandmadeGIF.blocks([0x51, 0]))) == .corrupt)
    }
}
