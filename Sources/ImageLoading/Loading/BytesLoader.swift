import CoderHost
package import ImageModel
import ImageProcessing

/// Loads images that the application has in memory, by name.
///
/// - Concurrency: any thread.
package final class BytesLoader: ImageLoading {
    private let images = Mutex<[ExactKey: [UInt8]]>([:])

    /// Creates a loader for named images.
    package init(_ images: [String: [UInt8]] = [:]) {
        for (name, bytes) in images { self[name] = bytes }
    }

    /// The bytes of a name; nil removes them.
    package subscript(name: String) -> [UInt8]? {
        get { images.withLock { $0[ExactKey(name)] } }
        set { images.withLock { $0[ExactKey(name)] = newValue } }
    }

    /// Whether the URL is one of the names.
    package func canLoad(_ request: ImageRequest) -> Bool { self[request.url] != nil }

    /// Returns the bytes of a name.
    ///
    /// - Throws: `.notFound`.
    package func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        guard let bytes = self[request.url] else { throw CoderError(.notFound, "no bytes have this name") }
        let source = ImageSource(bytes, name: request.url)
        onProgress(LoadProgress(source, expected: bytes.count))
        return LoadedData(.source(try source.decrypted(for: request)), isWorthStoring: false)
    }

    /// Returns false: names are never blocked.
    package func shouldBlock(_ url: String, after error: CoderError) -> Bool { false }
}
