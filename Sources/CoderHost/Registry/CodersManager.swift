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
    private let choices = Mutex(RunTimeChoices())
    let registry: CoderRegistry
    let configuration: HostConfiguration
    /// The default limits of a session.
    package var limits: DecodeLimits { configuration.limits }

    init(registry: CoderRegistry, configuration: HostConfiguration) {
        self.registry = registry
        self.configuration = configuration
    }

    // MARK: Coders

    /// Adds a coder with the highest precedence, except for ``preferredCoders``.
    public func addCoder(_ coder: any ImageCoder) { choices.withLock { $0.added.append(coder) } }

    /// Removes the coders with this id that were added at run time.
    public func removeCoder(_ id: String) { choices.withLock { $0.added.removeAll { $0.descriptor.id == id } } }

    /// The ids of coders that precede all others, the first one first; for decoding and encoding.
    ///
    /// The order also applies to coders of plugins, in all tiers: the application vouches for them.
    public var preferredCoders: [String] {
        get { choices.withLock { $0.preferred } }
        set { choices.withLock { $0.preferred = newValue } }
    }

    /// The ids of coders that this manager does not use, as if they were not installed.
    ///
    /// Sessions that are already open continue.
    public var disabledCoders: Set<String> {
        get { choices.withLock { $0.disabled } }
        set { choices.withLock { $0.disabled = newValue } }
    }

    func isDisabled(_ id: String) -> Bool { choices.withLock { $0.disabled.contains(id) } }

    /// Every usable coder in ascending order: the last one is asked first.
    package var coders: [any ImageCoder] {
        let all = ranked(registry.snapshot) { _ in (format: nil, score: nil) }
        return all.reversed().map(\.coder)
    }

    func ranked(
        _ snapshot: RegistrySnapshot,
        _ judge: (CoderDescriptor) -> (format: ImageFormat?, score: Int?)?
    ) -> [RankedCoder] {
        let choices = self.choices.withLock { $0 }
        var result: [RankedCoder] = []
        let added = choices.added.enumerated().map { ($0.offset, $0.element) }
        for (position, coder) in snapshot.coders.map({ (-1, $0) }) + added {
            var descriptor = coder.descriptor
            if choices.disabled.contains(descriptor.id) { continue }
            if position >= 0 { descriptor.tier = .runTime }
            guard descriptor.priority > 0, let verdict = judge(descriptor) else { continue }
            result.append(
                RankedCoder(
                    coder: position >= 0 ? RunTimeCoder(coder, descriptor) : coder,
                    format: verdict.format ?? descriptor.formats.first?.id ?? "", score: verdict.score,
                    position: position, preference: choices.preferred.firstIndex(of: descriptor.id)))
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

    func candidates(
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
    /// After "not mine" and "unsupported" the next coder is asked. If all coders whose signatures match say "not mine",
    /// the coders that the name's extension selects are asked. Any other error is final, because a crafted file
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
        // If the coders of all matching signatures say "not mine", the signature was an accident: the name decides.
        let known = Set(candidates.map(\.descriptor.id))
        let named = ranked(snapshot, Self.judge(source, forcing: id)).filter { !known.contains($0.descriptor.id) }
        var isDisowned = true
        for candidate in candidates + named {
            if !known.contains(candidate.descriptor.id), !isDisowned { break }
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
                if error.code != .notMine {
                    isDisowned = false
                    absent.append(UnusableCoder(candidate, error))
                }
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
}

extension PluginManifest.Format {
    /// Whether it has no signatures and has this file name extension.
    func isNamed(by suffix: String?) -> Bool {
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

/// The choices of the application about coders.
private struct RunTimeChoices: Sendable {
    /// Added coders, later ones with higher precedence.
    var added: [any ImageCoder] = []
    var preferred: [String] = []
    var disabled: Set<String> = []
}
