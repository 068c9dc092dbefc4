public import CoderHost
public import ImageModel

/// Loads the bytes of images, or complete images.
///
/// - Concurrency: any thread.
public protocol ImageLoading: Sendable {
    /// Whether the loader supports the request; called before ``load(_:cached:_:onProgress:)``.
    func canLoad(_ request: ImageRequest) -> Bool

    /// Loads the bytes of one image; ends early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - cached: the cached bytes with their attributes, for loaders that can revalidate them.
    ///   - urgency: may change while the load waits.
    ///   - onProgress: called whenever bytes have arrived; on any thread, never concurrently.
    func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData

    /// Whether a URL is blocked for a while after this error.
    func shouldBlock(_ url: String, after error: CoderError) -> Bool
}

extension ImageLoading {
    /// Blocks a URL after an invalid URL or image, a bad status, or a denied address.
    public func shouldBlock(_ url: String, after error: CoderError) -> Bool {
        [.invalidURL, .corrupt, .unrecognizedFormat, .badStatus, .addressDenied].contains(error.code)
    }
}

/// The received part of an image.
public struct LoadProgress: Sendable {
    /// The received bytes; grows until the download ends. All callers of a shared download get the same object.
    public var source: ImageSource
    /// The number of received bytes.
    public var received: Int { source.count }
    /// The total number of bytes; nil if unknown.
    public var expected: Int?
    /// Whether these are the bytes of the image; false if they must be decrypted first.
    package var isReadable = true

    /// Creates a progress value.
    public init(_ source: ImageSource, expected: Int?) {
        self.source = source
        self.expected = expected
    }
}

/// The result of a loader.
public struct LoadedData: Sendable {
    /// The loaded content.
    package enum Content: Sendable {
        /// All bytes.
        case source(ImageSource)
        /// A complete image.
        case image(LoadedImage)
        /// The server confirmed that the cached bytes are current.
        case notModified
    }

    /// The loaded content.
    package var content: Content
    /// The server's response; nil if no server was involved.
    package var response: ResponseFacts?
    /// Whether to store the bytes on disk; false for local files.
    package var isWorthStoring: Bool

    package init(_ content: Content, response: ResponseFacts? = nil, isWorthStoring: Bool = true) {
        self.content = content
        self.response = response
        self.isWorthStoring = isWorthStoring
    }

    /// Creates a result from all bytes of a file.
    ///
    /// - Parameters:
    ///   - response: the server's response; nil if no server was involved.
    ///   - isWorthStoring: whether to store the bytes on disk; false for local files.
    public init(_ source: ImageSource, response: ResponseFacts? = nil, isWorthStoring: Bool = true) {
        self.init(.source(source), response: response, isWorthStoring: isWorthStoring)
    }

    /// Creates a result from a complete image.
    public init(_ image: LoadedImage) { self.init(.image(image)) }

    /// The server confirmed that the cached bytes are current.
    public static func notModified(_ response: ResponseFacts) -> LoadedData {
        LoadedData(.notModified, response: response)
    }
}

/// A server's response without its body.
public struct ResponseFacts: Sendable, Hashable {
    /// The URL after all redirects.
    public var url: String
    /// The HTTP status.
    public var status: Int
    /// Header fields with lower-case names; of several fields with one name, the last.
    public var headers: [String: String]
    /// Durations and counts of the download.
    package var timings: DownloadTimings?

    /// Creates a response.
    public init(url: String, status: Int, headers: [String: String]) {
        self.url = url
        self.status = status
        self.headers = headers
    }

    /// The `Content-Type` field.
    package var contentType: String? { headers["content-type"] }
    /// The `ETag` field.
    package var entityTag: String? { headers["etag"] }
    /// The media type in lower case, without parameters.
    private var mediaType: String { (contentType ?? "").prefix { $0 != ";" && $0 != " " }.lowercased() }

    private static let pageHint = "open the URL in a browser: it may show an error page or a login page"

    /// Adds the status to a decoder's error, and reports an HTML or text response instead of an unknown format.
    package func explaining(_ error: CoderError) -> CoderError {
        var error = error
        let type = mediaType
        let isPage =
            type.hasPrefix("text/") || type.hasSuffix("+xml") && type != "image/svg+xml" || type.hasSuffix("json")
            || type == "application/xml"
        if isPage, error.code == .unrecognizedFormat {
            error = CoderError(
                .badContentType, "the server sent \(type) instead of an image",
                hint: Self.pageHint)
        }
        if error.code == .unrecognizedFormat, error.recognizedFormat == nil { error.hint = Self.pageHint }
        error.httpStatus = error.httpStatus ?? status
        return error
    }

    /// Whether the response must not be stored on disk (`no-store`); a response modifier may remove the field.
    ///
    /// - Source: RFC 9111, section 5.2.2.5.
    package var forbidsStoring: Bool {
        (headers["cache-control"] ?? "").split(separator: ",").contains {
            $0.split(separator: " ").joined().lowercased() == "no-store"
        }
    }
}

/// Durations and counts of a download.
package struct DownloadTimings: Sendable, Hashable {
    /// Time in the queue.
    package var waiting = Duration.zero
    /// Time for resolving host names.
    package var resolution = Duration.zero
    /// Time from the last request to the start of its response, including connecting.
    package var firstByte = Duration.zero
    /// Time from the first request to the last byte.
    package var total = Duration.zero
    /// Number of sent requests, including redirects and retries.
    package var requests = 0
    /// Number of redirects.
    package var redirects = 0
    /// Bytes of the body, after decompression.
    package var received = 0

    /// Creates values of zero.
    package init() {}
}
