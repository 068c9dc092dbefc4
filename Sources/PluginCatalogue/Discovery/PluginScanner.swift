import Glibc
package import HostSystem
import ImageModel
import Synchronization

/// An existing folder or file that could not be read, so its plugins are unknown.
package struct UnreadablePlace: Sendable, Hashable {
    package var message: String
    package var remedy: String
    /// Whether a retry may succeed: the process or the system had too many open files.
    package var isTransient: Bool

    package init(_ path: String, _ error: SystemError) {
        message = "\(path) could not be read: \(error)"
        isTransient = Self.isShortage(error)
        remedy = Self.remedy(error) ?? "check the permissions of \(shellQuoted(path))"
    }

    /// Error codes for a shortage in the process or the system.
    package static let shortages = [EMFILE, ENFILE, ENOMEM]

    package static func isShortage(_ error: SystemError) -> Bool { shortages.contains(error.code) }

    /// Returns the remedy for a shortage; nil for errors of the file itself.
    package static func remedy(_ error: SystemError) -> String? {
        switch error.code {
        case EMFILE:
            "allow the process more open files: ulimit -n 256" + (openFileLimit().map { " (now \($0))" } ?? "")
        case ENFILE: "the system has too many open files: see /proc/sys/fs/file-max"
        case ENOMEM: "there is too little memory: see ulimit -v and free"
        default: nil
        }
    }
}

extension PluginStatus {
    /// The status of an existing file that could not be read.
    package init(unreadable error: SystemError) {
        self.init(
            .notAPlugin, reason: "it cannot be read: \(error)",
            remedy: UnreadablePlace.remedy(error) ?? "chmod a+r, or remove it")
    }
}

/// Scans the plugin folders without loading anything.
///
/// A folder may change during the scan. If a file changes during the scan, its record states the problem; a removed
/// file gets no record. The scanner never waits.
package struct PluginScanner {
    private let search: PluginSearch
    private let trust: PluginTrust
    /// The number of shortages when the scan began.
    private let shortages: Int
    private let resolver = LibraryResolver()
    private let gate = Gate()

    /// Shares cached results between plugins.
    private final class Gate { var elfGate = ELFGate() }

    package init(_ search: PluginSearch) {
        shortages = File.shortages.load(ordering: .relaxed)
        self.search = search
        trust = PluginTrust(search)
    }

    /// The largest known plugin is much smaller than this.
    private static let maxFileBytes = 256 << 20

    /// Files of the trust store that were ignored, and why.
    package var warnings: [String] { trust.store.warnings }

    /// Returns all candidates in order of precedence, each with a status, and the places that could not be read.
    ///
    /// - Complexity: One directory read per folder, and a few small reads per file; signed files are read completely.
    package func scan() -> (records: [PluginRecord], unread: [UnreadablePlace]) {
        var unread: [UnreadablePlace] = []
        var records: [PluginRecord] = []
        var visitedFolders: Set<FileIdentity> = []
        var visitedFiles: Set<FileIdentity> = []
        let own = Set(PluginSearch.installationDirectories().compactMap(resolvedPath))
        for directory in search.directories {
            // Two names can denote the same folder.
            let folder: PluginFolder
            let names: [String]
            do throws(SystemError) {
                folder = try PluginFolder(opening: directory.path)
                guard let key = folder.key, visitedFolders.insert(key).inserted else { continue }
                names = try folder.names()
            } catch {
                if ![ENOENT, ENOTDIR].contains(error.code) { unread.append(UnreadablePlace(directory.path, error)) }
                continue
            }
            let signed = Set(names.filter { $0.hasPrefix("libcoder-") && $0.hasSuffix(".so.sig") })
            let isInstalled = resolvedPath(directory.path).map(own.contains) ?? false
            for name in names where name.hasPrefix("libcoder-") && name.hasSuffix(".so") {
                guard var record = examine(name, in: folder, directory, signed.contains("\(name).sig")) else {
                    continue
                }
                if let error = record.examination.shortage { unread.append(UnreadablePlace(record.path, error)) }
                record.examination.isInstalled = isInstalled
                // Two names can denote the same file.
                if let identity = record.examination.identity, !visitedFiles.insert(identity).inserted { continue }
                records.append(record)
            }
        }
        shadow(&records)
        return (records, unread)
    }

    /// Examines a file in any folder; nil if it does not exist.
    package func examine(file path: String) -> PluginRecord? {
        guard let folder = PluginFolder(parentFolder(path)) else { return nil }
        let known = search.directories.first { resolvedPath($0.path) == folder.place }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return examine(
            name, in: folder, known ?? PluginDirectory(folder.place, origin: .argument),
            FileStatus.of("\(path).sig") != nil)
    }

    /// Examines a plugin's file again; nil if it does not exist anymore.
    package func examine(again record: PluginRecord) -> PluginRecord? {
        guard let folder = PluginFolder(parentFolder(record.path)) else { return nil }
        let name = record.fileName
        return examine(name, in: folder, record.directory, FileStatus.of("\(record.path).sig") != nil)
    }

    private func examine(
        _ name: String, in folder: PluginFolder, _ directory: PluginDirectory, _ hasSignature: Bool
    ) -> PluginRecord? {
        let path = folder.place == "/" ? "/\(name)" : "\(folder.place)/\(name)"
        var record = PluginRecord(
            path: path, directory: directory, tier: .foreign, status: PluginStatus(.ready), manifest: nil, needed: [])
        do throws(SystemError) {
            guard let opened = try folder.open(name) else {
                record.status = PluginStatus(.notAPlugin, reason: "it is not a regular file", remedy: "remove it")
                return record
            }
            record.examination.identity = opened.status.identity
            waitForNextFileTime(after: opened.status.identity.changed)
            guard opened.status.size <= Self.maxFileBytes else {
                record.status = PluginStatus(.notAPlugin, reason: "it is larger than 256 MiB", remedy: "remove it")
                return record
            }
            examine(&record, opened, folder, hasSignature)
            // A shortage prevented the check of its libraries, signature or settings, so the verdict is not final.
            if !record.status.isUsable, File.shortages.load(ordering: .relaxed) != shortages {
                record.examination.shortage = SystemError(EMFILE)
            }
        } catch {
            // A dangling link gets a record; a file that disappeared does not.
            if error.code == ENOENT && FileStatus.of(path, followingLinks: false) == nil { return nil }
            if UnreadablePlace.isShortage(error) { record.examination.shortage = error }
            record.status = PluginStatus(unreadable: error)
        }
        return record
    }

    /// Reads the file's description and decides whether the host may use it.
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
        record.examination.manifestText = text
        if let manifest {
            record.administration = Administration.of(plugin: manifest.id, in: search.administrationDirectories)
        }
        record.examination.needsOrigin = resolver.needsOrigin(image, in: folder.place)
        let verdict = trust.judge(
            candidate(
                record, opened, folder, doubt, needsOrigin: record.examination.needsOrigin, hasSignature: hasSignature))
        record.tier = verdict.tier
        record.examination.grounds = verdict.grounds
        record.signature = verdict.signature
        record.warnings = verdict.warnings
        // The path check comes first: the manifest of an untrusted file proves nothing.
        if let refusal = verdict.refusal, refusal.state == .untrustedPath || manifest != nil && problem == nil {
            record.status =
                record.administration.isEnabled || refusal.state == .untrustedPath
                ? refusal : disabled(record)
            return
        }
        if let problem = problem ?? judge(record, image, folder, isTrusted: doubt == nil) { record.status = problem }
        if record.status.isUsable { record.warnings += Self.exportWarnings(image) }
    }

    private func candidate(
        _ record: PluginRecord, _ opened: PluginFolder.Opened, _ folder: PluginFolder, _ doubt: PathTrust.Doubt?,
        needsOrigin: Bool, hasSignature: Bool
    ) -> PluginTrust.Candidate {
        PluginTrust.Candidate(
            path: record.path, manifest: record.manifest, file: opened.file, status: opened.status, doubt: doubt,
            folder: folder, needsOrigin: needsOrigin,
            signature: hasSignature ? (try? StateFile.read("\(record.path).sig")) ?? nil : nil,
            hasSignature: hasSignature
        )
    }

    /// Returns the reason why another user could have placed the file there.
    private static func doubt(
        _ path: String, _ opened: PluginFolder.Opened, _ folder: PluginFolder
    ) -> PathTrust.Doubt? {
        if let doubt = folder.chain.doubt ?? PathTrust.examine(file: path, opened.status) { return doubt }
        guard let outside = opened.outside else { return nil }
        // A change in the target's folder would not change the listing of this folder.
        return PathTrust.examine(directory: parentFolder(outside))
            ?? PathTrust.Doubt(
                component: path, reason: "it is a link to a file outside its folder, \(outside)",
                remedy: "copy the file instead, name its folder in CODERHOST_PLUGIN_PATH, or: coderhost plugin trust "
                    + shellQuoted(path))
    }

    /// Returns warnings that do not prevent the use of the plugin.
    private static func exportWarnings(_ image: ELFImage) -> [String] {
        guard let exports = image.exports else { return [] }
        let others = exports.filter { !$0.hasPrefix("cpi_entry_") }
        guard !others.isEmpty else { return [] }
        let shown = others.prefix(3).joined(separator: ", ") + (others.count > 3 ? ", …" : "")
        return [
            "it exports \(others.count) more symbols than its entry (\(shown)), which may clash with other libraries; "
                + "use a version script"
        ]
    }

    package static func status(_ failure: ELFImage.Failure) -> PluginStatus {
        switch failure {
        case .notELF:
            PluginStatus(
                .notAPlugin, reason: "it is not a shared object", remedy: "copy the built plugin again, or remove it"
            )
        case .damaged(let why):
            PluginStatus(.notAPlugin, reason: "it is a damaged shared object: \(why)", remedy: "copy it again")
        case .wrongArchitecture(let found, let wanted):
            PluginStatus(
                .wrongArchitecture, reason: "it is built for \(found), but this host runs on \(wanted)",
                remedy: "install the build for \(wanted)")
        }
    }

    /// Returns the bytes of the manifest note; nil if there is none or more than one.
    package static func manifestText(_ image: ELFImage) -> [UInt8]? {
        let notes = manifestNotes(image)
        return notes.count == 1 ? notes[0].text : nil
    }

    private static func manifestNotes(_ image: ELFImage) -> [ELFImage.Note] {
        image.notes.filter { $0.owner == ContractConstants.noteOwner && $0.type == ContractConstants.noteType }
    }

    /// Returns the manifest and its bytes, or the reason why there is none.
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
        // CPI_MANIFEST includes the NUL of its string literal.
        let text = Array(note.text.reversed().drop { $0 == 0 }.reversed())
        guard text.count <= ContractConstants.manifestLimit else {
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

    /// Returns the problem of a plugin with a readable manifest, if any.
    private func judge(
        _ record: PluginRecord, _ image: ELFImage, _ folder: PluginFolder, isTrusted: Bool
    ) -> PluginStatus? {
        guard let manifest = record.manifest else { return nil }
        if !record.administration.isEnabled { return disabled(record) }
        if manifest.abi.major > ContractConstants.major || manifest.abi.minorNeeded > ContractConstants.minor {
            return PluginStatus(
                .abiTooNew,
                reason: "it needs interface \(manifest.abi.major).\(manifest.abi.minorNeeded), this host has "
                    + "\(ContractConstants.major).\(ContractConstants.minor)",
                remedy: "update coderhost")
        }
        if manifest.abi.major < ContractConstants.major {
            return PluginStatus(
                .abiTooOld,
                reason: "it is built for interface \(manifest.abi.major), this host has \(ContractConstants.major)",
                remedy: "update the plugin")
        }
        if !image.mayExport(ContractConstants.entrySymbol) {
            return PluginStatus(
                .notAPlugin, reason: "it does not export \(ContractConstants.entrySymbol)",
                remedy: "export that symbol (check with nm -D)")
        }
        if let problem = gate.elfGate.examine(image, in: folder.place, isTrusted: isTrusted) {
            return PluginStatus(.unsafeELF, reason: problem.reason, remedy: problem.remedy)
        }
        let missing = resolver.missing(for: image, in: folder.place)
        if !missing.isEmpty {
            let names = missing.map { $0.neededBy == nil ? $0.library : "\($0.library) (needed by \($0.neededBy!))" }
            return PluginStatus(
                .missingLibrary, reason: names.joined(separator: ", ") + " not found",
                remedy: "install the package that contains \(missing[0].library)")
        }
        return nil
    }

    private func disabled(_ record: PluginRecord) -> PluginStatus {
        let file = record.administration.file ?? ""
        return PluginStatus(.disabled, reason: "by \(file)", remedy: "coderhost plugin enable \(record.id)")
    }

    /// Marks all but the first usable plugin with the same id as shadowed.
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
