import CCoderPlugin
import ImageModel

/// One call into a plugin: room for its error, and its answer as a Swift error.
struct ContractCall {
    var error = cpi_error()

    init() { error.size = UInt32(MemoryLayout<cpi_error>.size) }

    /// The names of the limits in the order of `CPI_LIMIT_…`.
    private static let limitNames = [
        "", "side", "side", "pixels", "frames", "total", "source-pixels", "memory", "memory", "metadata", "input", "output", "nesting",
        "threads", "scans", "ratio",
    ]

    /// The error that a status stands for; nil where the call has done what it was asked for.
    ///
    /// - Parameters:
    ///   - call: The function of the contract that answered.
    ///   - notes: The positive statuses that the contract lets it answer. Any other is a fault of the plugin.
    func failure(_ status: cpi_status, of call: String, notes: [cpi_status] = [], coder: String) -> CoderError? {
        if status == CPI_OK { return nil }
        if status > 0, !notes.contains(status) {
            return CoderError(
                .pluginFault, "the plugin answered \(call) with status \(status), which this call must not answer",
                hint: "tell the plugin's author, or update coderhost if the plugin is newer", coder: coder)
        }
        if status > 0 { return status == CPI_NEED_INPUT ? .needsInput : nil }
        let code: CoderError.Code
        let fallback: String
        switch status {
        case CPI_NOT_MINE: (code, fallback) = (.notMine, "these bytes are another format")
        case CPI_UNSUPPORTED: (code, fallback) = (.unsupportedFeature, "a feature of this file is not supported")
        case CPI_CORRUPT: (code, fallback) = (.corrupt, "the data is damaged")
        case CPI_TRUNCATED: (code, fallback) = (.truncated, "the data ends too early")
        case CPI_LIMIT: (code, fallback) = (.limitExceeded, "a limit would be passed")
        case CPI_INVALID_ARGUMENT: (code, fallback) = (.invalidArgument, "an option has no legal value")
        case CPI_CANCELLED: (code, fallback) = (.cancelled, "the session was cancelled")
        case CPI_DEADLINE: (code, fallback) = (.deadlineExceeded, "the time for this session is used up")
        case CPI_NO_MEMORY: (code, fallback) = (.outOfMemory, "an allocation failed")
        case CPI_IO: (code, fallback) = (.inputOutput, "reading or writing failed")
        case CPI_MISUSE: (code, fallback) = (.misuse, "the host called out of sequence")
        case CPI_INTERNAL: (code, fallback) = (.pluginFault, "the plugin failed")
        default: (code, fallback) = (.pluginFault, "the plugin answered the unknown status \(status)")
        }
        let message = Self.text(error.message)
        var result = CoderError(code, message.isEmpty ? fallback : message, coder: coder)
        let domain = Self.text(error.domain)
        if !domain.isEmpty { result.domain = domain }
        let feature = Self.text(error.feature)
        if !feature.isEmpty { result.feature = feature }
        if error.input_offset > 0 { result.inputOffset = error.input_offset }
        if status == CPI_LIMIT {
            // A number of a later version, or a limit that a codec has by itself, has no name here.
            let index = Int(error.limit_id)
            let name = Self.limitNames.indices.contains(index) ? Self.limitNames[index] : ""
            result.limit = CoderError.Limit(
                name: name.isEmpty ? "other" : name, allowed: error.limit_allowed, requested: error.limit_requested)
            result.hint =
                name.isEmpty
                ? "the limit is the codec's own; make the picture smaller" : CoderError.Limit.hint(name)
        }
        return result
    }

    /// Why a plugin returned `CPI_REFUSED`.
    func refusal(coder: String) -> CoderError { CoderError(.refused, Self.text(error.message), coder: coder) }

    /// The text of a fixed field; never reads past it, whatever the plugin left in it.
    private static func text<T>(_ field: T) -> String {
        unsafe withUnsafeBytes(of: field) { bytes in
            let text = unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            // Somebody's words, shown on a terminal: no control characters.
            return String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
        }
    }
}
