import CoderHost
import Glibc
import HostSystem
import ImageModel
public import Logging

/// The configuration of a ``Downloader``.
public struct DownloaderConfiguration: Sendable {
    /// The number and the order of downloads.
    public var queue = Queue()
    /// Decides whether and when a failed download is retried.
    public var retry: any RetryStrategy = RetryPolicy.none
    /// Limits for the duration and the rate of a download.
    public var timeouts = Timeouts()
    /// Limit for the bytes of one image, also after decompression; 0 for no limit.
    public var maxBytes = DownloaderConfiguration.standardMaxBytes
    /// Limit for the memory of interrupted downloads, in bytes; they are resumed when the image is requested again.
    ///
    /// With 0, no download is resumed.
    package var maxPartialBytes = 32 << 20
    /// Parts of every request.
    public var request = Request()
    /// The servers that may be contacted.
    public var servers = Servers()
    /// Rules for every response.
    public var response = Response()
    /// Logs requests and responses, without user, password and query.
    public var logger = Logger(label: "coderhost.download") { _ in SwiftLogNoOpLogHandler() }

    /// Creates the default configuration.
    public init() {}

    /// The lowest of 200 MiB, a tenth of the machine's memory, and the default input limit of decoders.
    static let standardMaxBytes: Int = {
        let memory = sysconf(Int32(_SC_PHYS_PAGES)).multipliedReportingOverflow(by: sysconf(Int32(_SC_PAGESIZE)))
        let tenth = memory.overflow || memory.partialValue <= 0 ? Int.max : memory.partialValue / 10
        return min(200 << 20, tenth, DecodeLimits.default.maxInputBytes)
    }()
}

extension DownloaderConfiguration {
    /// The number and the order of downloads.
    public struct Queue: Sendable {
        /// The maximum number of concurrent downloads; see ``Downloader/maxConcurrent``.
        public var maxConcurrent = 6
        /// The order of waiting downloads with the same priority.
        public var order = LoadOrder.firstInFirstOut
        /// The rate at which downloads may start; nil for no limit.
        package var rateLimit: RateLimit? = RateLimit()
    }

    /// Limits for the duration and the rate of a download.
    public struct Timeouts: Sendable {
        /// Timeout for a server that sends nothing; zero means 15 seconds.
        public var idle = Duration.seconds(15)
        /// Timeout for connecting; zero means 15 seconds.
        public var connect = Duration.seconds(15)
        /// Timeout for a download with all attempts and pauses, excluding the wait in the queue; nil for no limit.
        public var total: Duration? = .seconds(600)
        /// The minimum rate of received bytes; nil for any rate.
        package var minimumRate: MinimumRate? = MinimumRate()

        var effectiveIdle: Duration { idle > .zero ? idle : .seconds(15) }
        var effectiveConnect: Duration { connect > .zero ? connect : .seconds(15) }
    }

    /// Parts of every request.
    public struct Request: Sendable {
        /// Header fields; see ``Downloader/setHeader(_:_:)``.
        public var headers = [
            "User-Agent": "coderhost/\(coderHostVersion)", "Accept": "image/*,*/*;q=0.8",
            "Accept-Encoding": "identity",
        ]
        /// The credential for servers that answer 401.
        ///
        /// It is sent only to the origin of the URL; after the first 401, with every request to that origin.
        public var credential: Credential?
        /// Changes or refuses the request.
        public var modifier: RequestModifier?
    }

    /// The servers that may be contacted.
    public struct Servers: Sendable {
        /// The hosts and addresses that may be contacted.
        public var addresses = AddressPolicy()
        /// The proxies; those of the environment by default.
        public var proxies = ProxyPolicy.environment
        /// Resolves host names.
        package var resolver: any NameResolver = SystemResolver()
        /// The maximum number of redirects of one download.
        public var maxRedirects = 3
        /// Whether a redirect may lead from `https` to `http`.
        package var allowsDowngrade = false
        /// Paths of certificate files (PEM) that are trusted in addition to the system's: that of the environment variable
        /// `SSL_CERT_FILE` by default.
        public var trustedCertificates = [environment("SSL_CERT_FILE")].compactMap(\.self).filter { !$0.isEmpty }
        /// The number of idle HTTP clients to keep, each for one host at one address.
        package var maxIdleClients = 32
    }

    /// Rules for every response.
    public struct Response: Sendable {
        /// The accepted status codes; nil for all.
        public var acceptableStatus: Set<Int>? = Set(200...299)
        /// The accepted media types in lower case, `image/*` for all images; nil for all types.
        public var acceptableTypes: Set<String>?
        /// Changes or refuses the response.
        public var modifier: ResponseModifier?
        /// Decrypts the received bytes; nothing is decoded before the download is complete.
        public var decryptor: Decryptor?
    }
}

/// The rate below which a download fails with `.deadlineExceeded`.
///
/// A download that is too slow for a sixth of the window gives its place in the queue to the next one.
package struct MinimumRate: Sendable, Hashable {
    /// Bytes per second, on average over ``window``.
    package var bytesPerSecond: Int
    /// The period of the average; at least as long as ``DownloaderConfiguration/Timeouts/idle``.
    package var window: Duration

    package init(bytesPerSecond: Int = 1024, window: Duration = .seconds(30)) {
        self.bytesPerSecond = bytesPerSecond
        self.window = window
    }
}

/// The order of downloads with the same priority.
public enum LoadOrder: Sendable, Hashable, CaseIterable {
    /// The oldest request first.
    case firstInFirstOut
    /// The newest request first.
    case lastInFirstOut
}

/// A token bucket: every download takes a token when it starts, and tokens are added at a constant rate.
package struct RateLimit: Sendable, Hashable {
    /// Tokens that are added per second.
    package var perSecond: Double
    /// The number of tokens that the bucket holds, so that many downloads may start at once after a pause.
    package var burst: Int

    package init(perSecond: Double = 80, burst: Int = 25) {
        self.perSecond = perSecond
        self.burst = burst
    }
}
