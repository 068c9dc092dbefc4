import CCoderPlugin
import ImageModel

/// A call into a plugin: holds its error and converts its status to a Swift error.
struct ContractCall {
    var error = cpi_error()

    init() { error.size = UInt32(MemoryLayout<cpi_error>.size) }

    /// The names of the limits in the order of `CPI_LIMIT_…`.
    private static let limitNames = [
        "", "side", "side", "pixels", "frames", "total", "source-pixels", "memory", "memory", "metadata", "input",
        "output", "nesting",
        "threads", "scans", "ratio",
    ]

    /// Converts a status to an error; nil if the call succeeded.
    ///
    /// - Parameters:
    ///   - call: The called function of the contract.
    ///   - notes: The positive statuses that the contract allows; any other is a fault of the plugin.
    func failure(_ status: cpi_status, of call: String, notes: [cpi_status] = [], coder: String) -> CoderError? {
        if status == CPI_OK { return nil }
        if status > 0, !notes.contains(status) {
            return CoderError(
                .pluginFault, "the plugin returned status \(status) from \(call), which the contract does not allow",
                hint: "report it to the plugin's author, or update coderhost if the plugin is newer", coder: coder)
        }
        if status > 0 { return status == CPI_NEED_INPUT ? .needsInput : nil }
        let code: CoderError.Code
        let fallback: String
        switch status {
        case CPI_NOT_MINE: (code, fallback) = (.notMine, "the data has another format")
        case CPI_UNSUPPORTED: (code, fallback) = (.unsupportedFeature, "a feature of this file is not supported")
        case CPI_CORRUPT: (code, fallback) = (.corrupt, "the data is damaged")
        case CPI_TRUNCATED: (code, fallback) = (.truncated, "the data ends too early")
        case CPI_LIMIT: (code, fallback) = (.limitExceeded, "a limit was exceeded")
        case CPI_INVALID_ARGUMENT: (code, fallback) = (.invalidArgument, "an option has an invalid value")
        case CPI_CANCELLED: (code, fallback) = (.cancelled, "the session was cancelled")
        case CPI_DEADLINE: (code, fallback) = (.deadlineExceeded, "the session reached its time limit")
        case CPI_NO_MEMORY: (code, fallback) = (.outOfMemory, "an allocation failed")
        case CPI_IO: (code, fallback) = (.inputOutput, "reading or writing failed")
        case CPI_MISUSE: (code, fallback) = (.misuse, "the host called out of sequence")
        case CPI_INTERNAL: (code, fallback) = (.pluginFault, "the plugin failed")
        default: (code, fallback) = (.pluginFault, "the plugin returned the unknown status \(status)")
        }
        let message = Self.text(error.message)
        var result = CoderError(code, message.isEmpty ? fallback : message, coder: coder)
        let domain = Self.text(error.domain)
        if !domain.isEmpty { result.domain = domain }
        let feature = Self.text(error.feature)
        if !feature.isEmpty { result.feature = feature }
        if error.input_offset > 0 { result.inputOffset = error.input_offset }
        if status == CPI_LIMIT {
            // Limits of later versions and a codec's own limits have no name here.
            let index = Int(error.limit_id)
            let name = Self.limitNames.indices.contains(index) ? Self.limitNames[index] : ""
            result.limit = CoderError.Limit(
                name: name.isEmpty ? "other" : name, allowed: error.limit_allowed, requested: error.limit_requested)
            result.hint =
                name.isEmpty
                ? "the codec has a fixed limit; make the image smaller" : CoderError.Limit.hint(name)
        }
        return result
    }

    /// The error for `CPI_REFUSED`.
    func refusal(coder: String) -> CoderError { CoderError(.refused, Self.text(error.message), coder: coder) }

    /// Reads a fixed-size text field without reading beyond it, even if it is not terminated.
    private static func text<T>(_ field: T) -> String {
        unsafe withUnsafeBytes(of: field) { bytes in
            let text = unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            // Untrusted text may be printed on a terminal, so control characters are replaced.
            return String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
        }
    }
}
