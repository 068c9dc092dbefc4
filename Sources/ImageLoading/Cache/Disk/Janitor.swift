import CoderHost
import ImageProcessing

/// The file `.janitor` of a cache: whoever holds its lock sweeps, and finds in it when that was done last.
///
/// An age is the difference of two times of a clock that somebody may set. So the file also says how long the machine
/// had been running: where the two clocks have not gone on alike, the calendar's is in doubt for an hour. Until then
/// nothing goes for its age, and no date is put right; a clock that was set wrong has been put right by then, and one
/// that was put right is believed.
struct JanitorRecord: Sendable, Hashable {
    var boot = "-"
    /// Nanoseconds since that start.
    var running: Int64 = 0
    /// Nanoseconds since 1970.
    var wall: Int64
    /// When the doubt began, on the clock of `running`.
    var doubtedAt: Int64?

    static let name = ".janitor"
    private static let minute: Int64 = 60 * 1_000_000_000

    /// What is to be written now.
    static func next(after last: JanitorRecord?, _ system: any DiskSystem) -> JanitorRecord {
        var record = JanitorRecord(wall: system.now())
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
            // How long the machine was off, nobody knows; but time does not go back.
            hasJumped = record.wall < last.wall &- 15 * minute
        }
        if hasJumped { record.doubtedAt = time }
        if let since = record.doubtedAt, time &- since >= 60 * minute { record.doubtedAt = nil }
        return record
    }

    // MARK: As text

    /// One line of a fixed length, so that it can be written over the last one.
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

    /// Whether a file with these bytes holds nothing but a record, or what is left of one.
    static func mayReplace(_ bytes: [UInt8]) -> Bool {
        let begin = Array(head.utf8)
        return bytes.count <= count
            && (bytes.starts(with: begin) || begin.starts(with: bytes) || bytes.allSatisfy { $0 == 0 })
    }

    /// Nil where the file was made by somebody else, or was not written to its end.
    init?(_ bytes: [UInt8]) {
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: { $0 == " " || $0 == "\n" })
        guard bytes.count == Self.count, words.count == 6, bytes.starts(with: Self.head.utf8),
            let running = Int64(words[3]), let wall = Int64(words[4])
        else { return nil }
        self.init(boot: String(words[2]), running: running, wall: wall, doubtedAt: Int64(words[5]))
    }
}

extension EntryStore {
    /// Does something that only one process does at a time.
    ///
    /// - Parameter body: gets what is known of the clock.
    /// - Returns: nil where another process is at it.
    func asJanitor<R>(_ body: (JanitorRecord) -> R) throws(SystemError) -> R? {
        let file = try system.openLock("\(directory)/\(JanitorRecord.name)")
        defer { system.close(file) }
        do throws(SystemError) {
            try system.lock(file, .exclusive)
        } catch {
            if error.isBusy { return nil }
        }
        let facts = try system.facts(file)
        let content = try? system.read(file, at: 0, count: JanitorRecord.count + 1)
        let record = JanitorRecord.next(after: content.flatMap(JanitorRecord.init), system)
        // What somebody else has put there, or can reach by another name, is no place to write to.
        let isOurs = facts.kind == .regular && facts.links == 1 && content.map(JanitorRecord.mayReplace) ?? false
        defer { if isOurs { try? system.writeAll(file, record.bytes, at: 0) } }
        return body(record)
    }

    /// When a sweep began last, whichever process did it.
    func lastSweep() -> Int64? {
        guard let file = try? system.open("\(directory)/\(JanitorRecord.name)") else { return nil }
        defer { system.close(file) }
        return (try? system.read(file, at: 0, count: JanitorRecord.count)).flatMap(JanitorRecord.init)?.wall
    }
}
