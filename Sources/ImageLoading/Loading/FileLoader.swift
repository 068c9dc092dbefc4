import CoderHost
public import ImageModel

/// Loads files: `file` URLs and plain paths.
///
/// What stands on this machine already is not copied into a cache on disk.
public struct FileLoader: ImageLoading {
    public var limits: DecodeLimits

    public init(limits: DecodeLimits = .default) { self.limits = limits }

    public func canLoad(_ request: ImageRequest) -> Bool { Self.path(request.url) != nil }

    /// - Throws: `.invalidURL`, `.notFound`, `.inputOutput` for what is no regular file, `.limitExceeded`.
    public func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        guard let path = Self.path(request.url), !path.isEmpty, !path.utf8.contains(0) else {
            throw CoderError(.invalidURL, "the URL names no file")
        }
        let limits = self.limits
        let source = try await BlockingWork.run { () throws(CoderError) -> ImageSource in
            // Opening a pipe or a device may wait for ever.
            guard FileKind.mayBeRead(path) else {
                throw CoderError(.inputOutput, "it is no regular file", hint: "name a file with a picture in it")
            }
            return try ImageSource(path: path, limits: limits)
        }
        if Task.isCancelled { throw CoderError(.cancelled, "the load was cancelled") }
        onProgress(LoadProgress(source, expected: source.count))
        return LoadedData(.source(try source.decrypted(for: request)), isWorthStoring: false)
    }

    public func shouldBlock(_ url: String, after error: CoderError) -> Bool {
        [.invalidURL, .corrupt, .truncated, .unrecognizedFormat].contains(error.code)
    }

    /// The path that an URL or a path means; nil for URLs of other kinds.
    static func path(_ text: String) -> String? {
        guard let colon = text.firstIndex(of: ":"), isScheme(text[..<colon]) else { return text.isEmpty ? nil : text }
        guard text[..<colon].lowercased() == "file" else { return nil }
        var rest = text[text.index(after: colon)...].prefix { $0 != "?" && $0 != "#" }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let host = rest.prefix { $0 != "/" }
            // A file of another machine is not to be had.
            guard host.isEmpty || host.lowercased() == "localhost" else { return "" }
            rest = rest.dropFirst(host.count)
        }
        return rest.hasPrefix("/") ? Percent.decoded(rest) : ""
    }

    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }
}
