internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Compresses stored rows to the shortest zlib stream for a given effort.
@safe final class RowShrinker {
    /// The rule that chooses the filter of a row.
    enum Strategy: UInt8, CaseIterable {
        case none = 0, sub, up, average, paeth
        /// The smallest sum of absolute differences.
        case size
        /// The fewest bits for the bytes of the row alone.
        case entropy
        /// The fewest different pairs of bytes.
        case pairs
        /// The fewest bits after the rows above.
        case history
        /// The fewest bits for pairs of bytes; slow.
        case context
    }

    /// The input and the effort.
    struct Task: Hashable {
        /// The bytes of the longest row, without a filter byte.
        var rowBytes: Int
        /// The bytes of all rows, each with its filter byte.
        var total: Int
        /// The bytes from a sample to the same sample of the next pixel.
        var step: Int
        var strategy: Strategy
        /// 1 … 12.
        var level: Int
        /// Whether to compute only the approximate length.
        var isTrial = false

        /// The memory of a shrinker in bytes, without its output.
        var memory: Int {
            var raw = raw
            return unsafe Int(clamping: pngshim_shrinker_memory(&raw))
        }

        fileprivate var raw: pngshim_shrinking {
            pngshim_shrinking(
                row_bytes: UInt64(rowBytes), total: UInt64(total), step: UInt32(step), strategy: strategy.rawValue,
                level: UInt8(level), measured: isTrial ? 1 : 0)
        }
    }

    private let shrinker: OpaquePointer

    init() throws(CoderError) {
        var opened: OpaquePointer?
        guard unsafe pngshim_shrinker_open(&opened) == PNGSHIM_OK, let opened = unsafe opened else {
            throw Self.noMemory
        }
        unsafe shrinker = opened
    }

    deinit { unsafe pngshim_shrinker_close(shrinker) }

    func start(_ task: Task) throws(CoderError) {
        var raw = task.raw
        try check(unsafe pngshim_shrinker_start(shrinker, &raw))
    }

    /// Begins rows that do not follow the earlier ones: there is no row above.
    func beginPart(rowBytes: Int) throws(CoderError) {
        try check(unsafe pngshim_shrinker_pass(shrinker, UInt64(rowBytes)))
    }

    /// Adds rows, which are adjacent in memory.
    func push(_ rows: borrowing StoredRows, _ range: Range<Int>) throws(CoderError) {
        try check(
            unsafe rows.withRows(range) { bytes in
                unsafe pngshim_shrinker_push(shrinker, bytes, UInt32(range.count))
            })
    }

    func finish() throws(CoderError) { try check(unsafe pngshim_shrinker_end(shrinker)) }

    /// The number of bytes of the stream so far.
    var length: Int { Int(clamping: unsafe pngshim_shrinker_length(shrinker)) }

    /// Copies the stream.
    func take() -> [UInt8] {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt64 = 0
        unsafe pngshim_shrinker_take(shrinker, &bytes, &count)
        return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    private static var noMemory: CoderError { CoderError(.outOfMemory, "not enough memory for the compressor") }

    private func check(_ status: Int32) throws(CoderError) {
        switch status {
        case PNGSHIM_OK: return
        case PNGSHIM_NO_MEMORY: throw Self.noMemory
        default: throw CoderError(.pluginFault, "the compressor failed", domain: "libdeflate")
        }
    }
}
