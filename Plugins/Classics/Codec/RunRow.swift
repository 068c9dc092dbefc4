import CoderPluginKit

/// One stored row of a file whose runs may continue in the next row.
struct RunRow {
    /// The value of a run and the number of its bytes that are left.
    typealias Run = (value: UInt8, left: Int)

    /// The row that was read last.
    private(set) var bytes: [UInt8] = []
    private let count: Int
    private var run: Run = (0, 0)

    /// - Parameter count: the bytes of a row; they are allocated with the first row, after the host has checked the size.
    init(count: Int) { self.count = count }

    /// Forgets a run that continues, before the first row.
    mutating func restart() { run = (0, 0) }

    /// Reads the next row as stored.
    ///
    /// - Throws: `.needsInput`, `.truncated`; the row can then be read again.
    mutating func read(_ input: inout RowInput) throws(CoderError) {
        var row = taken()
        defer { bytes = row }
        try input.read(exactly: row.count) { source in
            var target = row.mutableSpan
            target.copy(source, toByteOffset: 0)
        }
    }

    /// Reads the next row from runs.
    ///
    /// - Parameter fill: fills the row and returns the number of used bytes; nil if bytes are missing.
    /// - Throws: `.needsInput`, `.truncated`; the row can then be read again.
    mutating func read(
        _ input: inout RowInput, runs fill: (inout [UInt8], RawSpan, inout Run) -> Int?
    ) throws(CoderError) {
        var row = taken()
        defer { bytes = row }
        var after = run
        try input.read(upTo: 2 * row.count + 64) { [run] source in
            after = run
            return fill(&row, source, &after)
        }
        run = after
    }

    /// Takes the bytes out, so that filling them copies no shared array.
    private mutating func taken() -> [UInt8] {
        if bytes.isEmpty { return [UInt8](repeating: 0, count: count) }
        defer { bytes = [] }
        return bytes
    }
}
