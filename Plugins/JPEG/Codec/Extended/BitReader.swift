import CoderPluginKit

/// Reads the bits of a scan; behind its end come zeros.
///
/// Calls do not throw, so that they are short: ``check()`` reports damage after a row of blocks.
///
/// - Source: ITU-T T.81 F.2.2.5.
struct BitReader {
    private let source: JPEGSource
    private var chunk: [UInt8] = []
    /// The next byte in the chunk.
    private var next = 0
    /// The position behind the chunk in the file.
    private var end: Int
    /// The bits that were read, from the highest on.
    private var bits: UInt64 = 0
    private var count = 0
    /// The zeros added behind the end of the data.
    private var added = 0
    private var failure: CoderError?

    init(_ source: JPEGSource, at offset: Int) {
        self.source = source
        end = offset
    }

    /// The position of the next byte.
    var offset: Int { end - chunk.count + next }

    /// Makes at least 32 bits available.
    @inline(__always)
    private mutating func fill() {
        if count > 32 { return }
        if next + 4 <= chunk.count {
            let word =
                UInt32(chunk[next]) << 24 | UInt32(chunk[next + 1]) << 16 | UInt32(chunk[next + 2]) << 8
                | UInt32(chunk[next + 3])
            // Whether no byte is FF.
            if (~word &- 0x0101_0101) & word & 0x8080_8080 == 0 {
                bits |= UInt64(word) << UInt64(32 - count)
                count += 32
                next += 4
                return
            }
        }
        fillSlowly()
    }

    @inline(never)
    private mutating func fillSlowly() {
        while count <= 56 {
            var byte: UInt8 = 0
            if let value = peek(0), value != 0xFF || peek(1) == 0 {
                byte = value
                next += value == 0xFF ? 2 : 1
            } else {
                added += 8
            }
            bits |= UInt64(byte) << UInt64(56 - count)
            count += 8
        }
    }

    /// The byte at a distance from the next one; nil behind the end of the file.
    private mutating func peek(_ distance: Int) -> UInt8? {
        if next + distance >= chunk.count {
            let start = offset
            let range = start..<min(source.count, start + JPEGSource.windowCount)
            guard distance < range.count, failure == nil else { return nil }
            do throws(CoderError) {
                chunk = try source.bytes(range)
            } catch {
                failure = error
                return nil
            }
            next = 0
            end = range.upperBound
        }
        return chunk[next + distance]
    }

    /// Reads one code; an undefined one counts as damage.
    @inline(__always)
    mutating func symbol(_ table: HuffmanTable) -> Int {
        fill()
        let entry = table.short[Int(truncatingIfNeeded: bits >> UInt64(64 - HuffmanTable.shortBits))]
        if entry != 0 {
            drop(Int(entry & 0xFF))
            return Int(entry >> 8)
        }
        return longSymbol(table)
    }

    @inline(never)
    private mutating func longSymbol(_ table: HuffmanTable) -> Int {
        guard let found = table.long(Int(bits >> 48)) else {
            failure = failure ?? .corrupt("an undefined code", at: offset)
            return 0
        }
        drop(found.length)
        return Int(found.symbol)
    }

    @inline(__always)
    private mutating func drop(_ length: Int) {
        bits <<= UInt64(truncatingIfNeeded: length)
        count -= length
    }

    /// Reads 1 to 16 bits behind a code, which are available without another read.
    @inline(__always)
    mutating func rest(_ length: Int) -> Int {
        let value = Int(truncatingIfNeeded: bits >> UInt64(truncatingIfNeeded: 64 - length))
        drop(length)
        return value
    }

    /// Reads the bits of a signed number behind its code.
    ///
    /// - Source: ITU-T T.81 figure F.12.
    @inline(__always)
    mutating func signed(_ length: Int) -> Int {
        let value = rest(length)
        return value < 1 << (length - 1) ? value - (1 << length) + 1 : value
    }

    /// Reads one bit.
    @inline(__always)
    mutating func bit() -> Bool {
        fill()
        return rest(1) != 0
    }

    /// Reads 1 to 16 bits.
    mutating func number(_ length: Int) -> Int {
        fill()
        return rest(length)
    }

    /// Records damage that a caller found.
    mutating func fail(_ message: String) { failure = failure ?? .corrupt(message, at: offset) }

    /// - Throws: `.corrupt`, `.truncated`, `.inputOutput`.
    mutating func check() throws(CoderError) {
        if let failure, failure.code != .corrupt { throw failure }
        if count < added {
            throw offset + 1 >= source.count ? .truncated() : .corrupt("the data of a scan end too early", at: offset)
        }
        if let failure { throw failure }
    }

    /// Continues behind a restart marker.
    ///
    /// - Throws: `.corrupt`, `.truncated`, `.inputOutput`.
    mutating func restart(_ number: Int) throws(CoderError) {
        try check()
        // Fill bytes may precede a marker (T.81, B.1.1.2).
        while peek(0) == 0xFF, peek(1) == 0xFF { next += 1 }
        guard peek(0) == 0xFF, let marker = peek(1), marker == 0xD0 + UInt8(number & 7) else {
            try check()
            throw peek(1) == nil ? .truncated() : .corrupt("a restart marker is missing", at: offset)
        }
        next += 2
        (bits, count, added) = (0, 0, 0)
    }
}
