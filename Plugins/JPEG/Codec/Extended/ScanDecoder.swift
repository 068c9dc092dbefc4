import CoderPluginKit

/// The state that the scans of all processes share: the bits, the restart markers, the last differences.
struct ScanDecoder {
    let frame: ExtendedFrame
    let header: ScanHeader
    let tables: ScanTables
    var reader: BitReader
    /// The last means of each part.
    var means: [Int]
    /// The blocks that follow without a further coefficient.
    var emptyBlocks = 0
    /// The differences of a row of a lossless image.
    var differences: [UInt16] = []
    private var untilRestart: Int
    private var restarts = 0

    init(_ frame: ExtendedFrame, _ header: ScanHeader, _ tables: ScanTables, _ source: JPEGSource) {
        self.frame = frame
        self.header = header
        self.tables = tables
        reader = BitReader(source, at: header.data)
        means = Array(repeating: 0, count: header.parts.count)
        untilRestart = tables.restartInterval
    }

    /// Passes a restart marker, if one is due before the next `count` MCUs; returns whether there was one.
    mutating func begin(_ count: Int) throws(CoderError) -> Bool {
        guard tables.restartInterval > 0 else { return false }
        let isDue = untilRestart == 0
        if isDue {
            try reader.restart(restarts)
            restarts = (restarts + 1) & 7
            untilRestart = tables.restartInterval
            emptyBlocks = 0
            for part in means.indices { means[part] = 0 }
        }
        untilRestart -= count
        return isDue
    }

    /// The table of a part; an undefined one is an error.
    func codes(_ tables: [HuffmanTable?], _ number: Int) throws(CoderError) -> HuffmanTable {
        guard let table = tables[number] else { throw .corrupt("a scan refers to a missing table of codes") }
        return table
    }
}
