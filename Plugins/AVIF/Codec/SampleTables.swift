internal import CoderPluginKit
internal import ISOBoxes
internal import ImageModel

/// Checks the tables of a track before libavif searches them.
///
/// libavif 0.11 reads `stsc` once for each chunk, and `stts` once for each frame up to the requested one.
///
/// - Source: ISO/IEC 14496-12:2022 sections 8.6.1.2 (`stts`), 8.7.4 (`stsc`), 8.7.5 (`stco`, `co64`).
enum SampleTables {
    /// The maximum number of read entries: about 0.2 seconds.
    private static let mostSteps = 200_000_000
    /// The maximum number of sample descriptions. Only `av01` is supported; a second one changes the settings within
    /// the track.
    private static let mostDescriptions = 1_000

    /// - Parameter table: the payload of a `stbl` box.
    /// - Throws: `.limitExceeded`; `.corrupt` if a table appears twice.
    static func check(_ table: BoxCursor) throws(CoderError) {
        let chunks = try count(["stco", "co64"], in: table)
        let runs = try count(["stsc"], in: table)
        try check("steps to place samples", chunks, runs)
        try check("steps to time samples", try frames(in: table, chunks: chunks), try count(["stts"], in: table))
        let descriptions = try count(["stsd"], in: table)
        if descriptions > mostDescriptions {
            throw .limit("sample descriptions", allowed: mostDescriptions, requested: descriptions)
        }
    }

    private static func check(_ name: String, _ rows: Int, _ entries: Int) throws(CoderError) {
        let (steps, overflow) = rows.multipliedReportingOverflow(by: entries)
        if overflow || steps > mostSteps {
            throw .limit(name, allowed: mostSteps, requested: overflow ? .max : steps)
        }
    }

    /// Returns the number of entries that the only box of these types declares; 0 without one.
    private static func count(_ types: [FourCC], in table: BoxCursor) throws(CoderError) -> Int {
        let boxes = types.flatMap { table.all($0) }
        if boxes.count > 1 { throw .corrupt("a track has two '\(types[0])' tables") }
        guard var box = boxes.first, box.skips(4) else { return 0 }
        return Int(box.number(4) ?? 0)
    }

    /// Returns the number of samples in all chunks.
    private static func frames(in table: BoxCursor, chunks: Int) throws(CoderError) -> Int {
        guard var box = table.first("stsc"), box.skips(4), let count = box.number(4) else { return 0 }
        var total = 0
        var run: (first: Int, samples: Int)?
        func add(upTo end: Int) throws(CoderError) {
            guard let run, end > run.first else { return }
            let (samples, tooMany) = (end - run.first).multipliedReportingOverflow(by: run.samples)
            let (sum, overflow) = total.addingReportingOverflow(samples)
            guard !tooMany, !overflow else { throw .corrupt("a track has too many samples to count") }
            total = sum
        }
        for _ in 0..<count {
            guard let first = box.number(4), let samples = box.number(4), box.skips(4) else { break }
            let start = min(Int(first), chunks + 1)
            try add(upTo: start)
            run = (start, Int(samples))
        }
        try add(upTo: chunks + 1)
        return total
    }
}
