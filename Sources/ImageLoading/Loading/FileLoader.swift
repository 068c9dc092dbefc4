import CoderHost
package import ImageModel

/// Loads local files: `file` URLs and plain paths.
///
/// Local files are not copied into the disk cache.
package struct FileLoader: ImageLoading {
    /// Limits for the size of files.
    package var limits: DecodeLimits

    /// Creates a loader.
    package init(limits: DecodeLimits = .default) { self.limits = limits }

    /// Whether it is a `file` URL or a path.
    package func canLoad(_ request: ImageRequest) -> Bool { Self.path(request.url) != nil }

    /// Reads the file.
    ///
    /// - Throws: `.invalidURL`, `.notFound`, `.inputOutput` if it is not a regular file, `.limitExceeded`.
    package func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        guard let path = Self.path(request.url), !path.isEmpty, !path.utf8.contains(0) else {
            throw CoderError(.invalidURL, "the URL does not name a file")
        }
        let limits = self.limits
        let source = try await BlockingWork.run { () throws(CoderError) -> ImageSource in
            // Opening a pipe or a device may block forever.
            guard FileKind.mayBeRead(path) else {
                throw CoderError(.inputOutput, "it is not a regular file", hint: "name an image file")
            }
            return try ImageSource(path: path, limits: limits)
        }
        if Task.isCancelled { throw CoderError(.cancelled, "the load was cancelled") }
        onProgress(LoadProgress(source, expected: source.count))
        return LoadedData(.source(try source.decrypted(for: request)), isWorthStoring: false)
    }

    /// Whether to block a path for a while; a missing or unreadable file does not block it.
    package func shouldBlock(_ url: String, after error: CoderError) -> Bool {
        [.invalidURL, .corrupt, .truncated, .unrecognizedFormat].contains(error.code)
    }

    /// Returns the path of a `file` URL or a path; nil for other URLs, empty for an invalid `file` URL.
    static func path(_ text: String) -> String? {
        guard let colon = text.firstIndex(of: ":"), isScheme(text[..<colon]) else { return text.isEmpty ? nil : text }
        guard text[..<colon].lowercased() == "file" else { return nil }
        var rest = text[text.index(after: colon)...].prefix { $0 != "?" && $0 != "#" }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let host = rest.prefix { $0 != "/" }
            // Files of other hosts are not supported.
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
