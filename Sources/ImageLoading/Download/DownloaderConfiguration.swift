import CoderHost
import Glibc
import ImageModel
public import Logging

/// The configuration of a ``Downloader``.
public struct DownloaderConfiguration: Sendable {
    // MARK: Concurrency and order

    /// The maximum number of concurrent downloads; see ``Downloader/maxConcurrent``.
    public var maxConcurrent = 6
    /// The order of waiting downloads with the same priority.
    public var order = LoadOrder.firstInFirstOut
    /// The rate at which downloads may start; nil for no limit.
    public var rateLimit: RateLimit? = RateLimit()
    /// Decides whether and when a failed download is retried.
    public var retry: any RetryStrategy = RetryPolicy.none

    // MARK: Timeouts and sizes

    /// Timeout for a server that sends nothing; zero means 15 seconds.
    public var timeout = Duration.seconds(15)
    /// Timeout for connecting; zero means 15 seconds.
    public var connectTimeout = Duration.seconds(15)
    /// Timeout for a download with all attempts and pauses, excluding the wait in the queue; nil for no limit.
    public var totalTimeout: Duration? = .seconds(600)
    /// The minimum rate of received bytes; nil for any rate.
    public var minimumRate: MinimumRate? = MinimumRate()
    /// Limit for the bytes of one image, also after decompression; 0 for no limit.
    public var maxBytes = DownloaderConfiguration.standardMaxBytes
    /// Whether an interrupted download is resumed when the image is requested again.
    public var resumesDownloads = true
    /// Limit for the memory of interrupted downloads, in bytes.
    public var maxPartialBytes = 32 << 20

    // MARK: Requests

    /// Header fields of every request; see ``Downloader/setHeader(_:_:)``.
    public var headers = [
        "User-Agent": "coderhost/\(coderHostVersion)", "Accept": "image/*,*/*;q=0.8",
        "Accept-Encoding": "identity",
    ]
    /// The credential for servers that answer 401.
    ///
    /// It is sent only to the origin of the URL; after the first 401, it is sent with every request to that origin.
    public var credential: Credential?
    /// Changes or refuses every request.
    public var requestModifier: RequestModifier?

    // MARK: Servers

    /// The hosts and addresses that may be contacted.
    public var addresses = AddressPolicy()
    /// Resolves host names.
    public var resolver: any NameResolver = SystemResolver()
    /// The maximum number of redirects of one download.
    public var maxRedirects = 3
    /// Whether a redirect may lead from `https` to `http`.
    public var allowsDowngrade = false
    /// Paths of certificate files (PEM) that are trusted in addition to the system's.
    public var trustedCertificates: [String] = []
    /// The number of idle HTTP clients to keep, each for one host at one address.
    public var maxIdleClients = 32

    // MARK: Responses

    /// The accepted status codes; nil for all.
    public var acceptableStatus: Set<Int>? = Set(200...299)
    /// The accepted media types in lower case, `image/*` for all images; nil for all types.
    public var acceptableTypes: Set<String>?
    /// Changes or refuses every response.
    public var responseModifier: ResponseModifier?
    /// Decrypts the received bytes; nothing is decoded before the download is complete.
    public var decryptor: Decryptor?

    /// Logs requests and responses, without user, password and query.
    public var logger = Logger(label: "coderhost.download") { _ in SwiftLogNoOpLogHandler() }

    /// Creates the default configuration.
    public init() {}

    /// The lowest of 200 MiB, a tenth of the machine's memory, and the default input limit of decoders.
    public static let standardMaxBytes: Int = {
        let memory = sysconf(Int32(_SC_PHYS_PAGES)).multipliedReportingOverflow(by: sysconf(Int32(_SC_PAGESIZE)))
        let tenth = memory.overflow || memory.partialValue <= 0 ? Int.max : memory.partialValue / 10
        return min(200 << 20, tenth, DecodeLimits.default.maxInputBytes)
    }()

    var idle: Duration { timeout > .zero ? timeout : .seconds(15) }
    var connect: Duration { connectTimeout > .zero ? connectTimeout : .seconds(15) }
}

/// The rate below which a download fails with `.deadlineExceeded`.
///
/// A download that is too slow for a sixth of the window gives its place in the queue to the next one.
public struct MinimumRate: Sendable, Hashable {
    /// Bytes per second, on average over ``window``.
    public var bytesPerSecond: Int
    /// The period of the average; at least as long as ``DownloaderConfiguration/timeout``.
    public var window: Duration

    /// Creates a minimum rate.
    public init(bytesPerSecond: Int = 1024, window: Duration = .seconds(30)) {
        self.bytesPerSecond = bytesPerSecond
        self.window = window
    }
}

/// The order of downloads with the same priority.
public enum LoadOrder: Sendable, Hashable, CaseIterable {
    case firstInFirstOut
    case lastInFirstOut
}

/// A token bucket: every download takes a token when it starts, and tokens are added at a constant rate.
public struct RateLimit: Sendable, Hashable {
    /// Tokens that are added per second.
    public var perSecond: Double
    /// The number of tokens that the bucket holds, so that many downloads may start at once after a pause.
    public var burst: Int

    /// Creates a rate limit.
    public init(perSecond: Double = 80, burst: Int = 25) {
        self.perSecond = perSecond
        self.burst = burst
    }
}
