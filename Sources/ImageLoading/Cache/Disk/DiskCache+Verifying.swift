import CoderHost
import ImageModel

/// The result of ``DiskCache/verify(repair:)``; lists contain file paths.
package struct VerifyReport: Sendable, Hashable {
    /// Number of undamaged entries.
    package var sound = 0
    /// Bytes on disk of the undamaged entries.
    package var soundSize = 0
    /// Damaged entries; a lookup treats each as a miss.
    package var damaged: [String] = []
    /// Undamaged entries under the name of another key.
    package var misplaced: [String] = []
    /// Unfinished files that stopped processes have left.
    package var forsaken: [String] = []
    /// Links, folders and other objects in the place of an entry or folder of the cache.
    package var obstacles: [String] = []
    /// Files that no cache has created; they are never removed.
    package var foreign: [String] = []
    /// Files that could not be read, so their state is unknown.
    package var unreadable: [String] = []
    /// Number of removed files.
    package var removed = 0

    /// Creates an empty report.
    package init() {}

    /// Whether nothing needs repair.
    package var isSound: Bool {
        [damaged, misplaced, forsaken, obstacles, unreadable].allSatisfy(\.isEmpty)
    }
}

extension DiskCache {
    /// Reads every file and compares it with its checksums.
    ///
    /// - Parameter repair: removes damaged and misplaced entries, unfinished files of stopped processes, and links and
    ///   empty folders in the place of entries.
    package func verify(repair: Bool = false) -> VerifyReport {
        var report = VerifyReport()
        guard isUsable(anew: true) else { return report }
        let isMarked = files.isMarked()
        // The trailing "/." follows a link.
        try? files.system.list("\(directory)/.") { name, facts in
            let path = "\(directory)/\(name)"
            // Another folder may be another namespace.
            if facts.kind == .folder || [SweepRecord.name, FolderMark.name].contains(name) { return }
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
            guard files.removeAbandoned(path) else { return }
            report.removed += 1
            report.forsaken.append(path)
        } else if files.isAbandoned(path) {
            report.forsaken.append(path)
        }
    }

    private func examineObstacle(_ path: String, _ facts: FileFacts, _ repair: Bool, _ report: inout VerifyReport) {
        report.obstacles.append(path)
        guard repair else { return }
        do throws(SystemError) {
            switch facts.kind {
            case .link: try files.system.unlink(path)
            // Fails if the folder is not empty.
            case .folder: try files.system.removeFolder(path)
            default: return
            }
            report.removed += 1
        } catch {
            // The report already contains it.
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
