public import CoderHost
public import ImageModel

/// Gets the bytes of pictures from somewhere, or the pictures themselves.
///
/// - Concurrency: any thread.
public protocol ImageLoading: Sendable {
    /// Whether it would try; asked before ``load(_:cached:_:onProgress:)``.
    func canLoad(_ request: ImageRequest) -> Bool

    /// Loads one picture's bytes; ends early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - cached: what a cache has of it, for whoever can ask whether it is still good.
    ///   - urgency: may change while it waits for its turn.
    ///   - onProgress: told whenever bytes have arrived; on any thread, one call after the other.
    func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData

    /// Whether an URL is not to be tried again for a while after this.
    func shouldBlock(_ url: String, after error: CoderError) -> Bool
}

extension ImageLoading {
    public func shouldBlock(_ url: String, after error: CoderError) -> Bool {
        [.invalidURL, .corrupt, .unrecognizedFormat, .badStatus, .addressDenied].contains(error.code)
    }
}

/// What has arrived of a picture.
public struct LoadProgress: Sendable {
    /// Grows until the transfer ends; everybody who waits for the same transfer sees the same one.
    public var source: ImageSource
    public var received: Int { source.count }
    /// Bytes that there will be; nil while that is not known.
    public var expected: Int?
    /// Whether these are the bytes of the picture; what is still to be decrypted is not.
    public var isReadable = true

    public init(_ source: ImageSource, expected: Int?) {
        self.source = source
        self.expected = expected
    }
}

/// What a loader has got.
public struct LoadedData: Sendable {
    public enum Content: Sendable {
        /// All bytes.
        case source(ImageSource)
        /// A picture that needs no decoding.
        case image(LoadedImage)
        /// The server says that what is cached is still good.
        case notModified
    }

    public var content: Content
    public var response: ResponseFacts?
    /// Whether the bytes are worth keeping on disk; those of a local file are not.
    public var isWorthStoring: Bool

    public init(_ content: Content, response: ResponseFacts? = nil, isWorthStoring: Bool = true) {
        self.content = content
        self.response = response
        self.isWorthStoring = isWorthStoring
    }
}

/// What a server said about a picture.
public struct ResponseFacts: Sendable, Hashable {
    /// After all redirects.
    public var url: String
    public var status: Int
    /// Lower-case names; the last of several fields of one name counts.
    public var headers: [String: String]
    public var timings: TransferTimings?

    public init(url: String, status: Int, headers: [String: String]) {
        self.url = url
        self.status = status
        self.headers = headers
    }

    public var contentType: String? { headers["content-type"] }
    public var entityTag: String? { headers["etag"] }
    /// What the bytes are said to be, without parameters; lower-case.
    private var mediaType: String { (contentType ?? "").prefix { $0 != ";" && $0 != " " }.lowercased() }

    private static let pageHint = "open it in a browser: it may be a page about an error, or one to log in"

    /// An error of a decoder, told by what the server said: bytes that nobody knows are often a page for people.
    package func explaining(_ error: CoderError) -> CoderError {
        var error = error
        let type = mediaType
        let isPage =
            type.hasPrefix("text/") || type.hasSuffix("+xml") && type != "image/svg+xml" || type.hasSuffix("json")
            || type == "application/xml"
        if isPage, error.code == .unrecognizedFormat {
            error = CoderError(
                .badContentType, "the server sent \(type), and no picture",
                hint: Self.pageHint)
        }
        if error.code == .unrecognizedFormat { error.hint = Self.pageHint }
        error.httpStatus = error.httpStatus ?? status
        return error
    }

    /// Whether the server wants it kept nowhere but in memory; a response modifier may take the field away.
    ///
    /// - Source: RFC 9111, section 5.2.2.5.
    public var forbidsStoring: Bool {
        (headers["cache-control"] ?? "").split(separator: ",").contains {
            $0.split(separator: " ").joined().lowercased() == "no-store"
        }
    }
}

/// How long the parts of a transfer took, and how many there were.
public struct TransferTimings: Sendable, Hashable {
    /// Waiting for its turn.
    public var waiting = Duration.zero
    /// Asking for addresses.
    public var resolution = Duration.zero
    /// From the last request to the beginning of its answer, the connection included.
    public var firstByte = Duration.zero
    /// From the first request to the last byte.
    public var total = Duration.zero
    /// Requests that were sent, redirects and repetitions included.
    public var requests = 0
    public var redirects = 0
    /// Bytes of the body, after decompression.
    public var received = 0

    public init() {}
}
