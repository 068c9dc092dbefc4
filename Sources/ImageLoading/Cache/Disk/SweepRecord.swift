import CoderHost
import ImageProcessing

/// The file `.janitor` of a cache. Its lock allows one process to sweep; its text records the last sweep.
///
/// The age of an entry depends on the calendar clock, which a user may set. So the record also contains the time since
/// the machine started. If both clocks have not advanced equally, age-based expiry pauses for one hour, and dates in
/// the future are not corrected. A wrongly set clock is usually corrected within that hour; a corrected clock is
/// trusted after it.
struct SweepRecord: Sendable, Hashable {
    var boot = "-"
    /// Nanoseconds since the machine started.
    var running: Int64 = 0
    /// Nanoseconds since 1970.
    var wall: Int64
    /// Time on the clock of `running` when the pause began; nil without a pause.
    var doubtedAt: Int64?

    static let name = ".janitor"
    private static let minute: Int64 = 60 * 1_000_000_000

    /// Returns the record of the sweep that starts now.
    static func next(after last: SweepRecord?, _ system: any DiskSystem) -> SweepRecord {
        var record = SweepRecord(wall: system.now())
        guard let (boot, time) = system.running() else { return record }
        record.boot = boot
        record.running = time
        guard let last else { return record }
        let hasJumped: Bool
        if last.boot == boot {
            record.doubtedAt = last.doubtedAt
            let drift = (record.wall &- last.wall) &- (time &- last.running)
            hasJumped = drift > 15 * minute || drift < -15 * minute
        } else {
            // The time while the machine was off is unknown, but the clock must not go back.
            hasJumped = record.wall < last.wall &- 15 * minute
        }
        if hasJumped { record.doubtedAt = time }
        if let since = record.doubtedAt, time &- since >= 60 * minute { record.doubtedAt = nil }
        return record
    }

    // MARK: Text format

    /// One line of fixed length, so that it overwrites the previous record completely.
    var bytes: [UInt8] {
        let words = [boot, "\(running)", "\(wall)", doubtedAt.map { "\($0)" } ?? "-"]
        let line = Array((Self.head + words.joined(separator: " ")).utf8)
        return line + Array(repeating: UInt8(ascii: " "), count: max(0, Self.count - 1 - line.count)) + [0x0A]
    }
    static let count = 160

    init(boot: String = "-", running: Int64 = 0, wall: Int64, doubtedAt: Int64? = nil) {
        self.boot = boot
        self.running = running
        self.wall = wall
        self.doubtedAt = doubtedAt
    }

    private static let head = "coderhost-cache 1 "

    /// Whether a file with these bytes contains only a record or a part of one.
    static func mayReplace(_ bytes: [UInt8]) -> Bool {
        let begin = Array(head.utf8)
        return bytes.count <= count
            && (bytes.starts(with: begin) || begin.starts(with: bytes) || bytes.allSatisfy { $0 == 0 })
    }

    /// Parses a record; nil if another program created the file, or if it is incomplete.
    init?(_ bytes: [UInt8]) {
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: { $0 == " " || $0 == "\n" })
        guard bytes.count == Self.count, words.count == 6, bytes.starts(with: Self.head.utf8),
            let running = Int64(words[3]), let wall = Int64(words[4])
        else { return nil }
        self.init(boot: String(words[2]), running: running, wall: wall, doubtedAt: Int64(words[5]))
    }
}

extension EntryStore {
    /// Calls `body` while holding the lock of sweeps.
    ///
    /// - Parameter body: receives the record of this sweep.
    /// - Returns: nil if another process holds the lock.
    func withSweepLock<R>(_ body: (SweepRecord) -> R) throws(SystemError) -> R? {
        let file = try system.openLock("\(directory)/\(SweepRecord.name)")
        defer { system.close(file) }
        do throws(SystemError) {
            try system.lock(file, .exclusive)
        } catch {
            if error.isBusy { return nil }
        }
        let facts = try system.facts(file)
        let content = try? system.read(file, at: 0, count: SweepRecord.count + 1)
        let record = SweepRecord.next(after: content.flatMap(SweepRecord.init), system)
        // Do not overwrite a file that another program created, or one with a second name.
        let isOurs = facts.kind == .regular && facts.links == 1 && content.map(SweepRecord.mayReplace) ?? false
        defer { if isOurs { try? system.writeAll(file, record.bytes, at: 0) } }
        return body(record)
    }

    /// Returns the start of the last sweep by any process.
    func lastSweep() -> Int64? {
        guard let file = try? system.open("\(directory)/\(SweepRecord.name)") else { return nil }
        defer { system.close(file) }
        return (try? system.read(file, at: 0, count: SweepRecord.count)).flatMap(SweepRecord.init)?.wall
    }
}
