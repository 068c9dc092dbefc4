import CoderPluginKit

/// The coefficients of blocks of 8 x 8 samples.
///
/// - Source: ITU-T T.81 F.2.2 (sequential), G.1.2 (progressive).
extension ScanDecoder {
    /// Reads all coefficients of a block, which are 0.
    @inline(__always)
    mutating func sequentialBlock(
        _ part: Int, _ dc: HuffmanTable, _ ac: HuffmanTable, _ zigzag: Span<UInt8>,
        _ block: inout MutableSpan<Int16>, at start: Int
    ) {
        var window = reader.window
        defer { reader.window = window }
        block[start] = readMean(part, dc, &window)
        var index = 1
        while index < 64 {
            let whole = reader.whole(ac, &window)
            if whole != 0 {
                index += Int(whole >> 4 & 15)
                guard index < 64 else {
                    index = 65
                    break
                }
                block[start + Int(zigzag[index])] = whole >> 8
                index += 1
                continue
            }
            let code = reader.symbol(ac, &window)
            let length = code & 15
            if length == 0 {
                if code != 0xF0 { return }
                index += 16
                continue
            }
            index += code >> 4
            let value = window.signed(length)
            guard index < 64 else {
                index = 65
                break
            }
            block[start + Int(zigzag[index])] = Int16(truncatingIfNeeded: value)
            index += 1
        }
        // The codes of a block end at its last coefficient.
        if index > 64 { reader.fail("too many coefficients in a block") }
    }

    /// Reads the first coefficient of a block.
    @inline(__always)
    private mutating func readMean(_ part: Int, _ dc: HuffmanTable, _ window: inout BitWindow) -> Int16 {
        let length = reader.symbol(dc, &window)
        if length > 15 {
            reader.fail("an undefined difference of means")
        } else if length > 0 {
            means[part] = means[part] &+ window.signed(length)
        }
        return Int16(truncatingIfNeeded: means[part])
    }

    /// Reads the higher bits of the first coefficient.
    mutating func firstMean(_ part: Int, _ dc: HuffmanTable, _ block: inout MutableSpan<Int16>, at start: Int) {
        var window = reader.window
        block[start] = readMean(part, dc, &window) << Int16(header.low)
        reader.window = window
    }

    /// Reads one more bit of the first coefficient.
    mutating func nextMean(_ block: inout MutableSpan<Int16>, at start: Int) {
        var window = reader.window
        if reader.bit(&window) { block[start] |= 1 << Int16(header.low) }
        reader.window = window
    }

    /// Reads the higher bits of a band of coefficients.
    mutating func firstBand(
        _ ac: HuffmanTable, _ zigzag: Span<UInt8>, _ block: inout MutableSpan<Int16>, at start: Int
    ) {
        if emptyBlocks > 0 {
            emptyBlocks -= 1
            return
        }
        var window = reader.window
        defer { reader.window = window }
        var index = header.first
        while index <= header.last {
            let code = reader.symbol(ac, &window)
            let (run, length) = (code >> 4, code & 15)
            if length == 0 {
                if run < 15 {
                    emptyBlocks = (1 << run) - 1
                    if run > 0 { emptyBlocks += window.rest(run) }
                    return
                }
                index += 16
                continue
            }
            index += run
            let value = window.signed(length)
            guard index <= header.last else {
                reader.fail("too many coefficients in a block")
                return
            }
            block[start + Int(zigzag[index])] = Int16(truncatingIfNeeded: value << header.low)
            index += 1
        }
    }

    /// Reads one more bit of a band of coefficients.
    ///
    /// - Source: ITU-T T.81 G.1.2.3.
    mutating func nextBand(
        _ ac: HuffmanTable, _ zigzag: Span<UInt8>, _ block: inout MutableSpan<Int16>, at start: Int
    ) {
        let bit = Int16(1) << Int16(header.low)
        let last = header.last
        var window = reader.window
        defer { reader.window = window }
        var index = header.first
        while emptyBlocks == 0, index <= last {
            let code = reader.symbol(ac, &window)
            var zeros = code >> 4
            var value: Int16 = 0
            switch code & 15 {
            case 0 where zeros < 15:
                emptyBlocks = 1 << zeros
                if zeros > 0 { emptyBlocks += window.rest(zeros) }
                continue
            case 0: break
            default:
                // Only lengths of 1 are defined.
                if code & 15 != 1 { reader.fail("a coefficient of more than one bit") }
                value = window.rest(1) != 0 ? bit : -bit
            }
            // Passes the zeros before the new coefficient; those in between that are not 0 have a bit each.
            while index <= last {
                let place = start + Int(zigzag[index])
                if block[place] != 0 {
                    refine(&block[place], bit, &window)
                } else {
                    if zeros == 0 {
                        block[place] = value
                        index += 1
                        break
                    }
                    zeros -= 1
                }
                index += 1
            }
        }
        guard emptyBlocks > 0 else { return }
        while index <= last {
            let place = start + Int(zigzag[index])
            if block[place] != 0 { refine(&block[place], bit, &window) }
            index += 1
        }
        emptyBlocks -= 1
    }

    @inline(__always)
    private mutating func refine(_ value: inout Int16, _ bit: Int16, _ window: inout BitWindow) {
        if reader.bit(&window), value & bit == 0 { value = value >= 0 ? value &+ bit : value &- bit }
    }
}
