import CoderPluginKit

/// The state that the scans of all processes share: the bits, the restart markers, the last differences.
struct ScanDecoder {
    let frame: ExtendedFrame
    let header: ScanHeader
    /// The codes of each part, if its coefficients have any.
    let dc, ac: [HuffmanTable]
    var reader: BitReader
    /// The last means of each part.
    var means: [Int]
    /// The blocks that follow without a further coefficient.
    var emptyBlocks = 0
    /// The differences of a row of a lossless image.
    var differences: [UInt16] = []
    private(set) var restarts: Restarts

    /// The position between two restart markers.
    struct Restarts {
        /// The MCUs between two markers; 0 for no markers.
        let interval: Int
        /// The MCUs before the next marker.
        fileprivate var remaining: Int
        fileprivate var number = 0
    }

    /// - Throws: `.corrupt`.
    init(
        _ frame: ExtendedFrame, _ header: ScanHeader, _ tables: ScanTables, _ source: JPEGSource
    ) throws(CoderError) {
        self.frame = frame
        self.header = header
        let hasMeans = frame.process != .progressive || header.first == 0 && header.high == 0
        let hasBands = frame.process == .sequential || frame.process == .progressive && header.first > 0
        dc = try hasMeans ? Self.codes(tables.dc, header.parts.map { $0.dc }) : []
        ac = try hasBands ? Self.codes(tables.ac, header.parts.map { $0.ac }) : []
        reader = BitReader(source, at: header.data)
        means = Array(repeating: 0, count: header.parts.count)
        restarts = Restarts(interval: tables.restartInterval, remaining: tables.restartInterval)
    }

    /// Passes a restart marker, if one is due before the next `count` MCUs; returns whether there was one.
    mutating func begin(_ count: Int) throws(CoderError) -> Bool {
        guard restarts.interval > 0 else { return false }
        let isDue = restarts.remaining == 0
        if isDue {
            try reader.restart(restarts.number)
            restarts.number = (restarts.number + 1) & 7
            restarts.remaining = restarts.interval
            emptyBlocks = 0
            for part in means.indices { means[part] = 0 }
        }
        restarts.remaining -= count
        return isDue
    }

    /// Makes the tables of the parts; an undefined one is an error.
    private static func codes(
        _ definitions: [HuffmanTable.Definition?], _ numbers: [Int]
    ) throws(CoderError) -> [HuffmanTable] {
        var made: [Int: HuffmanTable] = [:]
        var found: [HuffmanTable] = []
        for number in numbers {
            guard let definition = definitions[number] else {
                throw .corrupt("a scan refers to a missing table of codes")
            }
            let table: HuffmanTable
            if let known = made[number] { table = known } else { table = try HuffmanTable(definition) }
            made[number] = table
            found.append(table)
        }
        return found
    }
}
