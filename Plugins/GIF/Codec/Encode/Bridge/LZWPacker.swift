/// Packs the indices of frames. Where a dictionary string ends, tries other indices that suit the pixel equally well.
///
/// - Source: GIF89a specification, appendix F.
@safe final class LZWPacker {
    private static let slots = 16384
    private static let free = UInt32.max
    private static let mostCodes = 4096
    /// Strings by prefix and pixel: the key in the upper 20 bits, the code in the lower 12.
    private let table: UnsafeMutablePointer<UInt32>
    /// The string without its last pixel.
    private let parents: UnsafeMutablePointer<UInt16>
    /// The codes of runs of the most common index, by length; known up to ``Codes/longestRun``.
    private let runs: UnsafeMutablePointer<UInt16>
    private let block: UnsafeMutablePointer<UInt8>
    private var settings = Settings()
    private var codes = Codes()
    private var pending = Pending()
    private var savings = Savings()
    /// The last string found: its code, the position of its first pixel, and its end.
    private var found = (code: -1, start: 0, end: 0)

    /// The pending output: the code size, then data blocks.
    private(set) var bytes: [UInt8] = []

    /// The settings of a frame; see ``start(minimumCodeSize:patience:window:common:)``.
    private struct Settings {
        var minimumCodeSize = 0
        var patience: Int?
        var window = 512
        var common: UInt8 = 0
    }

    /// The codes since the last clear code.
    private struct Codes {
        var size = 0
        var next = 0
        /// The length of the longest run that has a code.
        var longestRun = 1
    }

    /// The bits that are no byte yet, and the bytes in `block`.
    private struct Pending {
        var bits: UInt64 = 0
        var bitCount = 0
        var blockCount = 0
    }

    /// The savings of the dictionary: while it was filled, and since it is full.
    private struct Savings {
        /// Whether there were more strings than codes.
        var wasFull = false
        var clearPlace = 0
        var spent = 0
        var fillRate = 0.0
        var fullPlace = 0
        var fullCodes = 0
    }

    /// Whether there were more strings than codes.
    var wasFull: Bool { savings.wasFull }

    init() {
        unsafe table = .allocate(capacity: Self.slots)
        unsafe parents = .allocate(capacity: Self.mostCodes)
        unsafe parents.initialize(repeating: 0, count: Self.mostCodes)
        unsafe runs = .allocate(capacity: Self.mostCodes)
        unsafe runs.initialize(repeating: 0, count: Self.mostCodes)
        unsafe block = .allocate(capacity: 256)
        unsafe block.initialize(repeating: 0, count: 256)
    }

    deinit {
        unsafe table.deallocate()
        unsafe parents.deallocate()
        unsafe runs.deallocate()
        unsafe block.deallocate()
    }

    /// Starts a frame with codes for 2ⁿ colors, n from 2 (section 22) to 8.
    ///
    /// - Parameter patience: a string may end one pixel early if the next string then reaches farther by more than
    ///   this; nil: never. 0 helps if indices may be chosen; otherwise only a trial shows whether it helps.
    /// - Parameter window: the number of codes between two checks of a full dictionary.
    /// - Parameter common: an index that often forms long runs.
    func start(minimumCodeSize: Int, patience: Int?, window: Int, common: UInt8) {
        precondition((2...8).contains(minimumCodeSize))
        settings = Settings(
            minimumCodeSize: minimumCodeSize, patience: patience, window: window, common: common)
        savings.wasFull = false
        codes.size = minimumCodeSize + 1
        found = (-1, 0, 0)
        pending = Pending()
        bytes.append(UInt8(minimumCodeSize))
        clear(at: 0)
    }

    /// Passes on the bytes packed so far.
    func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// Packs up to about `limit`, and updates indices that it replaced; all are below 2ⁿ.
    ///
    /// - Parameter indices: the indices of the whole frame in each call.
    func pack(_ indices: inout [UInt8], to limit: Int, _ choices: borrowing PixelChoices) {
        unsafe indices.withUnsafeMutableBufferPointer { indices in
            if indices.isEmpty { return }
            if found.code < 0 { found = unsafe longest(indices, from: 0, choices) }
            while found.start < limit, found.end < indices.count {
                if codes.next == Self.mostCodes {
                    put(found.code)
                    savings.fullCodes += 1
                    if savings.fullCodes % settings.window == 0 {
                        let rate = Double(found.end - savings.fullPlace) / Double(settings.window * codes.size)
                        savings.fullPlace = found.end
                        if rate < savings.fillRate { clear(at: found.end) }
                    }
                    found = unsafe longest(indices, from: found.end, choices)
                } else {
                    unsafe step(indices, choices)
                }
            }
        }
    }

    /// Writes the remaining data and the terminator.
    func finish() {
        if found.code >= 0 {
            put(found.code)
            if codes.next == 1 << codes.size, codes.size < 12 { codes.size += 1 }
        }
        put((1 << settings.minimumCodeSize) + 1)
        if pending.bitCount > 0 { putByte(UInt8(truncatingIfNeeded: pending.bits)) }
        flushBlock()
        bytes.append(0)
    }

    // MARK: Strings

    /// Writes the last string found, or all but its last pixel if the next string then reaches farther.
    private func step(_ indices: UnsafeMutableBufferPointer<UInt8>, _ choices: borrowing PixelChoices) {
        let (code, start, end) = found
        let slot = unsafe ~find(code, indices[end])
        let pixel = unsafe indices[end]
        // A run that is one pixel longer than the longest run so far.
        let isRun = unsafe pixel == settings.common && runs[codes.longestRun] == code
        set(slot, code, pixel, isRun)
        var next = unsafe longest(indices, from: end, choices)
        var written = code
        if let patience = settings.patience, end - start > 1, next.end < indices.count {
            // A shortened string adds nothing to the dictionary: it would add the longer string, which exists.
            unsafe table[slot] = Self.free
            if isRun { codes.longestRun -= 1 }
            let other = unsafe plain(indices, from: end - 1)
            if other.end > next.end + patience {
                written = unsafe Int(parents[code])
                next = other
            } else {
                set(slot, code, pixel, isRun)
            }
        }
        put(written)
        savings.spent += codes.size
        codes.next += 1
        // The decoder adds a string one code later.
        if codes.next > 1 << codes.size, codes.size < 12 { codes.size += 1 }
        if codes.next == Self.mostCodes {
            savings.fillRate = Double(end - savings.clearPlace) / Double(savings.spent)
            savings.wasFull = true
            savings.fullPlace = next.start
            savings.fullCodes = 0
        }
        found = next
    }

    @inline(__always)
    private func set(_ slot: Int, _ prefix: Int, _ pixel: UInt8, _ isRun: Bool) {
        unsafe table[slot] = UInt32(truncatingIfNeeded: prefix << 8 | Int(pixel)) << 12 | UInt32(codes.next)
        unsafe parents[codes.next] = UInt16(truncatingIfNeeded: prefix)
        if isRun {
            codes.longestRun += 1
            unsafe runs[codes.longestRun] = UInt16(truncatingIfNeeded: codes.next)
        }
    }

    /// Returns the longest known string from a position on, over all allowed indices.
    @inline(__always)
    private func longest(
        _ indices: UnsafeMutableBufferPointer<UInt8>, from start: Int, _ choices: borrowing PixelChoices
    ) -> (code: Int, start: Int, end: Int) {
        var result = unsafe plain(indices, from: start)
        while choices.exist, result.end < indices.count {
            var least = Int32.max
            var best: (pixel: UInt8, code: Int)?
            choices.each(at: result.end, instead: unsafe indices[result.end]) { other, distance in
                if distance >= least { return }
                let code = find(result.code, other)
                if code < 0 { return }
                least = distance
                best = (other, code)
            }
            guard let best else { break }
            unsafe indices[result.end] = best.pixel
            result = unsafe plain(indices, from: start, best.code, result.end + 1)
        }
        return result
    }

    @inline(__always)
    private func plain(_ indices: UnsafeMutableBufferPointer<UInt8>, from start: Int) -> (
        code: Int, start: Int, end: Int
    ) {
        let first = unsafe indices[start]
        if first != settings.common { return unsafe plain(indices, from: start, Int(first), start + 1) }
        // A run needs no search: its length gives its code.
        let limit = min(indices.count, start + codes.longestRun)
        var end = start + 1
        let wide = SIMD16(repeating: settings.common)
        while end + 16 <= limit,
            unsafe UnsafeRawPointer(indices.baseAddress! + end).loadUnaligned(as: SIMD16<UInt8>.self) == wide
        { end += 16 }
        while end < limit, unsafe indices[end] == settings.common { end += 1 }
        return unsafe plain(indices, from: start, Int(runs[end - start]), end)
    }

    @inline(__always)
    private func plain(
        _ indices: UnsafeMutableBufferPointer<UInt8>, from start: Int, _ code: Int, _ end: Int
    ) -> (code: Int, start: Int, end: Int) {
        var (code, end) = (code, end)
        while end < indices.count {
            let next = unsafe find(code, indices[end])
            if next < 0 { break }
            code = next
            end += 1
        }
        return (code, start, end)
    }

    /// Returns the code of a string and one more pixel; if there is none, the complement of the free slot for it.
    @inline(__always)
    private func find(_ prefix: Int, _ pixel: UInt8) -> Int {
        let key = UInt32(truncatingIfNeeded: prefix << 8) | UInt32(pixel)
        var slot = Int((key &* 0x9E37_79B9) >> 18)
        while true {
            let entry = unsafe table[slot]
            if entry == Self.free { return ~slot }
            if entry >> 12 == key { return Int(entry & 0xFFF) }
            slot = (slot + 1) & (Self.slots - 1)
        }
    }

    // MARK: Codes

    private func clear(at place: Int) {
        put(1 << settings.minimumCodeSize)
        codes.size = settings.minimumCodeSize + 1
        codes.next = (1 << settings.minimumCodeSize) + 2
        unsafe table.initialize(repeating: Self.free, count: Self.slots)
        savings.clearPlace = place
        codes.longestRun = 1
        unsafe runs[1] = UInt16(settings.common)
        savings.spent = 0
    }

    @inline(__always)
    private func put(_ code: Int) {
        pending.bits |= UInt64(truncatingIfNeeded: code) << UInt64(pending.bitCount)
        pending.bitCount += codes.size
        while pending.bitCount >= 8 {
            putByte(UInt8(truncatingIfNeeded: pending.bits))
            pending.bits >>= 8
            pending.bitCount -= 8
        }
    }

    @inline(__always)
    private func putByte(_ byte: UInt8) {
        unsafe block[pending.blockCount] = byte
        pending.blockCount += 1
        if pending.blockCount == 255 { flushBlock() }
    }

    private func flushBlock() {
        if pending.blockCount == 0 { return }
        bytes.append(UInt8(pending.blockCount))
        unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: block, count: pending.blockCount))
        pending.blockCount = 0
    }
}
