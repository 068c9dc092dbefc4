import CoderHost
import Dispatch
import ImageModel
import ImageProcessing
import Synchronization

/// What a sweep of a disk cache did.
public struct PruneReport: Sendable, Hashable {
    /// Entries that went, and what they took on the disk.
    public var removed = 0
    public var removedSize = 0
    /// Entries that are left, and what they take.
    public var kept = 0
    public var keptSize = 0
    /// Unfinished files of processes that were ended.
    public var forsaken = 0
    /// Another process was sweeping, so nothing was done.
    public var isBusy = false
    /// The clock was set; nothing went for its age this time.
    public var clockIsInDoubt = false

    public init() {}
}

extension DiskCache {
    /// Removes what is too old, then the oldest while there is too much, and what processes left that were ended.
    ///
    /// Entries from the future count as if they were from now, and are dated so. Entries that are read or replaced
    /// meanwhile stay. What could not be removed is the ``state`` then.
    /// - Complexity: one look at every entry's facts; no entry is opened in a folder that a cache has made.
    @discardableResult
    public func prune() -> PruneReport {
        let settings = configuration
        return sweep(limit: settings.maxSize > 0 ? { _ in settings.maxSize } : nil)
    }

    /// Makes room on a full disk: half of what the cache takes, or may take.
    func makeRoom() {
        let settings = configuration
        guard settings.maxSize > 0 else { return }
        // A limit just below makes the sweep go down to its half.
        _ = sweep(limit: { usage in min(settings.maxSize, usage - 1) })
    }

    private func sweep(limit: ((_ usage: Int) -> Int)?) -> PruneReport {
        var report = PruneReport()
        guard isUsable(anew: true) else { return report }
        do throws(SystemError) {
            let done = try files.asJanitor { record in
                // Those who come meanwhile need not begin another one.
                noteSweep()
                return sweep(record, limit)
            }
            if let done { return done }
            report.isBusy = true
        } catch {
            if error.isMissing { return report }
            note(error, at: "\(directory)/\(JanitorRecord.name)", isReading: false)
        }
        (report.kept, report.keptSize) = totals
        return report
    }

    private func sweep(_ record: JanitorRecord, _ limit: ((_ usage: Int) -> Int)?) -> PruneReport {
        let settings = configuration
        let isDoubtful = record.doubtedAt != nil
        var report = PruneReport()
        report.clockIsInDoubt = isDoubtful
        var table = EntryTable()
        let isMarked = files.isMarked()
        for (number, folder) in EntryName.folders.enumerated() {
            let path = files.folder(folder)
            list(folder, isMarked) { name, occupant, facts in
                switch occupant {
                case .temporary: if files.removeForsaken("\(path)/\(name)") { report.forsaken += 1 }
                case .entry:
                    table.append(
                        name, folder: UInt8(number), date: Self.date(of: facts, settings.expiry), now: record.wall,
                        facts)
                case .obstacle, .foreign: break
                }
            }
        }
        let victims = table.choose(
            tooOld: Self.expiryDate(settings.maxAge, now: record.wall, isDoubtful: isDoubtful),
            limit: limit?(table.usage))
        remove(victims, of: table, settings.expiry, now: record.wall, &report)
        report.kept = table.rows.count - report.removed
        report.keptSize = table.usage - report.removedSize
        if !isDoubtful {
            for row in table.rows[victims.upperBound...] where row.isFuture {
                date("\(files.folder(EntryName.folders[Int(row.folder)]))/\(table.name(row))", record.wall)
            }
        }
        return report
    }

    /// The last date that is too old; nil where none is.
    static func expiryDate(_ maxAge: Duration, now: Int64, isDoubtful: Bool) -> Int64? {
        // No clock is needed to know that everything goes.
        if maxAge == .zero { return .max }
        if maxAge < .zero || isDoubtful { return nil }
        let (seconds, rest) = maxAge.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (age, overflowsToo) = whole.addingReportingOverflow(rest / 1_000_000_000)
        return overflows || overflowsToo ? nil : now &- age
    }

    static func date(of facts: FileFacts, _ expiry: DiskCacheConfiguration.Expiry) -> Int64 {
        switch expiry {
        case .accessed: facts.accessed
        case .modified: facts.modified
        // A file is born again when what is stored beside its bytes changes; its date of modification is kept then.
        case .created: facts.born > 0 ? min(facts.born, facts.modified) : facts.modified
        case .changed: facts.changed
        }
    }

    /// A few entries of a folder at a time, so that nobody who wants to store waits long for it; on several threads,
    /// because some disks take their time with each file.
    private func remove(
        _ victims: Range<Int>, of table: EntryTable, _ expiry: DiskCacheConfiguration.Expiry, now: Int64,
        _ report: inout PruneReport
    ) {
        let order = victims.sorted { table.rows[$0].folder < table.rows[$1].folder }
        let groups = order.indices.reduce(into: [Range<Int>]()) { groups, at in
            let isSameFolder = at > 0 && table.rows[order[at]].folder == table.rows[order[at - 1]].folder
            if isSameFolder, let last = groups.last, last.count < 16 {
                groups[groups.count - 1] = last.lowerBound..<(at + 1)
            } else {
                groups.append(at..<(at + 1))
            }
        }
        let removed = Mutex((count: 0, size: 0))
        DispatchQueue.concurrentPerform(iterations: groups.count) { number in
            let rows = order[groups[number]].map { table.rows[$0] }
            let (count, size) = remove(rows, of: table, expiry, now: now)
            removed.withLock { $0 = ($0.count + count, $0.size + size) }
        }
        (report.removed, report.removedSize) = removed.withLock { $0 }
    }

    /// Removes entries of one folder, each after one more look at it.
    private func remove(
        _ rows: [EntryTable.Row], of table: EntryTable, _ expiry: DiskCacheConfiguration.Expiry, now: Int64
    ) -> (count: Int, size: Int) {
        let path = files.folder(EntryName.folders[Int(rows[0].folder)])
        var count = 0
        var size = 0
        try? files.withFolder(path, .exclusive, attempts: 100) { isLocked throws(SystemError) in
            // Somebody was stopped while holding it; the next sweep will find these again.
            if !isLocked { return }
            for row in rows {
                let name = "\(path)/\(table.name(row))"
                guard let facts = try? files.system.facts(at: name), facts.inode == row.inode,
                    facts.modified == row.modified, min(Self.date(of: facts, expiry), now) <= row.date
                else { continue }
                do throws(SystemError) {
                    try files.system.unlink(name)
                } catch {
                    if !error.isMissing { note(error, at: name, isReading: false) }
                    continue
                }
                count += 1
                size += row.usage
            }
        }
        return (count, size)
    }

    /// Puts dates right that are still to come.
    private func date(_ path: String, _ now: Int64) {
        guard let file = try? files.system.open(path) else { return }
        defer { files.system.close(file) }
        guard let facts = try? files.system.facts(file) else { return }
        try? files.system.setDates(
            file, accessed: facts.accessed > now ? now : nil, modified: facts.modified > now ? now : nil)
    }

    // MARK: By itself

    /// Sweeps in the background when the cache was used for long enough, or enough was written.
    func sweepIfDue(written: Int) {
        let settings = configuration
        guard let interval = settings.sweepInterval else { return }
        let patience = Int64(clamping: interval.components.seconds) &* 1_000_000_000
        let bytes = settings.sweepBytes ?? (settings.maxSize > 0 ? max(1 << 20, settings.maxSize / 8) : .max)
        guard isSweepDue(written: written, patience: patience, bytes: bytes) else { return }
        DispatchQueue.global(qos: .utility).async { [self] in
            prune()
            sweepHasEnded()
        }
    }
}
