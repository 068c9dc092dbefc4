import CoderHost
import Dispatch
import ImageModel
import ImageProcessing

/// The result of a sweep of a disk cache.
package struct PruneReport: Sendable, Hashable {
    /// Number of removed entries.
    package var removed = 0
    /// Bytes on disk of the removed entries.
    package var removedSize = 0
    /// Number of remaining entries.
    package var kept = 0
    /// Bytes on disk of the remaining entries.
    package var keptSize = 0
    /// Number of removed unfinished files that stopped processes had left.
    package var forsaken = 0
    /// Whether another process was sweeping, so that this sweep did nothing.
    package var isBusy = false
    /// Whether the clock was changed recently; then the sweep removed nothing because of its age.
    package var clockIsInDoubt = false

    /// Creates an empty report.
    package init() {}
}

extension DiskCache {
    /// Removes expired entries, then the oldest entries above the size limit, and unfinished files of stopped
    /// processes.
    ///
    /// Entries with a date in the future count as new and get the current date. Entries that are read or replaced
    /// during the sweep stay. If a file cannot be removed, ``state`` reports it.
    /// - Complexity: one `stat` call per entry; in a folder that a cache has created, no entry is opened.
    @discardableResult
    package func prune() -> PruneReport {
        let settings = configuration
        return sweep(limit: settings.maxSize > 0 ? { _ in settings.maxSize } : nil)
    }

    /// Frees space on a full disk: removes the oldest entries down to half of the usage or of the limit.
    func makeRoom() {
        let settings = configuration
        guard settings.maxSize > 0 else { return }
        // A limit just below the usage makes the sweep remove entries down to half of it.
        _ = sweep(limit: { usage in min(settings.maxSize, usage - 1) })
    }

    private func sweep(limit: ((_ usage: Int) -> Int)?) -> PruneReport {
        var report = PruneReport()
        guard isUsable(anew: true) else { return report }
        do throws(SystemError) {
            let done = try files.withSweepLock { record in
                // Callers that arrive during this sweep need not start another one.
                noteSweep()
                return sweep(record, limit)
            }
            if let done { return done }
            report.isBusy = true
        } catch {
            if error.isMissing { return report }
            note(error, at: "\(directory)/\(SweepRecord.name)", isReading: false)
        }
        (report.kept, report.keptSize) = totals
        return report
    }

    private func sweep(_ record: SweepRecord, _ limit: ((_ usage: Int) -> Int)?) -> PruneReport {
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
                case .temporary: if files.removeAbandoned("\(path)/\(name)") { report.forsaken += 1 }
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

    /// Returns the newest date that is expired; nil if no entry expires.
    static func expiryDate(_ maxAge: Duration, now: Int64, isDoubtful: Bool) -> Int64? {
        // A zero age expires everything, independent of the clock.
        if maxAge == .zero { return .max }
        if maxAge < .zero || isDoubtful { return nil }
        let (seconds, rest) = maxAge.components
        let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (age, overflowsToo) = whole.addingReportingOverflow(rest / 1_000_000_000)
        return overflows || overflowsToo ? nil : now &- age
    }

    static func date(of facts: FileFacts, _ expiry: DiskCacheConfiguration.Expiry) -> Int64 {
        switch expiry {
        case .accessed: facts.dates.accessed
        case .modified: facts.dates.modified
        // Changing extended data creates a new file, but keeps its modification date.
        case .created: facts.dates.born > 0 ? min(facts.dates.born, facts.dates.modified) : facts.dates.modified
        case .changed: facts.dates.changed
        }
    }

    /// Removes entries in small groups, so that no process that stores an entry waits long for the folder's lock.
    ///
    /// Several threads do this, because some disks need a long time for each file.
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

    /// Removes entries of one folder; checks each again before removing it.
    private func remove(
        _ rows: [EntryTable.Row], of table: EntryTable, _ expiry: DiskCacheConfiguration.Expiry, now: Int64
    ) -> (count: Int, size: Int) {
        let path = files.folder(EntryName.folders[Int(rows[0].folder)])
        var count = 0
        var size = 0
        try? files.withFolder(path, .exclusive, attempts: 100) { isLocked throws(SystemError) in
            // A stopped process holds the lock; the next sweep finds these entries again.
            if !isLocked { return }
            for row in rows {
                let name = "\(path)/\(table.name(row))"
                guard let facts = try? files.system.facts(at: name), facts.inode == row.inode,
                    facts.dates.modified == row.modified, min(Self.date(of: facts, expiry), now) <= row.date
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

    /// Replaces dates in the future by the current date.
    private func date(_ path: String, _ now: Int64) {
        guard let file = try? files.system.open(path) else { return }
        defer { files.system.close(file) }
        guard let facts = try? files.system.facts(file) else { return }
        try? files.system.setDates(
            file, accessed: facts.dates.accessed > now ? now : nil, modified: facts.dates.modified > now ? now : nil)
    }

    // MARK: Automatic sweeps

    /// Starts a background sweep if the interval has passed or enough bytes were written.
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
