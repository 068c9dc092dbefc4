import ImageProcessing
import Synchronization

/// Hashes of plugin files that this process has seen, by version of the file.
enum KnownHashes {
    private static let known = Mutex<[FileIdentity: ContentHash]>([:])

    /// The hash of the file that a record tells of; nil when it cannot be read, or is another by now.
    static func hash(of record: PluginRecord) -> ContentHash? {
        guard let identity = record.identity else { return nil }
        if let hash = known.withLock({ $0[identity] }) { return hash }
        guard let file = try? File(reading: record.path), (try? file.status().identity) == identity,
            let hash = try? ContentHash(of: file, size: identity.size), (try? file.status().identity) == identity
        else { return nil }
        known.withLock { $0[identity] = hash }
        return hash
    }
}
