import CoderPluginKit

/// The next bits of a scan.
///
/// A loop copies the window of its reader, so that the bits stay in registers.
struct BitWindow {
    /// The bits, from the highest on.
    fileprivate var bits: UInt64 = 0
    fileprivate var count = 0

    /// Removes 0 to 16 bits.
    @inline(__always)
    private mutating func drop(_ length: Int) {
        bits &<<= UInt64(truncatingIfNeeded: length)
        count &-= length
    }

    /// Reads 1 to 16 bits behind a code, which are available without another read.
    @inline(__always)
    mutating func rest(_ length: Int) -> Int {
        let value = Int(truncatingIfNeeded: bits &>> UInt64(truncatingIfNeeded: 64 &- length))
        drop(length)
        return value
    }

    /// Reads the bits of a signed number behind its code.
    ///
    /// - Source: ITU-T T.81 figure F.12.
    @inline(__always)
    mutating func signed(_ length: Int) -> Int {
        // A number that begins with 0 is negative.
        let sign = Int(truncatingIfNeeded: ~Int64(bitPattern: bits) &>> 63)
        return rest(length) &+ (sign & (1 &- 1 &<< length))
    }

    /// The entry of a table for the next bits.
    @inline(__always)
    fileprivate mutating func short(_ table: HuffmanTable) -> UInt16 {
        let entry = table.short[Int(truncatingIfNeeded: bits &>> UInt64(64 - HuffmanTable.shortBits))]
        drop(Int(entry & 0xFF))
        return entry
    }

    @inline(__always)
    fileprivate mutating func whole(_ table: HuffmanTable) -> Int16 {
        let entry = table.whole[Int(truncatingIfNeeded: bits &>> UInt64(64 - HuffmanTable.shortBits))]
        drop(Int(entry & 15))
        return entry
    }

    fileprivate mutating func long(_ table: HuffmanTable) -> Int? {
        guard let found = table.long(Int(bits >> 48)) else { return nil }
        drop(found.length)
        return Int(found.symbol)
    }
}

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
    var window = BitWindow()
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
    private mutating func fill(_ window: inout BitWindow) {
        if window.count > 32 { return }
        if next &+ 4 <= chunk.count {
            let word =
                UInt32(chunk[next]) << 24 | UInt32(chunk[next &+ 1]) << 16 | UInt32(chunk[next &+ 2]) << 8
                | UInt32(chunk[next &+ 3])
            // Whether no byte is FF.
            if (~word &- 0x0101_0101) & word & 0x8080_8080 == 0 {
                window.bits |= UInt64(word) &<< UInt64(truncatingIfNeeded: 32 &- window.count)
                window.count &+= 32
                next &+= 4
                return
            }
        }
        window = filled(window)
    }

    /// Adds bytes one by one.
    @inline(never)
    private mutating func filled(_ window: BitWindow) -> BitWindow {
        var window = window
        while window.count <= 56 {
            var byte: UInt8 = 0
            if let value = peek(0), value != 0xFF || peek(1) == 0 {
                byte = value
                next += value == 0xFF ? 2 : 1
            } else {
                added += 8
            }
            window.bits |= UInt64(byte) << UInt64(56 - window.count)
            window.count += 8
        }
        return window
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
    mutating func symbol(_ table: HuffmanTable, _ window: inout BitWindow) -> Int {
        fill(&window)
        let entry = window.short(table)
        if entry != 0 { return Int(entry &>> 8) }
        let (symbol, rest) = longSymbol(table, window)
        window = rest
        return symbol
    }

    /// Reads a code and its number, if both are short: `value << 8 | run << 4`; otherwise returns 0 and reads nothing.
    @inline(__always)
    mutating func whole(_ table: HuffmanTable, _ window: inout BitWindow) -> Int16 {
        fill(&window)
        return window.whole(table)
    }

    @inline(never)
    private mutating func longSymbol(_ table: HuffmanTable, _ window: BitWindow) -> (Int, BitWindow) {
        var window = window
        guard let symbol = window.long(table) else {
            fail("an undefined code")
            return (0, window)
        }
        return (symbol, window)
    }

    /// Reads one bit.
    @inline(__always)
    mutating func bit(_ window: inout BitWindow) -> Bool {
        fill(&window)
        return window.rest(1) != 0
    }

    /// Records damage that a caller found.
    mutating func fail(_ message: String) { failure = failure ?? .corrupt(message, at: offset) }

    /// - Throws: `.corrupt`, `.truncated`, `.inputOutput`.
    mutating func check() throws(CoderError) {
        if let failure, failure.code != .corrupt { throw failure }
        if window.count < added {
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
        (window, added) = (BitWindow(), 0)
    }
}
