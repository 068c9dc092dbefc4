import HostSystem

/// Caches the hashes of plugin files in this process, by file version.
enum KnownHashes {
    private static let known = Mutex<[FileIdentity: ContentHash]>([:])

    /// Returns the hash of a record's file; nil if the file cannot be read or has changed.
    package static func hash(of record: PluginRecord) -> ContentHash? {
        guard let identity = record.examination.identity else { return nil }
        if let hash = known.withLock({ $0[identity] }) { return hash }
        guard let file = try? File(reading: record.path), (try? file.status().identity) == identity,
            let hash = try? ContentHash(of: file, size: identity.size), (try? file.status().identity) == identity
        else { return nil }
        known.withLock { $0[identity] = hash }
        return hash
    }
}
