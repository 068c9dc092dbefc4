internal import CCoderPlugin
internal import ImageModel

extension DecodeLimits {
    /// Reads the limits of a session. The host watches the time; `HostServices.checkCancellation` reports its end.
    ///
    /// - Throws: `.misuse`.
    @unsafe
    init(_ pointer: UnsafePointer<cpi_limits>) throws(CoderError) {
        let raw = unsafe try copyIn(pointer, least: FirstSize.limits)
        self = .off
        maxSide = Int(raw.max_width)
        maxPixels = Int(clamping: raw.max_pixels)
        maxFrames = Int(raw.max_frames)
        maxTotalPixels = Int(clamping: raw.max_total_pixels)
        maxSourcePixels = Int(clamping: raw.max_source_pixels)
        maxInputBytes = Int(clamping: raw.max_input_bytes)
        maxOutputBytes = Int(clamping: raw.max_output_bytes)
        maxDecodedBytes = Int(clamping: raw.max_total_alloc)
        maxMetadataBytes = Int(clamping: raw.max_metadata_bytes)
        // The interface has no limit for all metadata together; the host also counts a coder's metadata.
        maxTotalMetadataBytes =
            maxMetadataBytes.multipliedReportingOverflow(by: 4).overflow ? .max : 4 * maxMetadataBytes
        maxRatio = Int(raw.max_ratio)
        maxScans = Int(raw.max_scans)
        maxNesting = Int(raw.max_nesting)
        maxThreads = Int(raw.max_threads)
    }
}

extension CoderOptions {
    /// Reads the options of a session; NULL means no options.
    ///
    /// - Parameter known: the keys of the coder's manifest; nil if unknown.
    /// - Throws: `.misuse`, or `.invalidArgument` for an unknown type or key.
    @unsafe
    init(_ pointer: UnsafePointer<cpi_options>?, known: Set<String>? = nil) throws(CoderError) {
        self.init()
        guard let pointer = unsafe pointer else { return }
        let raw = unsafe try copyIn(pointer, least: FirstSize.options)
        if unsafe raw.count == 0 { return }
        // Later minors may have larger elements; the bound only prevents an overflow of the sum below.
        guard let items = unsafe raw.items, let step = unsafe Int(exactly: raw.stride), step >= FirstSize.option,
            step <= 1 << 16
        else { throw CoderError(.misuse, "the host passed a list of options that cannot be read") }
        for index in unsafe 0..<Int(raw.count) {
            let element = unsafe (UnsafeRawPointer(items) + index * step).assumingMemoryBound(to: cpi_option.self)
            unsafe try add(copyIn(element, least: FirstSize.option), known)
        }
    }

    private mutating func add(_ raw: cpi_option, _ known: Set<String>?) throws(CoderError) {
        if unsafe isNull(raw.key) { throw CoderError(.misuse, "the host passed an option without a key") }
        let key = unsafe String(cString: raw.key)
        // Keys without a dot have the same meaning for every coder; a coder ignores those that do not apply to it.
        if let known, key.contains("."), !known.contains(key) {
            if unsafe raw.flags.has(CPI_OPTION_HINT) { return }
            throw .invalidArgument("there is no option \(key)")
        }
        switch unsafe raw.type {
        case CPI_OPTION_BOOL: values[key] = unsafe .bool(raw.integer != 0)
        case CPI_OPTION_I64: values[key] = unsafe .integer(raw.integer)
        case CPI_OPTION_F64: values[key] = unsafe .real(raw.real)
        case CPI_OPTION_BYTES: values[key] = unsafe .bytes(try copyBytes(raw.bytes, raw.length))
        case CPI_OPTION_STRING, CPI_OPTION_ENUM:
            guard let text = unsafe String(validating: try copyBytes(raw.bytes, raw.length), as: UTF8.self) else {
                throw .invalidArgument("the option \(key) is not UTF-8")
            }
            values[key] = .string(text)
        default:
            if unsafe !raw.flags.has(CPI_OPTION_HINT) {
                throw .invalidArgument("the option \(key) has a type that is not known")
            }
        }
    }
}

extension MetadataBlob {
    /// Reads metadata that a host passes to an encoder.
    ///
    /// - Throws: `.misuse`, or `.refused` for an unknown kind.
    @unsafe
    init(_ pointer: UnsafePointer<cpi_blob>) throws(CoderError) {
        let raw = unsafe try copyIn(pointer, least: FirstSize.blob)
        guard let kind = unsafe Kind(rawValue: raw.kind) else { throw .refused("this kind of metadata is not known") }
        let key = unsafe raw.key.map { unsafe String(cString: $0) }
        self.init(kind, unsafe try copyBytes(raw.bytes, raw.length), key: key)
    }
}

/// Copies borrowed bytes.
///
/// - Throws: `.misuse`.
@unsafe
private func copyBytes(_ start: UnsafePointer<UInt8>?, _ length: UInt64) throws(CoderError) -> [UInt8] {
    if length == 0 { return [] }
    guard let start = unsafe start, let count = Int(exactly: length) else {
        throw CoderError(.misuse, "the host passed bytes that cannot be read")
    }
    return unsafe Array(UnsafeBufferPointer(start: start, count: count))
}
