import AsyncHTTPClient
import Glibc
import ImageModel
import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// A failed transfer, and what the server said about another attempt.
struct TransferFailure: Error {
    var error: CoderError
    var retryAfter: Duration?
    /// Whether there was no connection yet, so that another address may do.
    var isBeforeConnection = false
    /// Whether a connection that was open before turned out to be gone.
    var isStaleConnection = false

    init(_ error: CoderError, retryAfter: Duration? = nil) {
        self.error = error
        self.retryAfter = retryAfter
    }

    static func failed(_ message: String, hint: String? = nil) -> TransferFailure {
        TransferFailure(CoderError(.transferFailed, message, hint: hint))
    }

    static func passing(_ message: String, _ code: CoderError.Code = .transferFailed) -> TransferFailure {
        var error = CoderError(code, message)
        error.isPassing = true
        return TransferFailure(error)
    }

    private static func late(connecting time: Duration) -> TransferFailure {
        .passing("there was no connection to the server within \(text(time))", .deadlineExceeded)
    }

    /// `15 s`, `0.3 s`.
    static func text(_ time: Duration) -> String {
        let (seconds, rest) = time.components
        let tenths = rest / 100_000_000_000_000_000
        return tenths == 0 ? "\(seconds) s" : "\(seconds).\(tenths) s"
    }

    static func bad(_ message: String, _ status: Int? = nil) -> TransferFailure {
        TransferFailure(CoderError(.badResponse, message, httpStatus: status))
    }

    static let cancelled = TransferFailure(CoderError(.cancelled, "the load was cancelled"))

    /// What the network said, in our words.
    ///
    /// - Parameter isAnswered: whether the answer had begun.
    init(_ problem: any Error, isAnswered: Bool, _ configuration: DownloaderConfiguration) {
        switch problem {
        case is CancellationError: self = .cancelled
        case let problem as CoderError: self.init(problem)
        case let problem as HTTPClientError: self.init(client: problem, isAnswered: isAnswered, configuration)
        case let problem as IOError:
            switch problem.errnoCode {
            case ECONNREFUSED: self = .passing("the server takes no connections at this port")
            case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, EINVAL, EAFNOSUPPORT, EACCES, EPERM:
                self = .passing("the server cannot be reached from here")
            case ETIMEDOUT: self = .late(connecting: configuration.connect)
            default:
                self = .passing("the connection was lost")
                isStaleConnection = !isAnswered
                return
            }
            isBeforeConnection = !isAnswered
        case is NIOConnectionError:
            self = .passing("the server cannot be reached from here")
            isBeforeConnection = !isAnswered
        case let problem as ChannelError:
            self = .passing("the connection was lost")
            if case .connectTimeout = problem {
                self = .late(connecting: configuration.connect)
                isBeforeConnection = true
            }
        case let problem as NIOHTTPDecompression.DecompressionError:
            self =
                problem == .limit
                ? TransferFailure(
                    .limit("input", allowed: configuration.maxBytes, requested: configuration.maxBytes + 1))
                : .bad("what the server sent cannot be decompressed")
        case is NIOHTTPDecompression.ExtraDecompressionError:
            self = .bad("what the server sent cannot be decompressed")
        case let problem as HTTPParserError:
            switch problem {
            case .invalidEOFState, .closedConnection: self = .passing("the connection ended too early")
            default: self = .bad("the server does not speak HTTP as it should: \(problem)")
            }
        case NIOSSLError.uncleanShutdown: self = .passing("the connection ended too early")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self = .failed(
                "there is no trusted connection to the server: \(Self.phrase(problem))",
                hint: "check its certificate, or allow invalid ones for this picture")
            isBeforeConnection = !isAnswered
        default: self = .passing("the transfer failed: \(Self.phrase(problem))")
        }
    }

    private init(client problem: HTTPClientError, isAnswered: Bool, _ configuration: DownloaderConfiguration) {
        switch problem {
        case .cancelled: self = .cancelled
        case .readTimeout, .writeTimeout:
            self = .passing("the server sent nothing for \(Self.text(configuration.idle))", .deadlineExceeded)
        case .deadlineExceeded: self = .passing("the transfer took too long", .deadlineExceeded)
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
            self = .late(connecting: configuration.connect)
            isBeforeConnection = true
        case .remoteConnectionClosed, .uncleanShutdown:
            self = .passing("the connection ended too early")
            isStaleConnection = !isAnswered
        case .invalidURL, .emptyHost, .emptyScheme:
            self = TransferFailure(WebAddress.invalid("it cannot be sent"))
        default:
            self =
                problem.shortDescription.hasPrefix("Invalid header")
                ? TransferFailure(.invalidArgument("a header field has characters that no field may have"))
                : .passing("the transfer failed: \(problem.shortDescription)")
        }
    }

    /// The first line of what a library says.
    private static func phrase(_ problem: any Error) -> String {
        String(String(describing: problem).prefix { $0 != "\n" }.prefix(200))
    }
}
