import HostSystem
public import ImageModel
import ImageProcessing
import PluginCatalogue
public import PluginRuntime

/// Orders all coders and asks them one after the other.
///
/// Coders added at run time precede the coders of plugins, latest first. Lookups use a snapshot: adding and removing
/// coders never affects a session, and no coder is called while a lock is held.
///
/// - Concurrency: any thread.
public final class CodersManager: Sendable {
    private let added = Mutex<[any ImageCoder]>([])
    let registry: CoderRegistry
    let configuration: HostConfiguration
    /// The default limits of a session.
    package var limits: DecodeLimits { configuration.limits }

    init(registry: CoderRegistry, configuration: HostConfiguration) {
        self.registry = registry
        self.configuration = configuration
    }

    // MARK: Coders

    /// Adds a coder with the highest precedence.
    public func addCoder(_ coder: any ImageCoder) { added.withLock { $0.append(coder) } }

    /// Removes the coders with this id that were added at run time.
    public func removeCoder(_ id: String) { added.withLock { $0.removeAll { $0.descriptor.id == id } } }

    /// Every usable coder in ascending order: the last one is asked first.
    package var coders: [any ImageCoder] {
        let all = ranked(registry.snapshot) { _ in (format: nil, score: nil) }
        return all.reversed().map(\.coder)
    }

    func ranked(
        _ snapshot: RegistrySnapshot,
        _ judge: (CoderDescriptor) -> (format: ImageFormat?, score: Int?)?
    ) -> [RankedCoder] {
        let added = self.added.withLock { $0 }
        var result: [RankedCoder] = []
        for (position, coder) in (snapshot.coders.map { (-1, $0) } + added.enumerated().map { ($0.offset, $0.element) })
        {
            var descriptor = coder.descriptor
            if position >= 0 { descriptor.tier = .runTime }
            guard descriptor.priority > 0, let verdict = judge(descriptor) else { continue }
            result.append(
                RankedCoder(
                    coder: position >= 0 ? RunTimeCoder(coder, descriptor) : coder,
                    format: verdict.format ?? descriptor.formats.first?.id ?? "", score: verdict.score,
                    position: position))
        }
        return result.sorted(by: CoderRanking.precedes)
    }

    // MARK: Decoding

    /// Returns the coders for these bytes, best first.
    ///
    /// A plugin's coder without a matching signature is included only if no signature of any coder matches, the name's
    /// extension belongs to one of its formats, and that format has no signatures.
    package func candidates(for source: ImageSource, forcing id: String? = nil) -> [RankedCoder] {
        candidates(for: source, forcing: id, in: registry.snapshot)
    }

    private func candidates(
        for source: ImageSource, forcing id: String?, in snapshot: RegistrySnapshot
    ) -> [RankedCoder] {
        let all = ranked(snapshot, Self.judge(source, forcing: id))
        guard id == nil, all.contains(where: \.isCertain) else { return all }
        return all.filter { $0.isCertain || $0.descriptor.tier == .runTime }
    }

    /// Returns how well a coder's formats match the bytes; nil if it does not decode them.
    private static func judge(
        _ source: ImageSource, forcing id: String?
    ) -> (CoderDescriptor) -> (format: ImageFormat?, score: Int?)? {
        let sniffer = source.sniffer
        let suffix = source.fileExtension
        return { descriptor in
            guard descriptor.roles.contains(.decode) else { return nil }
            if let id, descriptor.id != id { return nil }
            var best: (format: ImageFormat?, score: Int?)?
            for format in descriptor.formats {
                if let score = sniffer.score(format.signatures), score > best?.score ?? -1 { best = (format.id, score) }
            }
            if best != nil { return best }
            if id != nil { return (nil, nil) }
            // A format whose signatures do not match is excluded, even if the name matches.
            return descriptor.formats.first { $0.isNamed(by: suffix) }.map { ($0.id, nil) }
        }
    }

    /// Whether a coder can decode these bytes.
    public func canDecode(_ source: ImageSource) -> Bool { !candidates(for: source).isEmpty }

    /// Opens an image with the best coder and passes the session to `body`.
    ///
    /// After "not mine" and "unsupported" the next coder is asked. Any other error is final, because a crafted file
    /// must not reach a weaker decoder.
    /// - Throws: the error of `body` or of the last coder; `.unrecognizedFormat` and `.noCoder` if there is no coder.
    public func withSession<R>(
        _ source: ImageSource, options: CoderOptions = CoderOptions(), limits: DecodeLimits? = nil,
        forcing id: String? = nil, _ body: (DecodeSession) throws(CoderError) -> R
    ) throws(CoderError) -> R {
        try firstAble(source, options, limits, id) { candidate, context throws(CoderError) in
            try body(try DecodeSession(candidate, source, context))
        }
    }

    /// Opens an image with the best coder that accepts its header, for a long-lived session.
    ///
    /// - Throws: the errors of ``withSession(_:options:limits:forcing:_:)``; `.needsInput` until the header has
    ///   arrived.
    package func openSession(
        _ source: ImageSource, options: CoderOptions = CoderOptions(), limits: DecodeLimits? = nil,
        forcing id: String? = nil
    ) throws(CoderError) -> sending DecodeSession {
        try firstAble(source, options, limits, id) { candidate, context throws(CoderError) in
            try DecodeSession(candidate, source, context)
        }
    }

    private func firstAble<R>(
        _ source: ImageSource, _ options: CoderOptions, _ limits: DecodeLimits?, _ id: String?,
        _ body: (RankedCoder, SessionContext) throws(CoderError) -> sending R
    ) throws(CoderError) -> sending R {
        // The candidates and a possible error use one snapshot, because plugins may appear or disappear in between.
        let snapshot = registry.snapshot
        let candidates = self.candidates(for: source, forcing: id, in: snapshot)
        // The bytes that identify a format may still arrive.
        let isOpen = candidates.allSatisfy { !$0.isCertain && $0.descriptor.tier != .runTime }
        if id == nil, isOpen, !source.hasWholeHead { throw .needsInput }
        if candidates.isEmpty { throw absence(of: source, forcing: id, in: snapshot) }
        var attempts: [String] = []
        var last: CoderError?
        // If the caller names a coder, no other coder is asked.
        var absent = id == nil ? snapshot.unusableCoders(Self.judge(source, forcing: nil)) : []
        if candidates.contains(where: \.isCertain) { absent.removeAll { !$0.ranked.isCertain } }
        for candidate in candidates {
            do throws(CoderError) {
                let context = SessionContext(
                    limits: limits ?? self.limits, options: candidate.descriptor.decodeOptions(of: options),
                    usualThreads: configuration.threadsPerImage)
                for warning in absent.compactMap({ $0.warning(for: candidate) }) { context.warn(warning) }
                return try body(candidate, context)
            } catch {
                var named = error
                // Errors of the output are not the decoder's fault.
                let concernsInput = ![.inputOutput, .cannotCreate, .noCoder].contains(error.code)
                if concernsInput, error.coder == nil { named.coder = candidate.descriptor.id }
                // If an encoder refuses the image, another decoder does not help.
                let isOwn = error.coder == nil || error.coder == candidate.descriptor.id
                let passes = isOwn && [.notMine, .unsupportedFeature, .pluginRefused].contains(error.code)
                guard passes else {
                    named.attempts = attempts
                    throw named
                }
                attempts.append("\(candidate.descriptor.id): \(error.message)")
                if error.code != .notMine { absent.append(UnusableCoder(candidate, error)) }
                last = named
            }
        }
        var final = last ?? absence(of: source, forcing: id, in: snapshot)
        if final.code == .notMine {
            final = CoderError(.unrecognizedFormat, "no coder recognizes these bytes", coder: final.coder)
        }
        final.attempts = attempts
        throw final
    }

    /// Decodes a still, or the first frame of an animation.
    public func decode(_ source: ImageSource, options: CoderOptions = CoderOptions()) throws(CoderError) -> DecodedImage
    {
        try withSession(source, options: options) { session throws(CoderError) in
            let pixels = try session.decodeImage()
            return DecodedImage(
                info: session.info, pixels: pixels, metadata: try session.metadata(), format: session.format,
                coder: session.coder.id, warnings: session.context.warnings)
        }
    }

    /// Returns the error if nothing can decode this: an unknown format, or only unusable plugins.
    private func absence(of source: ImageSource, forcing id: String?, in snapshot: RegistrySnapshot) -> CoderError {
        if let unread = snapshot.unread.first {
            return CoderError(
                .noCoder,
                id.map { "there is no usable coder \($0)" } ?? "no readable plugin decodes these bytes",
                hint: unread.remedy, attempts: snapshot.unread.map(\.message))
        }
        if let id {
            let owner = snapshot.plugins.first { record in
                !record.status.isUsable && (record.manifest?.coders ?? []).contains { $0.id == id }
            }
            if let owner {
                return CoderError(
                    .noCoder, "there is no usable coder \(id)",
                    hint: owner.status.remedy.isEmpty ? "run coderhost list" : owner.status.remedy,
                    attempts: ["\(owner.fileName) is \(owner.status.state.word): \(owner.status.reason)"])
            }
            let known = ranked(snapshot) { _ in (format: nil, score: nil) }.reversed().map(\.descriptor)
                .filter { $0.roles.contains(.decode) }.map(\.id)
            return CoderError(
                .noCoder, "there is no usable coder \(id)",
                hint: OptionCheck.nearest(id, known).map { "did you mean \($0)?" } ?? "run coderhost list --formats")
        }
        if source.count == 0 { return CoderError(.unrecognizedFormat, "the file is empty") }
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
        if let format {
            return CoderError(
                .noCoder, "no usable coder for \(format)", hint: remedy.isEmpty ? "run coderhost list" : remedy,
                attempts: reasons)
        }
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
        let unused = snapshot.plugins.filter { !$0.status.isUsable && $0.manifest == nil }
        return CoderError(
            .unrecognizedFormat, "no installed coder recognizes these bytes",
            hint: "coderhost list --formats shows the installed formats"
                + (unused.isEmpty ? "" : "; \(unused.map(\.fileName).joined(separator: ", ")) could not be read"))
    }

    /// Without any plugin, the cause is probably not the file.
    private static func absenceOfPlugins(_ folders: [String]) -> CoderError {
        CoderError(
            .unrecognizedFormat, "no installed coder recognizes these bytes: there are no plugins",
            hint: "set CODERHOST_PLUGIN_PATH to a folder with plugins; searched: "
                + (folders.isEmpty ? "no folder" : folders.joined(separator: ", ")))
    }
}

extension PluginManifest.Format {
    /// Whether it has no signatures and has this file name extension.
    fileprivate func isNamed(by suffix: String?) -> Bool {
        signatures.isEmpty && suffix.map(extensions.contains) == true
    }
}

/// A coder added at run time, whose tier is always run time.
private struct RunTimeCoder: ImageCoder {
    let base: any ImageCoder
    let descriptor: CoderDescriptor

    init(_ base: any ImageCoder, _ descriptor: CoderDescriptor) {
        self.base = base
        self.descriptor = descriptor
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        try base.makeDecoder(source, context)
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { try base.makeEncoder(context) }

    func rewrite(
        _ source: ImageSource, to sink: any OutputSink, _ request: RewriteRequest, _ context: SessionContext
    ) throws(CoderError) -> RewriteOutcome { try base.rewrite(source, to: sink, request, context) }

    func transcode(
        _ source: ImageSource, to sink: any OutputSink, _ direction: TranscodeDirection, _ format: ImageFormat,
        _ context: SessionContext
    ) throws(CoderError) { try base.transcode(source, to: sink, direction, format, context) }
}
