import ImageLoading
import ImageModel
import Synchronization

/// A cache on disk that tells of every key whether it was kept, and why not.
///
/// Nobody but a command wants to know: a picture is handed over whether or not its file could be kept.
/// - Concurrency: any thread.
final class NotedCache: DiskCaching {
    private let disk: DiskCache
    private let outcomes = Mutex<[String: Result<Void, CoderError>]>([:])

    init(_ disk: DiskCache) { self.disk = disk }

    /// What became of storing a key; nil where nobody tried.
    func outcome(of key: String) -> Result<Void, CoderError>? { outcomes.withLock { $0[key] } }

    var totals: (count: Int, size: Int) { disk.totals }

    /// Keys that were kept, and keys that were not.
    var counts: (kept: Int, lost: Int) {
        outcomes.withLock { outcomes in
            let kept = outcomes.values.count { if case .success = $0 { true } else { false } }
            return (kept, outcomes.count - kept)
        }
    }

    func data(for key: String) -> CachedData? { disk.data(for: key) }

    func store(_ data: CachedData, for key: String) throws(CoderError) {
        let outcome = Result { () throws(CoderError) in try disk.store(data, for: key) }
        outcomes.withLock { $0[key] = outcome }
        try outcome.get()
    }

    func remove(_ key: String) { disk.remove(key) }
    func contains(_ key: String) -> Bool { disk.contains(key) }
    func clear() { disk.clear() }
    func deleteOldFiles() { disk.deleteOldFiles() }
}
