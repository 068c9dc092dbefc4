import HostSystem
import ImageModel

/// The files of the quarantine, one per plugin file: `<plugin id>-<first digits of the hash>.json`.
///
/// The ledger is best effort: invalid files are ignored with a warning.
struct QuarantineLedger: Sendable {
    package let folder: String

    package init(_ folder: String) { self.folder = folder }

    /// More failing plugins than any user has.
    private static let maxFiles = 1000
    private static let maxTime = 1 << 53

    private func path(_ key: Quarantine.Key) -> String { "\(folder)/\(key.plugin)-\(key.hash.prefix).json" }

    /// The folder's identity, nil if it does not exist; and whether it has been unchanged long enough for its times to
    /// show the next change.
    package var identity: (folder: FileIdentity?, isSettled: Bool) {
        guard let identity = FileStatus.of(folder)?.identity else { return (nil, false) }
        return (identity, wallMilliseconds() - identity.modified / 1_000_000 > 1000)
    }

    /// Locks the folder.
    ///
    /// - Parameter createsFolder: whether to create the folder for a write.
    package func lock(createsFolder: Bool) -> FolderLock? {
        if createsFolder { _ = try? StateFile.makeFolder(folder) }
        return FileStatus.of(folder)?.isDirectory == true ? FolderLock("\(folder)/.lock") : nil
    }

    /// Returns all valid entries.
    package func entries(_ problems: inout [String]) -> [Quarantine.Entry] {
        let names: [String]
        do throws(SystemError) { names = try directoryEntries(folder) } catch {
            problems.append("the quarantine in \(folder) cannot be read: \(error)")
            return []
        }
        var result: [Quarantine.Entry] = []
        for name in names.filter({ $0.hasSuffix(".json") }).prefix(Self.maxFiles) {
            if let entry = read("\(folder)/\(name)", &problems) { result.append(entry) }
        }
        return result
    }

    package func entry(_ key: Quarantine.Key, _ problems: inout [String]) -> Quarantine.Entry? {
        guard let entry = read(path(key), &problems), entry.hash == key.hash, entry.plugin == key.plugin else {
            return nil
        }
        return entry
    }

    /// Writes or removes an entry; returns the problem, if any.
    package func write(_ entry: Quarantine.Entry?, _ key: Quarantine.Key) -> String? {
        do throws(SystemError) {
            guard let entry else {
                try StateFile.remove(path(key))
                return nil
            }
            try StateFile.makeFolder(folder)
            try StateFile.write(Array((Self.document(entry).text + "\n").utf8), to: path(key))
            return nil
        } catch {
            return "the quarantine in \(folder) cannot be written: \(error); only this process remembers the failure"
        }
    }

    /// Removes files that cannot be parsed.
    func removeDamaged() {
        var problems: [String] = []
        for name in (try? directoryEntries(folder)) ?? [] where name.hasSuffix(".json") {
            if read("\(folder)/\(name)", &problems) == nil { _ = try? StateFile.remove("\(folder)/\(name)") }
        }
    }

    // MARK: One file

    private static func document(_ entry: Quarantine.Entry) -> JSONValue {
        func time(_ value: Int?) -> JSONValue { value.map(JSONValue.integer) ?? .null }
        return .object([
            ("schema", .integer(1)), ("plugin", .string(entry.plugin)), ("sha256", .string(entry.hash.description)),
            ("file", .string(entry.path)), ("since", time(entry.breaker.since)), ("until", time(entry.breaker.until)),
            ("back_off", .integer(entry.breaker.backOff)), ("trial", time(entry.breaker.trial)),
            (
                "failures",
                .array(
                    entry.breaker.failures.map {
                        .object([
                            ("at", .integer($0.time)), ("kind", .string($0.kind.rawValue)),
                            ("phase", .string($0.phase.rawValue)),
                        ])
                    })
            ),
        ])
    }

    private func read(_ path: String, _ problems: inout [String]) -> Quarantine.Entry? {
        do throws(SystemError) {
            // Another process may have removed the file after the folder was read.
            guard let bytes = try StateFile.read(path) else { return nil }
            if let document = try? JSONParser.parse(bytes), let entry = Self.entry(document) { return entry }
            problems.append("\(path) is damaged and ignored; coderhost quarantine clear removes it")
        } catch {
            problems.append("\(path) cannot be read: \(error)")
        }
        return nil
    }

    private static func entry(_ document: JSONValue) -> Quarantine.Entry? {
        func time(_ key: String) -> Int?? {
            guard let value = document[key], value != .null else { return .some(nil) }
            guard let number = value.integer, (0...maxTime).contains(number) else { return nil }
            return number
        }
        guard document["schema"]?.integer == 1, let plugin = document["plugin"]?.string, !plugin.isEmpty,
            plugin.utf8.count <= 128, !plugin.utf8.contains(UInt8(ascii: "/")),
            let hash = ContentHash(hex: document["sha256"]?.string ?? ""),
            let since = time("since"), let until = time("until"), let trial = time("trial"),
            let backOff = document["back_off"]?.integer, (0...CircuitBreaker.longestBackOff).contains(backOff),
            let items = document["failures"]?.array, !items.isEmpty, items.count <= CircuitBreaker.maxFailures
        else { return nil }
        var breaker = CircuitBreaker(failures: [], since: since, until: until, backOff: backOff, trial: trial)
        for item in items {
            guard let time = item["at"]?.integer, (0...maxTime).contains(time),
                let kind = Quarantine.Kind(rawValue: item["kind"]?.string ?? ""),
                let phase = Quarantine.Phase(rawValue: item["phase"]?.string ?? "")
            else { return nil }
            breaker.failures.append(CircuitBreaker.Failure(time: time, kind: kind, phase: phase))
        }
        return Quarantine.Entry(
            plugin: plugin, hash: hash, path: document["file"]?.string ?? "", breaker: breaker)
    }
}
