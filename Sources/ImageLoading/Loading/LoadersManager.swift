import HostSystem
public import ImageModel
import ImageProcessing

/// Combines loaders: the last added one that supports a request loads it.
///
/// If the options contain alternative URLs, each is tried after the previous one has failed.
/// - Concurrency: any thread.
public final class LoadersManager: ImageLoading {
    private let list: Mutex<[any ImageLoading]>

    /// Creates a combination; the last loader is asked first.
    public init(_ loaders: [any ImageLoading]) { list = Mutex(loaders) }

    /// Creates a combination of a file loader, a data URL loader and a downloader.
    public convenience init(_ downloader: Downloader) { self.init([FileLoader(), DataLoader(), downloader]) }

    /// The loaders; the last is asked first.
    public var loaders: [any ImageLoading] {
        get { list.withLock { $0 } }
        set { list.withLock { $0 = newValue } }
    }

    /// Adds a loader that is asked before all others.
    package func add(_ loader: any ImageLoading) { list.withLock { $0.append(loader) } }

    /// Returns the loader for a request.
    package func loader(for request: ImageRequest) -> (any ImageLoading)? { loaders.last { $0.canLoad(request) } }

    /// Whether a loader supports the URL or one of the alternatives.
    public func canLoad(_ request: ImageRequest) -> Bool {
        loader(for: request) != nil
            || request.options.request.alternatives.contains { loader(for: request.with($0)) != nil }
    }

    /// Asks the loader of the URL.
    public func shouldBlock(_ url: String, after error: CoderError) -> Bool {
        loader(for: ImageRequest(url))?.shouldBlock(url, after: error) ?? false
    }

    /// Loads from the first source that works.
    ///
    /// - Throws: the error of the first source; `.invalidURL` if no loader supports any of the URLs.
    public func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        var failure: CoderError?
        for (index, url) in ([request.url] + request.options.request.alternatives).enumerated() {
            let one = index == 0 ? request : request.with(url)
            guard let loader = loader(for: one) else { continue }
            do throws(CoderError) {
                // Only the first source can revalidate the cached bytes, so only its validators are stored.
                if index == 0 { return try await loader.load(one, cached: cached, urgency, onProgress: onProgress) }
                var data = try await loader.load(one, cached: nil, urgency, onProgress: onProgress)
                for name in ["etag", "last-modified"] { data.response?.headers[name] = nil }
                return data
            } catch {
                if error.code == .cancelled { throw error }
                failure = failure ?? error
            }
        }
        throw failure
            ?? CoderError(.invalidURL, "no loader supports this URL", hint: "check its scheme, or add a loader")
    }
}

extension ImageRequest {
    fileprivate func with(_ url: String) -> ImageRequest {
        var request = self
        request.url = url
        request.options.request.alternatives = []
        // Do not send confidential header fields to another server.
        if let other = try? WebAddress(url), (try? WebAddress(self.url))?.origin != other.origin {
            request.options.request.headers = options.request.headers.filter { !Download.isSecret($0.key) }
            request.options.request.credential = nil
        }
        return request
    }
}
