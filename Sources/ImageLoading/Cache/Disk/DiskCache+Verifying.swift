import CoderHost
import ImageModel

/// What ``DiskCache/verify(repair:)`` found; paths of files.
public struct VerifyReport: Sendable, Hashable {
    /// Entries that are as they were written.
    public var sound = 0
    public var soundSize = 0
    /// Entries that are not; each is a miss for everybody who asks for it.
    public var damaged: [String] = []
    /// Sound entries under a name that is another key's.
    public var misplaced: [String] = []
    /// Unfinished files of processes that were ended.
    public var forsaken: [String] = []
    /// Links, folders and the like that keep entries from being stored where they belong.
    public var obstacles: [String] = []
    /// What no cache has put there; always left alone.
    public var foreign: [String] = []
    /// What could not be read, so nothing is known of it.
    public var unreadable: [String] = []
    /// Files that were removed.
    public var removed = 0

    public init() {}

    /// Whether there is nothing to repair.
    public var isSound: Bool {
        [damaged, misplaced, forsaken, obstacles, unreadable].allSatisfy(\.isEmpty)
    }
}

extension DiskCache {
    /// Reads every file and compares it with its checks.
    ///
    /// - Parameter repair: removes entries that are damaged or misplaced, and unfinished files; of what stands in the way
    ///   links and empty folders, which hold nothing.
    public func verify(repair: Bool = false) -> VerifyReport {
        var report = VerifyReport()
        guard isUsable(anew: true) else { return report }
        let isMarked = files.isMarked()
        // It may be a link.
        try? files.system.list("\(directory)/.") { name, facts in
            let path = "\(directory)/\(name)"
            // A folder may be another namespace.
            if facts.kind == .folder || [JanitorRecord.name, FolderMark.name].contains(name) { return }
            if EntryName.folders.contains(name) {
                examineObstacle(path, facts, repair && isMarked, &report)
            } else {
                report.foreign.append(path)
            }
        }
        for folder in EntryName.folders {
            list(folder, isMarked) { name, occupant, facts in
                let path = "\(files.folder(folder))/\(name)"
                switch occupant {
                case .temporary: examineTemporary(path, repair, &report)
                case .entry: examine(path, name, in: folder, facts, repair, &report)
                case .obstacle: examineObstacle(path, facts, repair, &report)
                case .foreign: report.foreign.append(path)
                }
            }
        }
        return report
    }

    private func examineTemporary(_ path: String, _ repair: Bool, _ report: inout VerifyReport) {
        if repair {
            guard files.removeForsaken(path) else { return }
            report.removed += 1
            report.forsaken.append(path)
        } else if files.isForsaken(path) {
            report.forsaken.append(path)
        }
    }

    private func examineObstacle(_ path: String, _ facts: FileFacts, _ repair: Bool, _ report: inout VerifyReport) {
        report.obstacles.append(path)
        guard repair else { return }
        do throws(SystemError) {
            switch facts.kind {
            case .link: try files.system.unlink(path)
            // It goes only where it is empty.
            case .folder: try files.system.removeFolder(path)
            default: return
            }
            report.removed += 1
        } catch {
            // It is in the report.
        }
    }

    private func examine(
        _ path: String, _ name: String, in folder: String, _ facts: FileFacts, _ repair: Bool,
        _ report: inout VerifyReport
    ) {
        let outcome = files.read(path, keyHash: nil, .everything, maxCount: configuration.maxEntrySize)
        switch outcome {
        case .entry(let entry):
            if EntryName(key: entry.tail.key).files.contains(name) {
                report.sound += 1
                report.soundSize += facts.usage
                return
            }
            report.misplaced.append(path)
            if repair, files.discard(path, in: folder, entry.facts) { report.removed += 1 }
        case .missing: return
        case .damaged(let facts):
            report.damaged.append(path)
            if repair, files.discard(path, in: folder, facts) { report.removed += 1 }
        case .unreadable: report.unreadable.append(path)
        }
    }
}
