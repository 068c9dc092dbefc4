/// What went wrong, where, and what would help.
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

        /// No installed coder knows these bytes.
        public static let unrecognizedFormat = Code(kind: .unrecognizedFormat)
        /// The format is known, but nothing usable serves it.
        public static let noCoder = Code(kind: .noCoder)
        /// The asked coder says that the bytes are another format.
        public static let notMine = Code(kind: .notMine)
        public static let corrupt = Code(kind: .corrupt)
        public static let truncated = Code(kind: .truncated)
        /// A suspension, not a failure: the source has to grow.
        public static let needsInput = Code(kind: .needsInput)
        public static let unsupportedFeature = Code(kind: .unsupportedFeature)
        /// A coder cannot serve this one request; its session goes on.
        public static let refused = Code(kind: .refused)
        public static let limitExceeded = Code(kind: .limitExceeded)
        public static let invalidArgument = Code(kind: .invalidArgument)
        /// A call out of sequence: a bug of the caller.
        public static let misuse = Code(kind: .misuse)
        public static let cancelled = Code(kind: .cancelled)
        public static let deadlineExceeded = Code(kind: .deadlineExceeded)
        public static let outOfMemory = Code(kind: .outOfMemory)
        public static let inputOutput = Code(kind: .inputOutput)
        public static let notFound = Code(kind: .notFound)
        public static let cannotCreate = Code(kind: .cannotCreate)
        /// A plugin was not used: version, trust, a missing library.
        public static let pluginRefused = Code(kind: .pluginRefused)
        /// A plugin broke the contract.
        public static let pluginFault = Code(kind: .pluginFault)
        /// The worker that a plugin ran in has ended: it crashed, hung, or tried what the sandbox forbids.
        public static let pluginCrashed = Code(kind: .pluginCrashed)
        /// The sandbox that was asked for is not to be had.
        public static let isolationUnavailable = Code(kind: .isolationUnavailable)
        public static let invalidURL = Code(kind: .invalidURL)
        /// A connection could not be made, or ended too early.
        public static let transferFailed = Code(kind: .transferFailed)
        /// A server answered with a status that is not acceptable.
        public static let badStatus = Code(kind: .badStatus)
        /// A server sent something that is declared to be no picture.
        public static let badContentType = Code(kind: .badContentType)
        /// A server did not keep to the protocol, or redirected without end.
        public static let badResponse = Code(kind: .badResponse)
        /// A name stands for an address that may not be connected to.
        public static let addressDenied = Code(kind: .addressDenied)
        /// The URL failed a short while ago, and was not tried again.
        public static let failedBefore = Code(kind: .failedBefore)

        public var description: String { kind.rawValue }
    }

    /// A limit that was passed.
    public struct Limit: Sendable, Hashable {
        /// Short and stable, the word that `--limits` takes: `side`, `pixels`, `frames` …
        public var name: String
        public var allowed: UInt64
        public var requested: UInt64

        /// What the short names stand for.
        static let phrases = [
            "side": "a side of", "pixels": "a pixel count of", "source-pixels": "a canvas pixel count of", "frames": "a frame count of",
            "total": "a pixel count over all frames of", "input": "an input byte count of",
            "output": "an output byte count of", "memory": "a decoded byte count of",
            "metadata": "a metadata byte count of", "all-metadata": "a byte count of all metadata of",
            "ratio": "a ratio of decoded to stored bytes of",
            "scans": "a scan count of", "nesting": "a nesting of",
        ]

        /// What helps where a limit of ``DecodeLimits`` was passed.
        package static func hint(_ name: String) -> String {
            "raise it with --limits \(name)=N if the source is trusted"
        }

        public init(name: String, allowed: UInt64, requested: UInt64) {
            self.name = name
            self.allowed = allowed
            self.requested = requested
        }
    }

    public var code: Code
    /// What happened, one sentence without a file name.
    public var message: String
    /// What would help, if anything is known to.
    public var hint: String?
    /// The coder that noticed.
    public var coder: String?
    /// The library behind it, for example `libpng`.
    public var domain: String?
    /// The feature that is missing, with `.unsupportedFeature`.
    public var feature: String?
    /// Byte position in the source, where known.
    public var inputOffset: UInt64?
    public var limit: Limit?
    /// The status of a server's answer, where one had begun.
    public var httpStatus: Int?
    /// Coders that were asked before and passed, each with its reason.
    public var attempts: [String]
    /// Whether it came from outside, so that the same once more may well work.
    package var isPassing = false

    public init(
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

    /// One line: the message, then who said it and what would help.
    public var description: String {
        var line = message
        if let domain, domain != coder { line += " (\(domain))" }
        if let coder { line += " [\(coder)]" }
        if let hint { line += "; \(hint)" }
        return line
    }

    // MARK: Shorthands for coders

    public static let needsInput = CoderError(.needsInput, "more input is needed")
    public static func corrupt(_ message: String, at offset: Int? = nil) -> CoderError {
        CoderError(.corrupt, message, inputOffset: offset.map(UInt64.init))
    }
    public static func truncated(_ message: String = "the data ends too early") -> CoderError {
        CoderError(.truncated, message)
    }
    public static func notMine(_ message: String = "these bytes are another format") -> CoderError {
        CoderError(.notMine, message)
    }
    public static func unsupported(_ feature: String) -> CoderError {
        CoderError(.unsupportedFeature, "\(feature) is not supported", feature: feature)
    }
    public static func refused(_ reason: String) -> CoderError { CoderError(.refused, reason) }
    public static func invalidArgument(_ message: String, hint: String? = nil) -> CoderError {
        CoderError(.invalidArgument, message, hint: hint)
    }
    /// A limit of ``DecodeLimits`` by its short name, or one that a codec has by itself.
    public static func limit(_ name: String, allowed: Int, requested: Int) -> CoderError {
        let what = Limit.phrases[name]
        var message = "\(what ?? name) \(requested) is above the limit of \(allowed)"
        // Whoever meets frame after frame does not know how many are still to come.
        if name == "frames", requested == allowed + 1 {
            message = "there are more than \(allowed) frame\(allowed == 1 ? "" : "s"), which is the limit"
        }
        return CoderError(
            .limitExceeded, message,
            hint: what == nil ? nil : Limit.hint(name),
            limit: Limit(name: name, allowed: UInt64(clamping: allowed), requested: UInt64(clamping: requested)))
    }
}
