/// An error with its kind, its cause and, if possible, a remedy.
public struct CoderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Identifies a kind of error; the list is open, so switch with a default.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case unrecognizedFormat, noCoder, notMine, corrupt, truncated, needsInput, unsupportedFeature, refused
            case limitExceeded, invalidArgument, misuse, cancelled, deadlineExceeded, outOfMemory, inputOutput
            case notFound, cannotCreate, pluginRefused, pluginFault, pluginCrashed, isolationUnavailable
            case invalidURL, transferFailed, badStatus, badContentType, badResponse, addressDenied, failedBefore
        }
        private var kind: Kind

        /// No installed coder recognizes these bytes.
        public static let unrecognizedFormat = Code(kind: .unrecognizedFormat)
        /// The format is recognized, but no usable coder decodes or encodes it.
        public static let noCoder = Code(kind: .noCoder)
        /// The requested coder reports that the bytes have another format.
        public static let notMine = Code(kind: .notMine)
        /// The data is damaged.
        public static let corrupt = Code(kind: .corrupt)
        /// The data ends too early.
        public static let truncated = Code(kind: .truncated)
        /// A suspension, not a failure: the source has to grow.
        public static let needsInput = Code(kind: .needsInput)
        /// The coder does not support a feature of the image.
        public static let unsupportedFeature = Code(kind: .unsupportedFeature)
        /// A coder cannot serve this request; its session stays usable.
        public static let refused = Code(kind: .refused)
        /// A limit was exceeded.
        public static let limitExceeded = Code(kind: .limitExceeded)
        /// An argument or an option is invalid.
        public static let invalidArgument = Code(kind: .invalidArgument)
        /// A call out of sequence: a bug of the caller.
        public static let misuse = Code(kind: .misuse)
        /// The caller cancelled the operation.
        public static let cancelled = Code(kind: .cancelled)
        /// The operation exceeded its time limit.
        public static let deadlineExceeded = Code(kind: .deadlineExceeded)
        /// Memory could not be allocated.
        public static let outOfMemory = Code(kind: .outOfMemory)
        /// Reading or writing failed.
        public static let inputOutput = Code(kind: .inputOutput)
        /// A file or an entry does not exist.
        public static let notFound = Code(kind: .notFound)
        /// A file or folder could not be created.
        public static let cannotCreate = Code(kind: .cannotCreate)
        /// The host did not use a plugin: wrong version, no trust, or a missing library.
        public static let pluginRefused = Code(kind: .pluginRefused)
        /// A plugin violated the contract.
        public static let pluginFault = Code(kind: .pluginFault)
        /// The worker of a plugin has ended: it crashed, hung, or attempted a forbidden operation.
        public static let pluginCrashed = Code(kind: .pluginCrashed)
        /// The requested sandbox is not available.
        public static let isolationUnavailable = Code(kind: .isolationUnavailable)
        /// The URL is invalid or not supported.
        public static let invalidURL = Code(kind: .invalidURL)
        /// A connection could not be made, or ended too early.
        public static let transferFailed = Code(kind: .transferFailed)
        /// A server answered with a status that is not acceptable.
        public static let badStatus = Code(kind: .badStatus)
        /// A server declared a content type that is not an image.
        public static let badContentType = Code(kind: .badContentType)
        /// A server violated the protocol or redirected too often.
        public static let badResponse = Code(kind: .badResponse)
        /// A host name resolves to an address to which connections are denied.
        public static let addressDenied = Code(kind: .addressDenied)
        /// The URL failed recently and was not tried again.
        public static let failedBefore = Code(kind: .failedBefore)

        /// The value as text.
        public var description: String { kind.rawValue }
    }

    /// A limit that was exceeded.
    public struct Limit: Sendable, Hashable {
        /// The short, stable name that `--limits` takes: `side`, `pixels`, `frames` …
        public var name: String
        /// The permitted value.
        public var allowed: UInt64
        /// The value that exceeded the limit.
        public var requested: UInt64

        /// The long forms of the short names, for messages.
        static let phrases = [
            "side": "a side of", "pixels": "a pixel count of", "source-pixels": "a canvas pixel count of",
            "frames": "a frame count of",
            "total": "a pixel count over all frames of", "input": "an input byte count of",
            "output": "an output byte count of", "memory": "a decoded byte count of",
            "metadata": "a metadata byte count of", "all-metadata": "a byte count of all metadata of",
            "ratio": "a ratio of decoded to stored bytes of",
            "scans": "a scan count of", "nesting": "a nesting of",
        ]

        /// Returns the hint for an exceeded limit of ``DecodeLimits``.
        package static func hint(_ name: String) -> String {
            "raise it with --limits \(name)=N if the source is trusted"
        }

        /// Creates a limit with its permitted and requested values.
        package init(name: String, allowed: UInt64, requested: UInt64) {
            self.name = name
            self.allowed = allowed
            self.requested = requested
        }
    }

    /// The kind of error.
    public var code: Code
    /// The cause, one sentence without a file name.
    public var message: String
    /// One thing to try, if a remedy is known.
    public var hint: String?
    /// The coder that reported the error.
    public var coder: String?
    /// The library behind the coder, for example `libpng`.
    package var domain: String?
    /// The missing feature, with `.unsupportedFeature`.
    public var feature: String?
    /// The byte position in the source, where known.
    package var inputOffset: UInt64?
    /// The exceeded limit, with `.limitExceeded`.
    public var limit: Limit?
    /// The HTTP status, if the server began to answer.
    public var httpStatus: Int?
    /// The coders that declined before, each with its reason.
    package var attempts: [String]
    /// The format of the input by its first bytes, if no usable coder decodes it.
    public package(set) var recognizedFormat: RecognizedFormat?
    /// Whether the cause is external, so that a retry may succeed.
    package var isTransient = false

    /// Creates an error from its kind, its cause and a remedy.
    public init(_ code: Code, _ message: String, hint: String? = nil) {
        self.init(code, message, hint: hint, coder: nil)
    }

    /// Creates an error.
    package init(
        _ code: Code, _ message: String, hint: String? = nil, coder: String? = nil, domain: String? = nil,
        feature: String? = nil, inputOffset: UInt64? = nil, limit: Limit? = nil, httpStatus: Int? = nil,
        attempts: [String] = []
    ) {
        self.code = code
        self.message = message
        self.hint = hint
        self.coder = coder
        self.domain = domain
        self.feature = feature
        self.inputOffset = inputOffset
        self.limit = limit
        self.httpStatus = httpStatus
        self.attempts = attempts
    }

    /// One line: the message, the library, the coder and the hint.
    public var description: String {
        var line = message
        if let domain, domain != coder { line += " (\(domain))" }
        if let coder { line += " [\(coder)]" }
        if let hint { line += "; \(hint)" }
        return line
    }

    // MARK: Shorthands for coders

    /// An error that requests more input.
    public static let needsInput = CoderError(.needsInput, "more input is needed")
    /// Returns an error for damaged data.
    public static func corrupt(_ message: String, at offset: Int? = nil) -> CoderError {
        CoderError(.corrupt, message, inputOffset: offset.map(UInt64.init))
    }
    /// Returns an error for data that ends too early.
    public static func truncated(_ message: String = "the data ends too early") -> CoderError {
        CoderError(.truncated, message)
    }
    /// Returns an error for bytes of another format.
    public static func notMine(_ message: String = "these bytes are another format") -> CoderError {
        CoderError(.notMine, message)
    }
    /// Returns an error for an unsupported feature.
    public static func unsupported(_ feature: String) -> CoderError {
        CoderError(.unsupportedFeature, "\(feature) is not supported", feature: feature)
    }
    /// Returns an error for a refused request.
    public static func refused(_ reason: String) -> CoderError { CoderError(.refused, reason) }
    /// Returns an error for an invalid argument.
    public static func invalidArgument(_ message: String, hint: String? = nil) -> CoderError {
        CoderError(.invalidArgument, message, hint: hint)
    }
    /// Returns the error for a limit of ``DecodeLimits``, given by its short name, or for a codec's own limit.
    public static func limit(_ name: String, allowed: Int, requested: Int) -> CoderError {
        let what = Limit.phrases[name]
        var message = "\(what ?? name) \(requested) is above the limit of \(allowed)"
        // A decoder that counts frame by frame does not know the total number.
        if name == "frames", requested == allowed + 1 {
            message = "there are more than \(allowed) frame\(allowed == 1 ? "" : "s"), which is the limit"
        }
        return CoderError(
            .limitExceeded, message,
            hint: what == nil ? nil : Limit.hint(name),
            limit: Limit(name: name, allowed: UInt64(clamping: allowed), requested: UInt64(clamping: requested)))
    }
}
