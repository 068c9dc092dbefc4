public import ImageModel
import PluginCatalogue
public import PluginRuntime

// MARK: Formats of files

extension CodersManager {
    /// Returns the format of a file by its first bytes, whether a plugin for it is installed or not.
    ///
    ///     if let found = manager.recognizedFormat(of: source) { print(found.name, found.mimeType ?? "") }
    ///
    /// The formats of installed plugins precede all others: usable ones, then unusable ones, then published plugins, then
    /// the host's own table. No plugin code runs.
    /// - Returns: nil if no signature matches.
    public func recognizedFormat(of source: ImageSource) -> RecognizedFormat? {
        let snapshot = registry.snapshot
        if let best = candidates(for: source, forcing: nil, in: snapshot).first(where: \.isCertain),
            let format = best.descriptor.formats.first(where: { $0.id == best.format })
        {
            return RecognizedFormat(format)
        }
        return uninstalledFormat(of: source, in: snapshot)
    }

    /// Returns the format by the signatures of coders that cannot be used.
    private func uninstalledFormat(of source: ImageSource, in snapshot: RegistrySnapshot) -> RecognizedFormat? {
        let sniffer = source.sniffer
        let manifests = snapshot.plugins.compactMap(\.manifest) + configuration.catalogue().map(\.manifest)
        for coder in manifests.flatMap(\.coders) where coder.roles.contains(.decode) {
            if let format = coder.formats.first(where: { sniffer.score($0.signatures) != nil }) {
                return RecognizedFormat(format)
            }
        }
        return KnownFormat.recognized(by: sniffer, fileExtension: source.fileExtension)
    }

    // MARK: Errors

    /// Returns the error if nothing can decode this: an unknown format, or only unusable plugins.
    func absence(of source: ImageSource, forcing id: String?, in snapshot: RegistrySnapshot) -> CoderError {
        if let id { return absence(ofCoder: id, in: snapshot) }
        let known = uninstalledFormat(of: source, in: snapshot)
        var error = absence(of: source, known, in: snapshot)
        error.recognizedFormat = known
        return error
    }

    private func absence(ofCoder id: String, in snapshot: RegistrySnapshot) -> CoderError {
        let message = "there is no usable coder \(id)"
        if let unread = snapshot.unread.first {
            return CoderError(.noCoder, message, hint: unread.remedy, attempts: snapshot.unread.map(\.message))
        }
        if isDisabled(id) {
            return CoderError(
                .noCoder, message, hint: "enable it again", attempts: ["\(id) is disabled by the application"])
        }
        let owner = snapshot.plugins.first { record in
            !record.status.isUsable && (record.manifest?.coders ?? []).contains { $0.id == id }
        }
        if let owner {
            return CoderError(
                .noCoder, message, hint: owner.status.remedy.isEmpty ? "run coderhost list" : owner.status.remedy,
                attempts: ["\(owner.fileName) is \(owner.status.state.word): \(owner.status.reason)"])
        }
        let known = ranked(snapshot) { _ in (format: nil, score: nil) }.reversed().map(\.descriptor)
            .filter { $0.roles.contains(.decode) }.map(\.id)
        return CoderError(
            .noCoder, message,
            hint: OptionCheck.nearest(id, known).map { "did you mean \($0)?" } ?? "run coderhost list --formats")
    }

    private func absence(
        of source: ImageSource, _ recognized: RecognizedFormat?, in snapshot: RegistrySnapshot
    ) -> CoderError {
        if let unread = snapshot.unread.first {
            return CoderError(
                .noCoder, "no readable plugin decodes these bytes", hint: unread.remedy,
                attempts: snapshot.unread.map(\.message))
        }
        if source.count == 0 { return CoderError(.unrecognizedFormat, "the file is empty") }
        if let error = disabledCoder(for: source, in: snapshot) { return error }
        if let error = unusablePlugin(for: source, in: snapshot) { return error }
        let sniffer = source.sniffer
        for known in configuration.catalogue() {
            let formats = known.manifest.coders.filter { $0.roles.contains(.decode) }.flatMap(\.formats)
            if let match = formats.first(where: { sniffer.score($0.signatures) != nil }) {
                return CoderError(
                    .noCoder, "no installed plugin decodes \(match.name)",
                    hint: "put \(known.file) into one of the plugin folders (listed by coderhost doctor)",
                    attempts: ["\(known.file) could decode it, but is not installed"])
            }
        }
        if snapshot.plugins.isEmpty { return Self.absenceOfPlugins(configuration.search.directories.map(\.path)) }
        let list = "coderhost list --formats shows the installed formats"
        if let recognized { return Self.unknownPlugin(for: recognized, list) }
        let unused = snapshot.plugins.filter { !$0.status.isUsable && $0.manifest == nil }
        return CoderError(
            .unrecognizedFormat, "no installed coder recognizes these bytes",
            hint: list
                + (unused.isEmpty ? "" : "; \(unused.map(\.fileName).joined(separator: ", ")) could not be read"))
    }

    private static func unknownPlugin(for recognized: RecognizedFormat, _ list: String) -> CoderError {
        let type = recognized.mimeType.map { " (\($0))" } ?? ""
        return recognized.isImage
            ? CoderError(
                .noCoder, "this looks like \(recognized.name)\(type), which no installed plugin reads",
                hint: "install a plugin for it, or convert it with its own program; \(list)")
            : CoderError(
                .unrecognizedFormat, "this looks like \(recognized.name)\(type), which is not an image", hint: list)
    }

    /// Returns the error if the application has disabled a coder that could decode the bytes.
    private func disabledCoder(for source: ImageSource, in snapshot: RegistrySnapshot) -> CoderError? {
        let sniffer = source.sniffer
        let disabled = snapshot.coders.map(\.descriptor).filter { isDisabled($0.id) && $0.roles.contains(.decode) }
        for coder in disabled {
            guard let match = coder.formats.first(where: { sniffer.score($0.signatures) != nil }) else { continue }
            return CoderError(
                .noCoder, "no usable coder for \(match.name)", hint: "enable \(coder.id) again",
                attempts: ["\(coder.id) is disabled by the application"])
        }
        return nil
    }

    /// Returns the error if an installed but unusable plugin could decode the bytes.
    private func unusablePlugin(for source: ImageSource, in snapshot: RegistrySnapshot) -> CoderError? {
        let sniffer = source.sniffer
        let suffix = source.fileExtension
        var reasons: [String] = []
        var format: String?
        var remedy = ""
        for record in snapshot.plugins where !record.status.isUsable {
            for coder in record.manifest?.coders ?? [] where coder.roles.contains(.decode) {
                guard
                    let match = coder.formats.first(where: {
                        sniffer.score($0.signatures) != nil || $0.isNamed(by: suffix)
                    })
                else { continue }
                format = match.name
                if remedy.isEmpty { remedy = record.status.remedy }
                reasons.append(
                    "\(record.fileName) could decode it, but is \(record.status.state.word): \(record.status.reason)")
                break
            }
        }
        return format.map {
            CoderError(
                .noCoder, "no usable coder for \($0)", hint: remedy.isEmpty ? "run coderhost list" : remedy,
                attempts: reasons)
        }
    }

    /// Without any plugin, the cause is probably not the file.
    private static func absenceOfPlugins(_ folders: [String]) -> CoderError {
        CoderError(
            .unrecognizedFormat, "no installed coder recognizes these bytes: there are no plugins",
            hint: "set CODERHOST_PLUGIN_PATH to a folder with plugins; searched: "
                + (folders.isEmpty ? "no folder" : folders.joined(separator: ", ")))
    }
}

extension RecognizedFormat {
    fileprivate init(_ format: PluginManifest.Format) {
        self.init(
            format.id, name: format.name, mimeType: format.mimeTypes.first,
            typeIdentifier: format.typeIdentifiers.first, extensions: format.extensions)
    }
}
