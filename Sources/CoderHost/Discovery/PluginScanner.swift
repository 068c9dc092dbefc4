import CCoderPlugin
import ImageModel

/// Reads the plugin folders; loads nothing.
struct PluginScanner {
    let configuration: HostConfiguration

    /// A plugin is code; the largest known is well below this.
    private static let maxFileBytes = 256 << 20

    /// All candidates in order of precedence, each with a status.
    ///
    /// Complexity: one directory read per folder, and a few small reads per file.
    func scan() -> [PluginRecord] {
        var records: [PluginRecord] = []
        var visitedFolders: Set<FileIdentity> = []
        var visitedFiles: Set<FileIdentity> = []
        let resolver = LibraryResolver()
        let own = Set(HostConfiguration.installationDirectories().compactMap(resolvedPath))
        for directory in configuration.directories {
            guard var folder = FileStatus.of(directory.path)?.identity else { continue }
            // Two names of one folder are one folder.
            folder.size = 0
            folder.modified = 0
            folder.changed = 0
            guard visitedFolders.insert(folder).inserted, let names = try? directoryEntries(directory.path) else {
                continue
            }
            let candidates = names.filter { $0.hasPrefix("libcoder-") && $0.hasSuffix(".so") }
            if candidates.isEmpty { continue }
            let place = resolvedPath(directory.path) ?? directory.path
            let doubt = PathTrust.examine(directory: place)
            for name in candidates {
                var record = examine("\(place)/\(name)", directory, place, doubt, resolver)
                record.isInstalled = own.contains(place)
                // Two names of one file are one plugin.
                if let identity = record.identity, !visitedFiles.insert(identity).inserted { continue }
                records.append(record)
            }
        }
        shadow(&records)
        return records
    }

    private func examine(
        _ path: String, _ directory: HostConfiguration.PluginDirectory, _ folder: String, _ doubt: PathTrust.Doubt?,
        _ resolver: LibraryResolver
    ) -> PluginRecord {
        var record = PluginRecord(
            path: path, directory: directory, tier: .user, status: PluginStatus(.ready), manifest: nil, needed: [])
        do {
            let file = try File(reading: path)
            let status = try file.status()
            record.identity = status.identity
            record.tier = status.owner == 0 && FileStatus.of(folder)?.owner == 0 ? .system : .user
            guard status.isRegular else {
                record.status = PluginStatus(.notAPlugin, reason: "it is no regular file", remedy: "remove it")
                return record
            }
            guard status.size <= Self.maxFileBytes else {
                record.status = PluginStatus(.notAPlugin, reason: "it is larger than 256 MiB", remedy: "remove it")
                return record
            }
            if let problem = doubt ?? PathTrust.examine(file: path, status) ?? Self.doubt(behindLink: path) {
                record.status = PluginStatus(
                    .untrustedPath, reason: "\(problem.component): \(problem.reason)", remedy: problem.remedy)
            }
            let image = try ELFImage(file, size: status.size)
            record.needed = image.needed
            let (manifest, problem) = Self.manifest(image)
            record.manifest = manifest
            if let manifest {
                record.administration = Administration.of(
                    plugin: manifest.id, in: configuration.administrationDirectories)
            }
            if record.status.state == .untrustedPath { return record }
            if let problem = problem ?? judge(record, image, folder, resolver) {
                record.status = problem
            }
            record.needsOrigin = record.status.isUsable && resolver.needsOrigin(image, in: folder)
        } catch let error as SystemError {
            record.status = PluginStatus(
                .notAPlugin, reason: "it cannot be read: \(error)", remedy: "chmod a+r, or remove it")
        } catch let failure as ELFImage.Failure {
            if record.status.state != .untrustedPath { record.status = Self.status(failure) }
        } catch {
            record.status = PluginStatus(.notAPlugin, reason: "\(error)")
        }
        return record
    }

    /// The doubt about the place that a link leads to.
    private static func doubt(behindLink path: String) -> PathTrust.Doubt? {
        guard FileStatus.of(path, followingLinks: false)?.isLink == true, let real = resolvedPath(path),
            let slash = real.lastIndex(of: "/")
        else { return nil }
        return PathTrust.examine(directory: slash == real.startIndex ? "/" : String(real[..<slash]))
    }

    private static func status(_ failure: ELFImage.Failure) -> PluginStatus {
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

    /// The manifest, or why there is none.
    private static func manifest(_ image: ELFImage) -> (PluginManifest?, PluginStatus?) {
        let notes = image.notes.filter { $0.owner == Array("CoderHost\0".utf8) && $0.type == CPI_NOTE_TYPE }
        guard let note = notes.first else {
            return (
                nil,
                PluginStatus(
                    .noManifest, reason: "it has no manifest note",
                    remedy: "build it with CPI_MANIFEST(…) in one C file, or with the EmbedManifest build plugin")
            )
        }
        guard notes.count == 1 else {
            return (
                nil,
                PluginStatus(
                    .badManifest, reason: "it has \(notes.count) manifest notes", remedy: "keep one CPI_MANIFEST")
            )
        }
        // CPI_MANIFEST counts the NUL of its string literal.
        let text = Array(note.text.reversed().drop { $0 == 0 }.reversed())
        guard text.count <= Int(CPI_MANIFEST_LIMIT) else {
            return (
                nil,
                PluginStatus(.badManifest, reason: "its manifest is larger than 64 KiB", remedy: "shorten it")
            )
        }
        do {
            return (try PluginManifest(json: text), nil)
        } catch {
            return (
                nil, PluginStatus(.badManifest, reason: error.message, remedy: "correct the manifest and rebuild")
            )
        }
    }

    /// What speaks against a plugin whose manifest could be read.
    private func judge(
        _ record: PluginRecord, _ image: ELFImage, _ folder: String, _ resolver: LibraryResolver
    ) -> PluginStatus? {
        guard let manifest = record.manifest else { return nil }
        if !record.administration.isEnabled {
            let file = record.administration.file ?? ""
            return PluginStatus(.disabled, reason: "by \(file)", remedy: "set enabled = yes in \(file)")
        }
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
        let missing = resolver.missing(for: image, in: folder)
        if !missing.isEmpty {
            let names = missing.map { $0.neededBy == nil ? $0.library : "\($0.library) (needed by \($0.neededBy!))" }
            return PluginStatus(
                .missingLibrary, reason: names.joined(separator: ", ") + " not found",
                remedy: "install the package that has \(missing[0].library)")
        }
        return nil
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
