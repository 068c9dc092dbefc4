import ImageLoading
import ImageModel
import HostSystem

/// A disk cache that records for each key whether storing succeeded.
///
/// Rationale: the image manager returns an image even if the cache cannot store it, but a command reports that.
///
/// - Concurrency: any thread.
final class OutcomeRecordingCache: DiskCaching {
    private let disk: DiskCache
    private let outcomes = Mutex<[String: Result<Void, CoderError>]>([:])

    init(_ disk: DiskCache) { self.disk = disk }

    /// Returns the outcome of storing a key; nil if nothing was stored.
    func outcome(of key: String) -> Result<Void, CoderError>? { outcomes.withLock { $0[key] } }

    var totals: (count: Int, size: Int) { disk.totals }

    /// The number of stored keys, and of keys that could not be stored.
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
    func configure(_ configuration: DiskCacheConfiguration) { disk.configure(configuration) }
}
