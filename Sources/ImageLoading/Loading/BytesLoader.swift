import CoderHost
public import ImageModel
import ImageProcessing
import Synchronization

/// Loads pictures that the application has already, each under a name of its own.
///
/// - Concurrency: any thread.
public final class BytesLoader: ImageLoading {
    private let pictures = Mutex<[ExactKey: [UInt8]]>([:])

    public init(_ pictures: [String: [UInt8]] = [:]) {
        for (name, bytes) in pictures { self[name] = bytes }
    }

    /// The bytes under a name; nil takes them away.
    public subscript(name: String) -> [UInt8]? {
        get { pictures.withLock { $0[ExactKey(name)] } }
        set { pictures.withLock { $0[ExactKey(name)] = newValue } }
    }

    public func canLoad(_ request: ImageRequest) -> Bool { self[request.url] != nil }

    /// - Throws: `.notFound`.
    public func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        guard let bytes = self[request.url] else { throw CoderError(.notFound, "there are no bytes of this name") }
        let source = ImageSource(bytes, name: request.url)
        onProgress(LoadProgress(source, expected: bytes.count))
        return LoadedData(.source(try source.decrypted(for: request)), isWorthStoring: false)
    }

    public func shouldBlock(_ url: String, after error: CoderError) -> Bool { false }
}
