public import ImageModel
import ImageProcessing
import Synchronization

/// Several loaders as one: the one added last that can load a picture does.
///
/// Where the options name other sources of the picture, they are tried in their order when the one before has failed.
/// - Concurrency: any thread.
public final class LoadersManager: ImageLoading {
    private let list: Mutex<[any ImageLoading]>

    public init(_ loaders: [any ImageLoading]) { list = Mutex(loaders) }

    /// Files, data URLs, and a downloader.
    public convenience init(_ downloader: Downloader) { self.init([FileLoader(), DataLoader(), downloader]) }

    /// The last is asked first.
    public var loaders: [any ImageLoading] {
        get { list.withLock { $0 } }
        set { list.withLock { $0 = newValue } }
    }

    /// Asks this one before all others.
    public func add(_ loader: any ImageLoading) { list.withLock { $0.append(loader) } }

    /// The loader that would be asked.
    public func loader(for request: ImageRequest) -> (any ImageLoading)? { loaders.last { $0.canLoad(request) } }

    public func canLoad(_ request: ImageRequest) -> Bool {
        loader(for: request) != nil || request.options.alternatives.contains { loader(for: request.with($0)) != nil }
    }

    public func shouldBlock(_ url: String, after error: CoderError) -> Bool {
        loader(for: ImageRequest(url))?.shouldBlock(url, after: error) ?? false
    }

    /// - Throws: what the first source says; `.invalidURL` when nobody loads such a thing.
    public func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        var failure: CoderError?
        for (index, url) in ([request.url] + request.options.alternatives).enumerated() {
            let one = index == 0 ? request : request.with(url)
            guard let loader = loader(for: one) else { continue }
            do throws(CoderError) {
                // Only the first source says whether what is cached is still good, so it is kept with what that one says.
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
            ?? CoderError(.invalidURL, "no loader takes this URL", hint: "check its scheme, or add a loader")
    }
}

extension ImageRequest {
    fileprivate func with(_ url: String) -> ImageRequest {
        var request = self
        request.url = url
        request.options.alternatives = []
        // What is meant for one server is not told to another.
        if let other = try? WebAddress(url), (try? WebAddress(self.url))?.origin != other.origin {
            request.options.headers = options.headers.filter { !Transfer.isSecret($0.key) }
            request.options.credential = nil
        }
        return request
    }
}
