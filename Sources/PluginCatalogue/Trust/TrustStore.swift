package import HostSystem

/// The plugin files and keys that the user and the administrator trust.
///
///     trust.d/<sha256>.trust   a trusted plugin file, in any folder
///     trust.d/<any name>.pub   a trusted key
///     trust.d/revoked          ids of revoked keys, one per line; counts for the keys of every folder
///
/// A folder or file that another user could write to is ignored with a warning. The store is read on first use.
///
/// - Concurrency: any thread.
package final class TrustStore: Sendable {
    /// A trusted file.
    package struct Entry: Sendable, Hashable {
        package var hash: ContentHash
        package var plugin: String
        /// The location of the file when it was trusted.
        package var path: String
        package var since: String
        /// The file of the store with this entry.
        package var source: String
    }

    private struct Content {
        var keys: [String: (key: TrustedKey, path: String)] = [:]
        /// The files that revoke each key.
        var revoked: [String: [String]] = [:]
        /// File names that may belong to trusted files, by folder.
        var names: [(folder: String, names: Set<String>)] = []
        var warnings: [String] = []
    }

    private let folders: [String]
    /// Milliseconds since 1970; decides whether a key has expired.
    package let now: Int
    private let content = Mutex<Content?>(nil)

    package init(folders: [String], now: Int = wallMilliseconds()) {
        self.folders = folders
        self.now = now
    }

    /// Creates a store with one trusted key and no trusted files.
    package convenience init(key: TrustedKey) {
        self.init(folders: [])
        content.withLock { $0 = Content(keys: [key.id: (key, "")]) }
    }

    /// Verifies the `.sig` of a file.
    package func signature(
        ofFile path: String, plugin: String, _ hash: ContentHash
    ) throws(SystemError) -> SignatureState {
        guard let file = try StateFile.read("\(path).sig") else { return .none }
        return PluginSignature.examine(file, plugin: plugin, hash, self)
    }

    /// Warnings about ignored files; empty before the first use.
    package var warnings: [String] { content.withLock { $0?.warnings ?? [] } }

    package func key(_ id: String) -> TrustedKey? { read { $0.keys[id]?.key } }
    package func isRevoked(_ id: String) -> Bool { !revocations(of: id).isEmpty }
    /// Returns the files that revoke a key.
    package func revocations(of id: String) -> [String] { read { $0.revoked[id.lowercased()] ?? [] } }
    /// Every trusted key and its file.
    package var keys: [(key: TrustedKey, path: String)] {
        read { content in content.keys.values.map { $0 } }.sorted { $0.key.id < $1.key.id }
    }
    /// Whether any file is trusted; only then is hashing a file useful.
    var hasEntries: Bool { read { $0.names.contains { !$0.names.isEmpty } } }

    /// Returns the entry for a hash; nil if the file is not trusted.
    package func entry(for hash: ContentHash) -> Entry? {
        let places = read { content in content.names.filter { $0.names.contains(Self.name(hash)) }.map(\.folder) }
        for folder in places { if let entry = entry("\(folder)/\(Self.name(hash))") { return entry } }
        return nil
    }

    /// Every trusted file.
    package var entries: [Entry] {
        read { content in
            content.names.flatMap { place in place.names.sorted().map { "\(place.folder)/\($0)" } }
        }.compactMap(entry)
    }

    package static func name(_ hash: ContentHash) -> String { "\(hash).trust" }

    private func entry(_ path: String) -> Entry? {
        guard let bytes = file(path), let document = LineDocument(bytes, title: Self.title, words: Self.words),
            let hash = ContentHash(hex: document["sha256"] ?? ""), path.hasSuffix("/\(Self.name(hash))")
        else { return nil }
        return Entry(
            hash: hash, plugin: document["plugin"] ?? "", path: document["file"] ?? "",
            since: document["since"] ?? "", source: path)
    }

    private static let title = "coderhost-trust 1"
    private static let words = ["sha256", "plugin", "file", "since"]

    // MARK: Reading

    private func read<R>(_ body: (borrowing Content) -> sending R) -> sending R {
        content.withLock { content in
            let known = content ?? Self.load(folders)
            content = known
            return body(known)
        }
    }

    private static func load(_ folders: [String]) -> Content {
        var content = Content()
        var mayBelieve = true
        for folder in folders {
            guard FileStatus.of(folder)?.isDirectory == true else { continue }
            if let doubt = PathTrust.examine(directory: folder) {
                content.warnings.append(
                    "\(folder) is ignored: \(doubt.component): \(doubt.reason); try: \(doubt.remedy)")
                continue
            }
            let names: [String]
            do throws(SystemError) { names = try directoryEntries(folder) } catch {
                content.warnings.append("\(folder) is ignored: \(error)")
                continue
            }
            content.names.append((folder, Set(names.filter { $0.hasSuffix(".trust") })))
            for name in names where name.hasSuffix(".pub") {
                let path = "\(folder)/\(name)"
                guard let bytes = file(path, &content.warnings) else { continue }
                guard let key = TrustedKey(file: bytes) else {
                    content.warnings.append("\(path) is ignored: it is not a public key")
                    continue
                }
                // The user's folder takes precedence.
                if content.keys[key.id] == nil { content.keys[key.id] = (key, path) }
            }
            guard names.contains(Self.revoked) else { continue }
            guard let bytes = file("\(folder)/\(Self.revoked)", &content.warnings) else {
                // The list of revoked keys is unreadable, so no key is trusted.
                mayBelieve = false
                continue
            }
            for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
                let id = Self.revokedKey(line)
                if !id.isEmpty { content.revoked[id, default: []].append("\(folder)/\(Self.revoked)") }
            }
        }
        if !mayBelieve { content.keys = [:] }
        return content
    }

    package static let revoked = "revoked"

    /// Returns the key id of a line of `revoked`; empty for a comment.
    private static func revokedKey(_ line: Substring) -> String {
        String(line.prefix { $0 != "#" }.filter { !$0.isWhitespace }).lowercased()
    }

    private func file(_ path: String) -> [UInt8]? {
        var problems: [String] = []
        let bytes = Self.file(path, &problems)
        if !problems.isEmpty { content.withLock { $0?.warnings += problems } }
        return bytes
    }

    /// Reads a file that no other user can write to.
    private static func file(_ path: String, _ problems: inout [String]) -> [UInt8]? {
        guard let status = FileStatus.of(path) else { return nil }
        let doubt =
            PathTrust.examine(file: path, status)
            ?? (FileStatus.of(path, followingLinks: false)?.isLink == true
                ? PathTrust.examine(directory: parentFolder(resolvedPath(path) ?? path)) : nil)
        if let doubt {
            problems.append("\(path) is ignored: \(doubt.component): \(doubt.reason); try: \(doubt.remedy)")
            return nil
        }
        do throws(SystemError) { return try StateFile.read(path) } catch {
            problems.append("\(path) is ignored: \(error)")
            return nil
        }
    }
}

// MARK: Writing

extension TrustStore {
    /// A change of the store that failed.
    package struct Failure: Error {
        package var message: String
        package var hint: String
    }

    /// Trusts a file; the entry is written to the first folder.
    ///
    /// - Returns: the path of the new entry.
    package func vouch(for hash: ContentHash, plugin: String, path: String) throws(Failure) -> String {
        let document = LineDocument(
            Self.title,
            [
                ("sha256", hash.description), ("plugin", oneLine(plugin)), ("file", oneLine(path)),
                ("since", CivilTime.text(milliseconds: now)),
            ])
        return try write(document.bytes, Self.name(hash))
    }

    /// Trusts a key.
    package func add(_ key: TrustedKey) throws(Failure) -> String { try write(key.file, "\(key.id).pub") }

    /// Adds a key to the list of revoked keys.
    package func revoke(_ id: String) throws(Failure) -> String {
        let (path, old) = try ownList()
        if Self.lines(old).contains(where: { Self.revokedKey($0) == id.lowercased() }) { return path }
        let gap = old.last == UInt8(ascii: "\n") || old.isEmpty ? "" : "\n"
        return try write(old + Array("\(gap)\(id.lowercased())\n".utf8), Self.revoked)
    }

    /// Removes a key from the list in the first folder; keeps the other lines.
    ///
    /// - Returns: the path of the list; nil if it does not contain the key.
    package func takeBackRevocation(of id: String) throws(Failure) -> String? {
        let (path, old) = try ownList()
        let lines = Self.lines(old)
        let kept = lines.filter { Self.revokedKey($0) != id.lowercased() }
        if kept.count == lines.count { return nil }
        if kept.allSatisfy(\.isEmpty) {
            try remove(path)
            return path
        }
        return try write(Array(kept.joined(separator: "\n").utf8), Self.revoked)
    }

    private static func lines(_ bytes: [UInt8]) -> [Substring] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    }

    /// Returns the list in the first folder.
    private func ownList() throws(Failure) -> (path: String, bytes: [UInt8]) {
        guard let folder = folders.first else { throw Self.homeless }
        let path = "\(folder)/\(Self.revoked)"
        do throws(SystemError) { return (path, try StateFile.read(path) ?? []) } catch {
            throw Failure(message: "\(path) cannot be read: \(error)", hint: "check the file and its permissions")
        }
    }

    /// Removes a file of the store.
    package func remove(_ path: String) throws(Failure) {
        do throws(SystemError) { try StateFile.remove(path) } catch {
            throw Failure(message: "\(path) cannot be removed: \(error)", hint: "ask its owner")
        }
        content.withLock { $0 = nil }
    }

    private func write(_ bytes: [UInt8], _ name: String) throws(Failure) -> String {
        guard let folder = folders.first else { throw Self.homeless }
        let path = "\(folder)/\(name)"
        do throws(SystemError) { try StateFile.makeFolder(folder) } catch {
            throw Failure(message: "\(folder) cannot be created: \(error)", hint: "check the folder above it")
        }
        if let doubt = PathTrust.examine(directory: folder) {
            throw Failure(
                message: "files in \(folder) would not be trusted: \(doubt.component): \(doubt.reason)",
                hint: doubt.remedy)
        }
        do throws(SystemError) { try StateFile.write(bytes, to: path) } catch {
            throw Failure(message: "\(path) cannot be written: \(error)", hint: "check the folder and its permissions")
        }
        content.withLock { $0 = nil }
        return path
    }

    private static let homeless = Failure(
        message: "there is no folder for the trust store", hint: "set HOME or XDG_CONFIG_HOME")
}

/// Removes line breaks from a text.
func oneLine(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }))
}

/// Returns the part of a path before the last slash.
package func parentFolder(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}
