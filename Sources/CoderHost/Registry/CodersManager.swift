public import ImageModel
import ImageProcessing
import Synchronization

/// All coders in one order, asked one after the other.
///
/// Coders added at run time come before those of plugins, the later before the earlier. Lookups work on a snapshot:
/// adding and removing never disturbs a session, and no coder is called while a lock is held.
///
/// - Concurrency: any thread.
public final class CodersManager: Sendable {
    private let added = Mutex<[any ImageCoder]>([])
    let registry: CoderRegistry
    let configuration: HostConfiguration
    /// What a session may cost where nobody says otherwise.
    public var limits: DecodeLimits { configuration.limits }

    init(registry: CoderRegistry, configuration: HostConfiguration) {
        self.registry = registry
        self.configuration = configuration
    }

    // MARK: The list

    /// Adds a coder before all others.
    public func addCoder(_ coder: any ImageCoder) { added.withLock { $0.append(coder) } }

    /// Removes the coders with this id that were added at run time.
    public func removeCoder(_ id: String) { added.withLock { $0.removeAll { $0.descriptor.id == id } } }

    /// Every usable coder, ascending: the last is asked first.
    public var coders: [any ImageCoder] {
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

    /// The coders for these bytes, best first.
    ///
    /// A coder of a plugin without a matching signature is among them only when no signature of any coder matches, the
    /// name's extension is one of its formats', and that format has no signatures.
    public func candidates(for source: ImageSource, forcing id: String? = nil) -> [RankedCoder] {
        candidates(for: source, forcing: id, in: registry.snapshot)
    }

    private func candidates(
        for source: ImageSource, forcing id: String?, in snapshot: RegistrySnapshot
    ) -> [RankedCoder] {
        let all = ranked(snapshot, Self.judge(source, forcing: id))
        guard id == nil, all.contains(where: \.isCertain) else { return all }
        return all.filter { $0.isCertain || $0.descriptor.tier == .runTime }
    }

    /// How well a coder's formats fit the bytes; nil where it does not decode them.
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
            // A format with signatures that do not hold is not that format, whatever the name says.
            return descriptor.formats.first { $0.isNamed(by: suffix) }.map { ($0.id, nil) }
        }
    }

    /// Whether some coder claims these bytes.
    public func canDecode(_ source: ImageSource) -> Bool { !candidates(for: source).isEmpty }

    /// Opens a picture with the best coder and hands it to `body`.
    ///
    /// On "not mine" and "unsupported" the next coder is asked; any other error ends it, because a crafted file must not
    /// reach a weaker decoder.
    /// - Throws: what `body` or the last coder threw; `.unrecognizedFormat` and `.noCoder` when there is none to ask.
    public func withSession<R>(
        _ source: ImageSource, options: CoderOptions = CoderOptions(), limits: DecodeLimits? = nil,
        forcing id: String? = nil, _ body: (DecodeSession) throws(CoderError) -> R
    ) throws(CoderError) -> R {
        try firstAble(source, options, limits, id) { candidate, context throws(CoderError) in
            try body(try DecodeSession(candidate, source, context))
        }
    }

    /// Opens a picture with the best coder that takes its header, for work that lasts.
    ///
    /// - Throws: as ``withSession(_:options:limits:forcing:_:)``; `.needsInput` while the header has not arrived.
    public func openSession(
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
        // Who is asked and why nobody was are told of one moment: a plugin may come or go in between.
        let snapshot = registry.snapshot
        let candidates = self.candidates(for: source, forcing: id, in: snapshot)
        // The bytes that prove a format may still come.
        let isOpen = candidates.allSatisfy { !$0.isCertain && $0.descriptor.tier != .runTime }
        if id == nil, isOpen, !source.hasWholeHead { throw .needsInput }
        if candidates.isEmpty { throw absence(of: source, forcing: id, in: snapshot) }
        var attempts: [String] = []
        var last: CoderError?
        // A coder that was named is wanted in place of every other one.
        var absent = id == nil ? snapshot.absentCoders(Self.judge(source, forcing: nil)) : []
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
                // What is wrong with an output is no fault of who decodes.
                let concernsInput = ![.inputOutput, .cannotCreate, .noCoder].contains(error.code)
                if concernsInput, error.coder == nil { named.coder = candidate.descriptor.id }
                // What an encoder refuses, no other decoder mends.
                let isOwn = error.coder == nil || error.coder == candidate.descriptor.id
                let passes = isOwn && [.notMine, .unsupportedFeature, .pluginRefused].contains(error.code)
                guard passes else {
                    named.attempts = attempts
                    throw named
                }
                attempts.append("\(candidate.descriptor.id): \(error.message)")
                if error.code != .notMine { absent.append(AbsentCoder(candidate, error)) }
                last = named
            }
        }
        var final = last ?? absence(of: source, forcing: id, in: snapshot)
        if final.code == .notMine {
            final = CoderError(.unrecognizedFormat, "no coder recognises these bytes", coder: final.coder)
        }
        final.attempts = attempts
        throw final
    }

    /// Decodes a still, or an animation's first frame.
    public func decode(_ source: ImageSource, options: CoderOptions = CoderOptions()) throws(CoderError) -> DecodedImage
    {
        try withSession(source, options: options) { session throws(CoderError) in
            let pixels = try session.decodeImage()
            return DecodedImage(
                info: session.info, pixels: pixels, metadata: try session.metadata(), format: session.format,
                coder: session.coder.id, warnings: session.context.warnings)
        }
    }

    /// Why nothing can decode this: an unknown format, or plugins that would serve it but are not usable.
    private func absence(of source: ImageSource, forcing id: String?, in snapshot: RegistrySnapshot) -> CoderError {
        if let unread = snapshot.unread.first {
            return CoderError(
                .noCoder,
                id.map { "there is no usable coder \($0)" } ?? "no coder that could be found takes these bytes",
                hint: unread.remedy, attempts: snapshot.unread.map(\.message))
        }
        if let id {
            let known = ranked(snapshot) { _ in (format: nil, score: nil) }.reversed().map(\.descriptor)
                .filter { $0.roles.contains(.decode) }.map(\.id)
            return CoderError(
                .noCoder, "there is no usable coder \(id)",
                hint: OptionCheck.nearest(id, known).map { "did you mean \($0)?" } ?? "see coderhost list --formats")
        }
        if source.count == 0 { return CoderError(.unrecognizedFormat, "it is empty") }
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
                    "\(record.fileName) would serve it, but is \(record.status.state.word): \(record.status.reason)")
                break
            }
        }
        if let format {
            return CoderError(
                .noCoder, "no usable coder for \(format)", hint: remedy.isEmpty ? "see coderhost list" : remedy,
                attempts: reasons)
        }
        for known in configuration.catalogue() {
            let formats = known.manifest.coders.filter { $0.roles.contains(.decode) }.flatMap(\.formats)
            if let match = formats.first(where: { sniffer.score($0.signatures) != nil }) {
                return CoderError(
                    .noCoder, "it looks like \(match.name), and no installed plugin serves that",
                    hint: "put \(known.file) into one of the plugin folders (coderhost doctor names them)",
                    attempts: ["\(known.file) would serve it, but is not installed"])
            }
        }
        if snapshot.plugins.isEmpty { return Self.absenceOfPlugins(configuration.directories.map(\.path)) }
        let unused = snapshot.plugins.filter { !$0.status.isUsable && $0.manifest == nil }
        return CoderError(
            .unrecognizedFormat, "no installed coder recognises these bytes",
            hint: "see coderhost list --formats for what is installed"
                + (unused.isEmpty ? "" : "; \(unused.map(\.fileName).joined(separator: ", ")) could not be read"))
    }

    /// Without any plugin it is hardly the file that is at fault.
    private static func absenceOfPlugins(_ folders: [String]) -> CoderError {
        CoderError(
            .unrecognizedFormat, "no installed coder recognises these bytes: there is no plugin at all",
            hint: "name the folder that has plugins in CODERHOST_PLUGIN_PATH; searched: "
                + (folders.isEmpty ? "no folder" : folders.joined(separator: ", ")))
    }
}

extension PluginManifest.Format {
    /// Whether it has no signatures and a file's name ends as its files' names do.
    fileprivate func isNamed(by suffix: String?) -> Bool {
        signatures.isEmpty && suffix.map(extensions.contains) == true
    }
}

/// A coder that was added at run time, whatever it says of itself.
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
