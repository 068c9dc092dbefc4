import CoderHost
import Glibc
import ImageModel
public import Logging

/// How a downloader works.
public struct DownloaderConfiguration: Sendable {
    // MARK: How many, in what order

    /// Transfers at one time; see ``Downloader/maxConcurrent``.
    public var maxConcurrent = 6
    public var order = LoadOrder.firstInFirstOut
    /// How fast transfers may begin; nil for as fast as they come.
    public var rateLimit: RateLimit? = RateLimit()
    public var retry: any RetryStrategy = RetryPolicy.none

    // MARK: How long, how much

    /// How long a server may send nothing; zero means 15 seconds.
    public var timeout = Duration.seconds(15)
    /// How long a connection may take to come about; zero means 15 seconds.
    public var connectTimeout = Duration.seconds(15)
    /// How long a download may take with all attempts and pauses, without its wait in the queue; nil for no limit.
    public var totalTimeout: Duration? = .seconds(600)
    /// How fast bytes have to arrive; nil for any rate.
    public var minimumRate: MinimumRate? = MinimumRate()
    /// Bytes of one picture, also after decompression; 0 for no limit.
    public var maxBytes = DownloaderConfiguration.standardMaxBytes
    /// Whether a transfer that was cut is gone on with when the picture is asked for again.
    public var resumesTransfers = true
    /// Bytes of cut transfers that are kept.
    public var maxPartialBytes = 32 << 20

    // MARK: What is sent

    /// Fields of every request; see ``Downloader/setHeader(_:_:)``.
    public var headers = [
        "User-Agent": "coderhost/\(coderHostVersion)", "Accept": "image/*,*/*;q=0.8",
        "Accept-Encoding": "identity",
    ]
    /// For servers that ask for it with 401; sent to the origin of the URL alone, at once after it was asked for once.
    public var credential: Credential?
    public var requestModifier: RequestModifier?

    // MARK: Who is asked

    public var addresses = AddressPolicy()
    public var resolver: any NameResolver = SystemResolver()
    public var maxRedirects = 3
    /// Whether a redirect may lead from `https` to `http`.
    public var allowsDowngrade = false
    /// Files of certificates (PEM) that are trusted beside those of the system.
    public var trustedCertificates: [String] = []
    /// Clients that are kept for the next request, each for one host at one address.
    public var maxIdleClients = 32

    // MARK: What is taken

    /// nil for all.
    public var acceptableStatus: Set<Int>? = Set(200...299)
    /// Media types in lower case, `image/*` for all of a kind; nil for all.
    public var acceptableTypes: Set<String>?
    public var responseModifier: ResponseModifier?
    /// Nothing is decoded before it has seen all bytes.
    public var decryptor: Decryptor?

    /// Says what is sent to whom; no user, no password, no query.
    public var logger = Logger(label: "coderhost.download") { _ in SwiftLogNoOpLogHandler() }

    public init() {}

    /// 200 MiB, or a tenth of the memory where that is less, or what a decoder takes at most.
    public static let standardMaxBytes: Int = {
        let memory = sysconf(Int32(_SC_PHYS_PAGES)).multipliedReportingOverflow(by: sysconf(Int32(_SC_PAGESIZE)))
        let tenth = memory.overflow || memory.partialValue <= 0 ? Int.max : memory.partialValue / 10
        return min(200 << 20, tenth, DecodeLimits.default.maxInputBytes)
    }()

    var idle: Duration { timeout > .zero ? timeout : .seconds(15) }
    var connect: Duration { connectTimeout > .zero ? connectTimeout : .seconds(15) }
}

/// The rate below which a download ends with `.deadlineExceeded`.
///
/// A download that is below the rate for a sixth of the window leaves its place in the queue to the next one.
public struct MinimumRate: Sendable, Hashable {
    /// Bytes per second, on average over ``window``.
    public var bytesPerSecond: Int
    /// The last seconds that are looked at; at least ``DownloaderConfiguration/timeout`` long, in which a server may be
    /// silent.
    public var window: Duration

    public init(bytesPerSecond: Int = 1024, window: Duration = .seconds(30)) {
        self.bytesPerSecond = bytesPerSecond
        self.window = window
    }
}

/// Who comes first among those of one priority.
public enum LoadOrder: Sendable, Hashable, CaseIterable {
    case firstInFirstOut
    case lastInFirstOut
}

/// A bucket of tokens: one for each beginning, filled up steadily.
public struct RateLimit: Sendable, Hashable {
    public var perSecond: Double
    /// Beginnings that need not wait after a pause.
    public var burst: Int

    public init(perSecond: Double = 80, burst: Int = 25) {
        self.perSecond = perSecond
        self.burst = burst
    }
}
