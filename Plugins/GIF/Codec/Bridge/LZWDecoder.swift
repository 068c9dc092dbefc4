internal import CoderPluginKit
internal import ImageModel

/// Unpacks the pixels of one frame at a time: variable-length codes of up to 12 bits in blocks of up to 255 bytes.
///
/// The string of a new code is the string of the code before it and one more pixel. The output contains exactly this
/// string, from the start of the previous code on. So the decoder stores a code as a position and a length in the
/// output. It copies a string forward from its last position, 16 pixels at a time. After a clear code, the output
/// before it may be overwritten. A full table keeps its own part, so the decoder needs at most 8 MiB for any frame.
///
/// - Source: GIF89a specification, appendix F.
@safe final class LZWDecoder {
    /// The result of a call.
    enum Outcome {
        /// Pixels are ready, and more follow.
        case more
        /// The end code or the last block was reached.
        case ended
        /// More bytes are needed.
        case cut
        /// A code is undefined.
        case invalid
    }

    private static let tableSize = 4096
    /// A string is one pixel longer than an earlier one.
    private static let longestString = 4096
    private static let mostStrings = longestString * (longestString + 1) / 2
    /// The values of the single-pixel codes, each once, in front of the output.
    private static let literals = 256
    /// The number of pixels per call; small enough to stay in the first-level cache until they are painted.
    private static let batch = 8192
    /// The number of pixels after which a clear code returns to the start of the output.
    private static let rewindsBehind = 1 << 15
    private static let inputSize = 1 << 14
    /// The number of bytes that a copy may write beyond its end.
    private static let slack = 64

    /// By code: the position of its string in the output, and its length above 32 bits; length 0: no string.
    private let table: UnsafeMutablePointer<UInt64>
    private let input: UnsafeMutablePointer<UInt8>
    private var output: UnsafeMutablePointer<UInt8>
    private var capacity = 0

    private var state = State()
    private var clearCode = 0
    private var batchStart = 0
    /// The end of the output that the strings of a full table use; 0 while the table is not full.
    private var kept = 0
    private var inputEnd = 0
    private var blocks = Blocks()

    /// The place in the data blocks of the source.
    private struct Blocks {
        /// The position of the next byte in the source.
        var position = 0
        /// The number of bytes left in the data block.
        var left = 0
        var isBehindLast = false
    }

    private struct State {
        var bits: UInt64 = 0
        var bitCount = 0
        /// The number of unread bits of the input.
        var place = 0
        /// The position of the next pixel.
        var end = 0
        /// The start of the string of the last code; -1 after a clear code.
        var previous = -1
        var nextCode = 0
        var codeSize = 0
    }

    init() {
        unsafe table = .allocate(capacity: Self.tableSize)
        unsafe table.initialize(repeating: 0, count: Self.tableSize)
        unsafe input = .allocate(capacity: Self.inputSize + Self.slack)
        unsafe input.initialize(repeating: 0, count: Self.inputSize + Self.slack)
        unsafe output = .allocate(capacity: 1)
    }

    deinit {
        unsafe table.deallocate()
        unsafe input.deallocate()
        unsafe output.deallocate()
    }

    /// Starts a frame with codes for 2ⁿ colors.
    ///
    /// More than 8 makes no sense for 8-bit pixels, but such files exist; with 11, codes have 12 bits.
    /// - Throws: `.corrupt` unless n is 1 … 11.
    func begin(
        minimumCodeSize: UInt8, offset: Int, pixelCount: Int, host: HostServices
    ) throws(CoderError) {
        guard (1...11).contains(minimumCodeSize) else {
            throw .corrupt("the code size of the frame is invalid", at: offset - 1)
        }
        clearCode = 1 << Int(minimumCodeSize)
        for code in 0..<clearCode + 2 {
            unsafe table[code] = code < min(clearCode, Self.literals) ? UInt64(code) | 1 << 32 : 0
        }
        state = State()
        state.end = Self.literals
        clear(&state)
        (inputEnd, blocks.position, blocks.left) = (0, offset, 0)
        blocks.isBehindLast = false

        let most = Self.rewindsBehind + Self.mostStrings + Self.batch
        let needed = Self.literals + min(pixelCount, most) + Self.longestString + Self.slack
        if needed <= capacity { return }
        try host.reserve(bytes: needed - capacity)
        capacity = needed
        unsafe output.deallocate()
        unsafe output = .allocate(capacity: needed)
        for index in 0..<Self.literals { unsafe output[index] = UInt8(truncatingIfNeeded: index) }
    }

    /// The pixels of the last call.
    @unsafe
    var indices: UnsafeBufferPointer<UInt8> {
        unsafe UnsafeBufferPointer(start: output + batchStart, count: state.end - batchStart)
    }

    /// Unpacks more pixels, at least one unless the result says otherwise; discards those of the call before.
    ///
    /// - Parameters:
    ///   - end: the end of the readable source bytes.
    ///   - wanted: the number of pixels needed; the last string may add more.
    func fill(from source: ByteSource, upTo end: Int, wanted: Int) -> Outcome {
        if state.previous < 0 {
            state.end = Self.literals
        } else if state.nextCode == Self.tableSize {
            state.end = kept
        }
        batchStart = state.end
        let goal = batchStart + min(wanted, Self.batch)
        while true {
            var state = self.state
            defer { self.state = state }
            if state.previous >= 0 {
                if state.nextCode < Self.tableSize { runGrowing(&state, goal) }
                if state.nextCode == Self.tableSize { runFull(&state, goal) }
            }
            if state.end >= goal { return .more }
            while state.bitCount < state.codeSize, state.place < inputEnd {
                unsafe state.bits |= UInt64(input[state.place]) << UInt64(state.bitCount)
                state.place += 1
                state.bitCount += 8
            }
            if state.bitCount < state.codeSize {
                guard refill(&state, from: source, upTo: end) else { return blocks.isBehindLast ? .ended : .cut }
                continue
            }
            if let outcome = step(&state) { return outcome }
        }
    }

    // MARK: Codes

    private func clear(_ state: inout State) {
        state.codeSize = clearCode.trailingZeroBitCount + 1
        state.nextCode = clearCode + 2
        state.previous = -1
        kept = 0
    }

    /// Handles one code of any kind.
    private func step(_ state: inout State) -> Outcome? {
        let code = Int(state.bits & (1 << UInt64(state.codeSize) - 1))
        state.bits >>= UInt64(state.codeSize)
        state.bitCount -= state.codeSize
        if code == clearCode {
            clear(&state)
            return state.end - Self.literals > Self.rewindsBehind ? .more : nil
        }
        if code == clearCode + 1 { return .ended }
        if state.previous < 0 {
            if code > clearCode { return .invalid }
        } else if code > state.nextCode {
            return .invalid
        } else if state.nextCode < Self.tableSize {
            unsafe table[state.nextCode] = Self.entry(state.previous, state.end)
        }
        let entry = unsafe table[code]
        if entry == 0 { return .invalid }
        copy(entry, to: state.end, isOwn: state.previous >= 0 && code == state.nextCode)
        if state.previous >= 0, state.nextCode < Self.tableSize { state.nextCode += 1 }
        state.previous = state.end
        state.end += Int(entry >> 32)
        // With two colors, codes become longer after the first code, which adds no string.
        if state.nextCode == 1 << state.codeSize { tableIsFull(&state) }
        return nil
    }

    /// Increases the code length by one bit, up to 12.
    @inline(__always)
    private func tableIsFull(_ state: inout State) {
        if state.codeSize < 12 { state.codeSize += 1 } else if kept == 0 { kept = state.end }
    }

    /// Appends the string from `previous` to `end` and one more pixel.
    @inline(__always)
    private static func entry(_ previous: Int, _ end: Int) -> UInt64 {
        UInt64(truncatingIfNeeded: previous) | UInt64(truncatingIfNeeded: end - previous + 1) << 32
    }

    /// - Parameter isOwn: whether the last pixel of the string is the first pixel of the copy.
    @inline(__always)
    private func copy(_ entry: UInt64, to end: Int, isOwn: Bool) {
        let from = unsafe UnsafeRawPointer(output + Int(entry & 0xFFFF_FFFF))
        let target = unsafe UnsafeMutableRawPointer(output + end)
        let length = Int(entry >> 32)
        unsafe target.storeBytes(of: from.loadUnaligned(as: SIMD16<UInt8>.self), as: SIMD16<UInt8>.self)
        var done = 16
        while done < length {
            // The source of the copy precedes its target: the string is at most as long as their distance.
            let first = unsafe from.loadUnaligned(fromByteOffset: done, as: SIMD16<UInt8>.self)
            let second = unsafe from.loadUnaligned(fromByteOffset: done + 16, as: SIMD16<UInt8>.self)
            unsafe target.storeBytes(of: first, toByteOffset: done, as: SIMD16<UInt8>.self)
            unsafe target.storeBytes(of: second, toByteOffset: done + 16, as: SIMD16<UInt8>.self)
            done += 32
        }
        if isOwn { unsafe output[end + length - 1] = output[end] }
    }

    /// Handles codes while each adds one to the table and eight bytes of input can be loaded at once.
    private func runGrowing(_ shared: inout State, _ goal: Int) {
        var state = shared
        let table = unsafe self.table
        let input = unsafe self.input
        let lastLoad = inputEnd - 8
        while state.end < goal {
            if state.bitCount < 12 {
                if state.place > lastLoad { break }
                unsafe load(&state, input)
            }
            let code = Int(state.bits & (1 << UInt64(truncatingIfNeeded: state.codeSize) &- 1))
            if code > state.nextCode { break }
            let isOwn = code == state.nextCode
            let entry = unsafe isOwn ? Self.entry(state.previous, state.end) : table[code]
            if entry == 0 { break }
            state.bits >>= UInt64(truncatingIfNeeded: state.codeSize)
            state.bitCount -= state.codeSize
            unsafe table[state.nextCode] = Self.entry(state.previous, state.end)
            copy(entry, to: state.end, isOwn: isOwn)
            state.previous = state.end
            state.end += Int(entry >> 32)
            state.nextCode += 1
            if state.nextCode == 1 << UInt64(truncatingIfNeeded: state.codeSize) {
                tableIsFull(&state)
                if state.nextCode == Self.tableSize { break }
            }
        }
        shared = state
    }

    /// Like the function above, for a full table.
    private func runFull(_ shared: inout State, _ goal: Int) {
        var state = shared
        let input = unsafe self.input
        let lastLoad = inputEnd - 8
        while state.end < goal {
            if state.bitCount < 12 {
                if state.place > lastLoad { break }
                unsafe load(&state, input)
            }
            let entry = unsafe table[Int(state.bits & 0xFFF)]
            if entry == 0 { break }
            state.bits >>= 12
            state.bitCount -= 12
            copy(entry, to: state.end, isOwn: false)
            state.previous = state.end
            state.end += Int(entry >> 32)
        }
        shared = state
    }

    /// Adds as many whole bytes as fit. Bits above the counted ones keep their values when loaded again.
    @inline(__always)
    private func load(_ state: inout State, _ input: UnsafeMutablePointer<UInt8>) {
        let word = unsafe UnsafeRawPointer(input + state.place).loadUnaligned(as: UInt64.self)
        state.bits |= UInt64(littleEndian: word) << UInt64(truncatingIfNeeded: state.bitCount)
        state.place += (63 - state.bitCount) >> 3
        state.bitCount |= 56
    }

    // MARK: Input

    /// Copies data out of its blocks; false if no data is left.
    private func refill(_ state: inout State, from source: ByteSource, upTo end: Int) -> Bool {
        inputEnd = 0
        state.place = 0
        while inputEnd < Self.inputSize, blocks.position < end, !blocks.isBehindLast {
            // At most as many bytes as fit, though some of them are block lengths.
            let range = blocks.position..<min(end, blocks.position + Self.inputSize - inputEnd)
            source.withBytes(range) { bytes in
                unsafe bytes.withUnsafeBytes { unsafe unblock($0) }
            }
        }
        return inputEnd > 0
    }

    private func unblock(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset < bytes.count {
            if blocks.left == 0 {
                blocks.left = unsafe Int(bytes[offset])
                offset += 1
                if blocks.left == 0 {
                    blocks.isBehindLast = true
                    break
                }
            }
            let count = min(blocks.left, bytes.count - offset)
            if count == 0 { break }
            unsafe UnsafeMutableRawPointer(input + inputEnd).copyMemory(
                from: bytes.baseAddress! + offset, byteCount: count)
            inputEnd += count
            offset += count
            blocks.left -= count
        }
        blocks.position += offset
    }
}
