import CoderHost
package import ImageModel

/// Loads images from data URLs: `data:image/png;base64,…`.
///
/// - Source: RFC 2397.
package struct DataLoader: ImageLoading {
    /// Creates a loader.
    package init() {}

    /// Whether it is a data URL.
    package func canLoad(_ request: ImageRequest) -> Bool { request.url.prefix(5).lowercased() == "data:" }

    /// Decodes the data of the URL.
    ///
    /// - Throws: `.invalidURL`.
    package func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        let text = request.url.dropFirst(5)
        guard let comma = text.firstIndex(of: ",") else {
            throw CoderError(.invalidURL, "the data URL has no comma before its data")
        }
        let words = text[..<comma].split(separator: ";", omittingEmptySubsequences: false)
        let data = Percent.bytes(text[text.index(after: comma)...].prefix { $0 != "#" })
        let isBase64 = words.dropFirst().contains { $0.lowercased().filter { $0 != " " } == "base64" }
        guard let bytes = isBase64 ? Base64.decoded(Self.padded(data)) : data else {
            throw CoderError(.invalidURL, "the data URL has characters that Base64 does not allow")
        }
        guard !bytes.isEmpty else { throw CoderError(.invalidURL, "the data URL has no data") }
        let source = ImageSource(bytes, name: "data:", origin: .network)
        onProgress(LoadProgress(source, expected: bytes.count))
        return LoadedData(.source(try source.decrypted(for: request)), isWorthStoring: false)
    }

    /// Adds the padding at the end, which many data URLs omit.
    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        let digits = bytes.filter { ![9, 10, 13, 32].contains($0) }
        return digits + Array(repeating: UInt8(ascii: "="), count: (4 - digits.count % 4) % 4)
    }
}
