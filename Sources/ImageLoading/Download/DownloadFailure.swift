import AsyncHTTPClient
import Glibc
import ImageModel
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// A failed download, with the server's `Retry-After` delay.
struct DownloadFailure: Error {
    var error: CoderError
    var retryAfter: Duration?
    /// Whether it failed before connecting, so that another address may work.
    var isBeforeConnection = false
    /// Whether the server's certificate is not accepted; ``CertificateProblem`` finds the reason.
    var hasBadCertificate = false
    /// Whether a reused connection turned out to be closed.
    var isStaleConnection = false

    init(_ error: CoderError, retryAfter: Duration? = nil) {
        self.error = error
        self.retryAfter = retryAfter
    }

    static func failed(_ message: String, hint: String? = nil) -> DownloadFailure {
        DownloadFailure(CoderError(.transferFailed, message, hint: hint))
    }

    static func transient(_ message: String, _ code: CoderError.Code = .transferFailed) -> DownloadFailure {
        var error = CoderError(code, message)
        error.isTransient = true
        return DownloadFailure(error)
    }

    private static func late(connecting time: Duration) -> DownloadFailure {
        .transient("could not connect to the server within \(text(time))", .deadlineExceeded)
    }

    /// Formats a duration, for example `15 s` or `0.3 s`.
    static func text(_ time: Duration) -> String {
        let (seconds, rest) = time.components
        let tenths = rest / 100_000_000_000_000_000
        return tenths == 0 ? "\(seconds) s" : "\(seconds).\(tenths) s"
    }

    static func permanent(_ message: String, _ status: Int? = nil) -> DownloadFailure {
        DownloadFailure(CoderError(.badResponse, message, httpStatus: status))
    }

    static let proxyCredential = failed(
        "the proxy requires a user and a password (status 407)",
        hint: "write them into the URL of the proxy: http://user:password@proxy.example:3128")

    static let cancelled = DownloadFailure(CoderError(.cancelled, "the load was cancelled"))

    /// Converts an error of the network libraries.
    ///
    /// - Parameter isAnswered: whether the response had begun.
    init(_ problem: any Error, isAnswered: Bool, _ configuration: DownloaderConfiguration) {
        switch problem {
        case is CancellationError: self = .cancelled
        case let problem as CoderError: self.init(problem)
        case let problem as HTTPClientError: self.init(client: problem, isAnswered: isAnswered, configuration)
        case let problem as IOError:
            switch problem.errnoCode {
            case ECONNREFUSED: self = .transient("the server refused the connection")
            case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, EINVAL, EAFNOSUPPORT, EACCES, EPERM:
                self = .transient("the server cannot be reached from here")
            case ETIMEDOUT: self = .late(connecting: configuration.timeouts.effectiveConnect)
            default:
                self = .transient("the connection was lost")
                isStaleConnection = !isAnswered
                return
            }
            isBeforeConnection = !isAnswered
        case is NIOConnectionError:
            self = .transient("the server cannot be reached from here")
            isBeforeConnection = !isAnswered
        case let problem as ChannelError:
            self = .transient("the connection was lost")
            if case .connectTimeout = problem {
                self = .late(connecting: configuration.timeouts.effectiveConnect)
                isBeforeConnection = true
            }
        case let problem as NIOHTTPDecompression.DecompressionError:
            self =
                problem == .limit
                ? DownloadFailure(
                    .limit("input", allowed: configuration.maxBytes, requested: configuration.maxBytes + 1))
                : .permanent("the response cannot be decompressed")
        case is NIOHTTPDecompression.ExtraDecompressionError:
            self = .permanent("the response cannot be decompressed")
        case let problem as HTTPParserError:
            switch problem {
            case .invalidEOFState, .closedConnection: self = .transient("the connection ended too early")
            default: self = .permanent("the server sent invalid HTTP: \(problem)")
            }
        case NIOSSLError.uncleanShutdown: self = .transient("the connection ended too early")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self = Self.handshake(problem)
            isBeforeConnection = !isAnswered
        default: self = .transient("the download failed: \(Self.phrase(problem))")
        }
    }

    /// Words of the TLS library's errors, with their meaning.
    private static let handshakeProblems: [(word: String, meaning: String, hint: String?)] = [
        ("WRONG_VERSION_NUMBER", "the server does not use TLS on this port", "check the port, or use http"),
        ("HTTP_REQUEST", "the server does not use TLS on this port", "check the port, or use http"),
        ("PROTOCOL_VERSION", "the server has no TLS of version 1.2 or later", nil),
        ("UNSUPPORTED_PROTOCOL", "the server has no TLS of version 1.2 or later", nil),
        ("NO_SHARED_CIPHER", "the server accepts no common cipher", nil),
        ("HANDSHAKE_FAILURE", "the server refused the TLS handshake", nil),
        ("EOF during handshake", "the server closed the connection during the TLS handshake", nil),
    ]

    /// Returns the failure for an error of the TLS library.
    private static func handshake(_ problem: any Error) -> DownloadFailure {
        let start = "cannot establish a trusted connection to the server: "
        if (problem as? NIOSSLExtraError) == .failedToValidateHostname {
            var failure = failed(
                start + "its certificate is for another host",
                hint: "check the host in the URL and the names in the certificate")
            failure.hasBadCertificate = true
            return failure
        }
        let text = String(describing: problem)
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            var failure = failed(start + "its certificate is not trusted", hint: CertificateProblem.trustHint)
            failure.error.feature = CertificateProblem.trust
            failure.hasBadCertificate = true
            return failure
        }
        let known = handshakeProblems.first { text.contains($0.word) }
        return failed(start + (known?.meaning ?? "the TLS handshake failed"), hint: known?.hint)
    }

    private init(client problem: HTTPClientError, isAnswered: Bool, _ configuration: DownloaderConfiguration) {
        switch problem {
        case .cancelled: self = .cancelled
        case .readTimeout, .writeTimeout:
            self = .transient(
                "the server sent nothing for \(Self.text(configuration.timeouts.effectiveIdle))", .deadlineExceeded)
        case .deadlineExceeded: self = .transient("the download took too long", .deadlineExceeded)
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
            self = .late(connecting: configuration.timeouts.effectiveConnect)
            isBeforeConnection = true
        case .remoteConnectionClosed, .uncleanShutdown:
            self = .transient("the connection ended too early")
            isStaleConnection = !isAnswered
        case .proxyAuthenticationRequired: self = .proxyCredential
        case .invalidProxyResponse: self = .transient("the proxy does not open a connection to the server")
        case .invalidURL, .emptyHost, .emptyScheme:
            self = DownloadFailure(WebAddress.invalid("it cannot be requested"))
        default:
            self =
                problem.shortDescription.hasPrefix("Invalid header")
                ? DownloadFailure(.invalidArgument("a header field contains invalid characters"))
                : .transient("the download failed: \(problem.shortDescription)")
        }
    }

    /// Returns the first line of a library's error description.
    private static func phrase(_ problem: any Error) -> String {
        String(String(describing: problem).prefix { $0 != "\n" }.prefix(200))
    }
}
