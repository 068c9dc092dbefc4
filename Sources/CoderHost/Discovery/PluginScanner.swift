import CCoderPlugin
import Glibc
import ImageModel
import Synchronization

/// A folder or file that is there and could not be read, so that nothing is known of the plugins in it.
struct UnreadPlace: Sendable, Hashable {
    var message: String
    var remedy: String
    /// Whether it may be there at the next look: the process, or the system, had too many files open.
    var isTransient: Bool

    init(_ path: String, _ error: SystemError) {
        message = "\(path) could not be read: \(error)"
        isTransient = Self.isShortage(error)
        remedy = Self.remedy(error) ?? "check the permissions of \(shellQuoted(path))"
    }

    /// What the process or the system runs short of, whatever the file is.
    static let shortages = [EMFILE, ENFILE, ENOMEM]

    static func isShortage(_ error: SystemError) -> Bool { shortages.contains(error.code) }

    /// What helps where not the file but the process is at fault; nil elsewhere.
    static func remedy(_ error: SystemError) -> String? {
        switch error.code {
        case EMFILE:
            "allow the process more open files: ulimit -n 256" + (openFileLimit().map { " (now \($0))" } ?? "")
        case ENFILE: "the whole system has too many files open: see /proc/sys/fs/file-max"
        case ENOMEM: "there is too little memory: see ulimit -v and free"
        default: nil
        }
    }
}

extension PluginStatus {
    /// A file that is there and could not be read.
    init(unreadable error: SystemError) {
        self.init(
            .notAPlugin, reason: "it cannot be read: \(error)",
            remedy: UnreadPlace.remedy(error) ?? "chmod a+r, or remove it")
    }
}

/// Reads the plugin folders; loads nothing.
///
/// A folder may change while it is read. Whatever becomes of a file, it has a record that says so, or none when it is
/// gone; nothing is waited for.
package struct PluginScanner {
    private let configuration: HostConfiguration
    private let trust: PluginTrust
    /// How many there had been when it began.
    private let shortages: Int
    private let resolver = LibraryResolver()
    private let gate = Gate()

    /// Keeps what several plugins share.
    private final class Gate { var gate = ELFGate() }

    init(configuration: HostConfiguration) {
        shortages = File.shortages.load(ordering: .relaxed)
        self.configuration = configuration
        trust = PluginTrust(configuration)
    }

    /// A plugin is code; the largest known is well below this.
    private static let maxFileBytes = 256 << 20

    /// What was passed over in the trust store.
    var warnings: [String] { trust.store.warnings }

    /// All candidates in order of precedence, each with a status.
    ///
    /// Complexity: one directory read per folder, and a few small reads per file; files with a signature are read whole.
    func scan() -> (records: [PluginRecord], unread: [UnreadPlace]) {
        var unread: [UnreadPlace] = []
        var records: [PluginRecord] = []
        var visitedFolders: Set<FileIdentity> = []
        var visitedFiles: Set<FileIdentity> = []
        let own = Set(HostConfiguration.installationDirectories().compactMap(resolvedPath))
        for directory in configuration.directories {
            // Two names of one folder are one folder.
            let folder: PluginFolder
            let names: [String]
            do throws(SystemError) {
                folder = try PluginFolder(opening: directory.path)
                guard let key = folder.key, visitedFolders.insert(key).inserted else { continue }
                names = try folder.names()
            } catch {
                if ![ENOENT, ENOTDIR].contains(error.code) { unread.append(UnreadPlace(directory.path, error)) }
                continue
            }
            let signed = Set(names.filter { $0.hasPrefix("libcoder-") && $0.hasSuffix(".so.sig") })
            let isInstalled = resolvedPath(directory.path).map(own.contains) ?? false
            for name in names where name.hasPrefix("libcoder-") && name.hasSuffix(".so") {
                guard var record = examine(name, in: folder, directory, signed.contains("\(name).sig")) else {
                    continue
                }
                if let error = record.shortage { unread.append(UnreadPlace(record.path, error)) }
                record.isInstalled = isInstalled
                // Two names of one file are one plugin.
                if let identity = record.identity, !visitedFiles.insert(identity).inserted { continue }
                records.append(record)
            }
        }
        shadow(&records)
        return (records, unread)
    }

    /// A file in any folder; nil when it is gone.
    func examine(file path: String) -> PluginRecord? {
        guard let folder = PluginFolder(parentFolder(path)) else { return nil }
        let known = configuration.directories.first { resolvedPath($0.path) == folder.place }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return examine(
            name, in: folder, known ?? HostConfiguration.PluginDirectory(folder.place, origin: .argument),
            FileStatus.of("\(path).sig") != nil)
    }

    /// A plugin's file as it is now; nil when it is gone.
    func examine(again record: PluginRecord) -> PluginRecord? {
        guard let folder = PluginFolder(parentFolder(record.path)) else { return nil }
        let name = record.fileName
        return examine(name, in: folder, record.directory, FileStatus.of("\(record.path).sig") != nil)
    }

    private func examine(
        _ name: String, in folder: PluginFolder, _ directory: HostConfiguration.PluginDirectory, _ hasSignature: Bool
    ) -> PluginRecord? {
        let path = folder.place == "/" ? "/\(name)" : "\(folder.place)/\(name)"
        var record = PluginRecord(
            path: path, directory: directory, tier: .foreign, status: PluginStatus(.ready), manifest: nil, needed: [])
        do throws(SystemError) {
            guard let opened = try folder.open(name) else {
                record.status = PluginStatus(.notAPlugin, reason: "it is no regular file", remedy: "remove it")
                return record
            }
            record.identity = opened.status.identity
            guard opened.status.size <= Self.maxFileBytes else {
                record.status = PluginStatus(.notAPlugin, reason: "it is larger than 256 MiB", remedy: "remove it")
                return record
            }
            examine(&record, opened, folder, hasSignature)
            // Its libraries, its signature or what the user decided could not be looked at: that is no verdict for good.
            if !record.status.isUsable, File.shortages.load(ordering: .relaxed) != shortages {
                record.shortage = SystemError(EMFILE)
            }
        } catch {
            // A dangling link is worth a word; a file that vanished is not.
            if error.code == ENOENT && FileStatus.of(path, followingLinks: false) == nil { return nil }
            if UnreadPlace.isShortage(error) { record.shortage = error }
            record.status = PluginStatus(unreadable: error)
        }
        return record
    }

    /// Reads what the file says of itself, and decides.
    private func examine(
        _ record: inout PluginRecord, _ opened: PluginFolder.Opened, _ folder: PluginFolder, _ hasSignature: Bool
    ) {
        let doubt = Self.doubt(record.path, opened, folder)
        let image: ELFImage
        do throws(ELFImage.Failure) { image = try ELFImage(opened.file, size: opened.status.size) } catch {
            let verdict = trust.judge(candidate(record, opened, folder, doubt, needsOrigin: false, hasSignature: false))
            record.tier = verdict.tier
            record.status = verdict.refusal?.state == .untrustedPath ? verdict.refusal! : Self.status(error)
            return
        }
        record.needed = image.needed
        let (manifest, text, problem) = Self.manifest(image)
        record.manifest = manifest
        record.manifestText = text
        if let manifest {
            record.administration = Administration.of(plugin: manifest.id, in: configuration.administrationDirectories)
        }
        record.needsOrigin = resolver.needsOrigin(image, in: folder.place)
        let verdict = trust.judge(
            candidate(record, opened, folder, doubt, needsOrigin: record.needsOrigin, hasSignature: hasSignature))
        record.tier = verdict.tier
        record.grounds = verdict.grounds
        record.signature = verdict.signature
        record.warnings = verdict.warnings
        // Who could have put it there comes first: what it says of itself is then worth nothing.
        if let refusal = verdict.refusal, refusal.state == .untrustedPath || manifest != nil && problem == nil {
            record.status =
                record.administration.isEnabled || refusal.state == .untrustedPath
                ? refusal : disabled(record)
            return
        }
        if let problem = problem ?? judge(record, image, folder, isTrusted: doubt == nil) { record.status = problem }
        if record.status.isUsable { record.warnings += Self.oddities(image) }
    }

    private func candidate(
        _ record: PluginRecord, _ opened: PluginFolder.Opened, _ folder: PluginFolder, _ doubt: PathTrust.Doubt?,
        needsOrigin: Bool, hasSignature: Bool
    ) -> PluginTrust.Candidate {
        PluginTrust.Candidate(
            path: record.path, manifest: record.manifest, file: opened.file, status: opened.status, doubt: doubt,
            folder: folder, needsOrigin: needsOrigin,
            signature: hasSignature ? (try? OwnFile.read("\(record.path).sig")) ?? nil : nil, hasSignature: hasSignature
        )
    }

    /// Why somebody else could have put a file there.
    private static func doubt(
        _ path: String, _ opened: PluginFolder.Opened, _ folder: PluginFolder
    ) -> PathTrust.Doubt? {
        if let doubt = folder.chain.doubt ?? PathTrust.examine(file: path, opened.status) { return doubt }
        guard let outside = opened.outside else { return nil }
        // Its own folder may be anybody's tomorrow, and no listing of this one would show it.
        return PathTrust.examine(directory: parentFolder(outside))
            ?? PathTrust.Doubt(
                component: path, reason: "it is a link that leads out of its folder, to \(outside)",
                remedy: "copy the file instead, name its folder in CODERHOST_PLUGIN_PATH, or: coderhost plugin trust "
                    + shellQuoted(path))
    }

    /// What is no reason to refuse it.
    private static func oddities(_ image: ELFImage) -> [String] {
        guard let exports = image.exports else { return [] }
        let others = exports.filter { !$0.hasPrefix("cpi_entry_") }
        guard !others.isEmpty else { return [] }
        let shown = others.prefix(3).joined(separator: ", ") + (others.count > 3 ? ", …" : "")
        return [
            "it exports \(others.count) more than its entry (\(shown)), which may clash with those of others; "
                + "use a version script"
        ]
    }

    package static func status(_ failure: ELFImage.Failure) -> PluginStatus {
        switch failure {
        case .notELF:
            PluginStatus(
                .notAPlugin, reason: "it is no shared object", remedy: "copy the built plugin again, or remove the file"
            )
        case .damaged(let why):
            PluginStatus(.notAPlugin, reason: "it is a damaged shared object: \(why)", remedy: "copy it again")
        case .wrongArchitecture(let found, let wanted):
            PluginStatus(
                .wrongArchitecture, reason: "it is built for \(found), this host runs on \(wanted)",
                remedy: "install the build for \(wanted)")
        }
    }

    /// The bytes of the one manifest note; nil where there is none, or several.
    static func manifestText(_ image: ELFImage) -> [UInt8]? {
        let notes = manifestNotes(image)
        return notes.count == 1 ? notes[0].text : nil
    }

    private static func manifestNotes(_ image: ELFImage) -> [ELFImage.Note] {
        image.notes.filter { $0.owner == Array("CoderHost\0".utf8) && $0.type == CPI_NOTE_TYPE }
    }

    /// The manifest and its bytes, or why there is none.
    package static func manifest(_ image: ELFImage) -> (PluginManifest?, [UInt8], PluginStatus?) {
        let notes = manifestNotes(image)
        guard let note = notes.first else {
            return (
                nil, [],
                PluginStatus(
                    .noManifest, reason: "it has no manifest note",
                    remedy: "build it with CPI_MANIFEST(…) in one C file, or with the EmbedManifest build plugin")
            )
        }
        guard notes.count == 1 else {
            return (
                nil, [],
                PluginStatus(
                    .badManifest, reason: "it has \(notes.count) manifest notes", remedy: "keep one CPI_MANIFEST")
            )
        }
        // CPI_MANIFEST counts the NUL of its string literal.
        let text = Array(note.text.reversed().drop { $0 == 0 }.reversed())
        guard text.count <= Int(CPI_MANIFEST_LIMIT) else {
            return (
                nil, [],
                PluginStatus(.badManifest, reason: "its manifest is larger than 64 KiB", remedy: "shorten it")
            )
        }
        do {
            return (try PluginManifest(json: text), note.text, nil)
        } catch {
            return (
                nil, [], PluginStatus(.badManifest, reason: error.message, remedy: error.remedy)
            )
        }
    }

    /// What speaks against a plugin whose manifest could be read.
    private func judge(
        _ record: PluginRecord, _ image: ELFImage, _ folder: PluginFolder, isTrusted: Bool
    ) -> PluginStatus? {
        guard let manifest = record.manifest else { return nil }
        if !record.administration.isEnabled { return disabled(record) }
        if manifest.abiMajor > Int(CPI_ABI_MAJOR) || manifest.abiMinorNeeded > Int(CPI_ABI_MINOR) {
            return PluginStatus(
                .abiTooNew,
                reason: "it needs interface \(manifest.abiMajor).\(manifest.abiMinorNeeded), this host has "
                    + "\(CPI_ABI_MAJOR).\(CPI_ABI_MINOR)",
                remedy: "update coderhost")
        }
        if manifest.abiMajor < Int(CPI_ABI_MAJOR) {
            return PluginStatus(
                .abiTooOld, reason: "it is built for interface \(manifest.abiMajor), this host has \(CPI_ABI_MAJOR)",
                remedy: "update the plugin")
        }
        if !image.mayExport(CPI_ENTRY_SYMBOL) {
            return PluginStatus(
                .notAPlugin, reason: "it does not export \(CPI_ENTRY_SYMBOL)",
                remedy: "export that symbol (check with nm -D)")
        }
        if let problem = gate.gate.examine(image, in: folder.place, isTrusted: isTrusted) {
            return PluginStatus(.unsafeELF, reason: problem.reason, remedy: problem.remedy)
        }
        let missing = resolver.missing(for: image, in: folder.place)
        if !missing.isEmpty {
            let names = missing.map { $0.neededBy == nil ? $0.library : "\($0.library) (needed by \($0.neededBy!))" }
            return PluginStatus(
                .missingLibrary, reason: names.joined(separator: ", ") + " not found",
                remedy: "install the package that has \(missing[0].library)")
        }
        return nil
    }

    private func disabled(_ record: PluginRecord) -> PluginStatus {
        let file = record.administration.file ?? ""
        return PluginStatus(.disabled, reason: "by \(file)", remedy: "set enabled = yes in \(file)")
    }

    /// Of several plugins with one id, the first usable one is used.
    private func shadow(_ records: inout [PluginRecord]) {
        var winners: [String: String] = [:]
        for index in records.indices where records[index].status.isUsable {
            guard let id = records[index].manifest?.id else { continue }
            if let winner = winners[id] {
                records[index].status = PluginStatus(
                    .shadowed, reason: "by \(winner)", remedy: "remove one of the two")
            } else {
                winners[id] = records[index].path
            }
        }
    }
}
