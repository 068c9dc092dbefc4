internal import CCoderPlugin
internal import ImageModel

extension CoderError {
    /// The status that reports this error to the host.
    var status: cpi_status {
        switch code {
        case .notMine, .unrecognizedFormat: CPI_NOT_MINE
        case .unsupportedFeature: CPI_UNSUPPORTED
        case .corrupt: CPI_CORRUPT
        case .truncated: CPI_TRUNCATED
        case .needsInput: CPI_NEED_INPUT
        case .refused: CPI_REFUSED
        case .limitExceeded: CPI_LIMIT
        case .invalidArgument: CPI_INVALID_ARGUMENT
        case .misuse: CPI_MISUSE
        case .cancelled: CPI_CANCELLED
        case .deadlineExceeded: CPI_DEADLINE
        case .outOfMemory: CPI_NO_MEMORY
        case .inputOutput, .notFound, .cannotCreate: CPI_IO
        // An error that only a host can detect is a fault if a plugin reports it.
        default: CPI_INTERNAL
        }
    }

    /// Creates the error for a status of a host callback; nil if the status is not a failure.
    init?(callback status: cpi_status) {
        switch status {
        case CPI_OK, CPI_END, CPI_PARTIAL: return nil
        case CPI_NEED_INPUT: self = .needsInput
        case CPI_NOT_MINE: self = .notMine()
        case CPI_UNSUPPORTED: self.init(.unsupportedFeature, "the host does not support this")
        case CPI_CORRUPT: self.init(.corrupt, "the host reports damaged data")
        case CPI_TRUNCATED: self = .truncated()
        case CPI_LIMIT: self.init(.limitExceeded, "the host's limit would be exceeded")
        case CPI_INVALID_ARGUMENT: self.init(.invalidArgument, "the host refused an argument")
        case CPI_CANCELLED: self.init(.cancelled, "the session was cancelled")
        case CPI_DEADLINE: self.init(.deadlineExceeded, "the time for this session is used up")
        case CPI_NO_MEMORY: self.init(.outOfMemory, "the host has no memory left")
        case CPI_IO: self.init(.inputOutput, "the host could not read or write")
        case CPI_MISUSE: self.init(.misuse, "the host was called out of sequence")
        default: self.init(.pluginFault, "the host returned an unknown status")
        }
    }

    /// Stores this error in the host's struct, up to the struct's size; does nothing for NULL.
    @unsafe
    func fill(_ pointer: UnsafeMutablePointer<cpi_error>) {
        if unsafe isNull(pointer) { return }
        var raw = cpi_error()
        raw.code = status
        Self.copy(message, to: &raw.message)
        Self.copy(domain, to: &raw.domain)
        Self.copy(feature, to: &raw.feature)
        raw.input_offset = inputOffset ?? 0
        if let limit {
            raw.limit_id = LimitName.id(limit.name)
            raw.limit_allowed = limit.allowed
            raw.limit_requested = limit.requested
        }
        try? unsafe copyOut(raw, to: pointer)
    }

    /// Fills a zeroed character array with as many whole characters as leave room for the NUL.
    private static func copy<Field>(_ text: String?, to field: inout Field) {
        guard let utf8 = text?.utf8 else { return }
        unsafe withUnsafeMutableBytes(of: &field) { bytes in
            var end = utf8.startIndex
            var count = 0
            var index = utf8.startIndex
            while index != utf8.endIndex, count < bytes.count - 1 {
                let byte = utf8[index]
                unsafe bytes[count] = byte == 0 ? UInt8(ascii: "?") : byte
                count += 1
                utf8.formIndex(after: &index)
                if index == utf8.endIndex || utf8[index] & 0xC0 != 0x80 { end = index }
            }
            for surplus in utf8.distance(from: utf8.startIndex, to: end)..<count { unsafe bytes[surplus] = 0 }
        }
    }
}

/// The numbers of the limits that a coder can report.
enum LimitName {
    private static let ids: [(name: String, id: UInt32)] = [
        ("width", CPI_LIMIT_WIDTH), ("side", CPI_LIMIT_WIDTH), ("height", CPI_LIMIT_HEIGHT),
        ("pixels", CPI_LIMIT_PIXELS), ("frames", CPI_LIMIT_FRAMES),
        ("sourcepixels", CPI_LIMIT_SOURCE_PIXELS), ("total", CPI_LIMIT_TOTAL_PIXELS),
        ("totalpixels", CPI_LIMIT_TOTAL_PIXELS),
        ("alloc", CPI_LIMIT_ALLOC), ("allocation", CPI_LIMIT_ALLOC), ("totalalloc", CPI_LIMIT_TOTAL_ALLOC),
        ("decodedbytes", CPI_LIMIT_TOTAL_ALLOC), ("memory", CPI_LIMIT_TOTAL_ALLOC),
        ("metadatabytes", CPI_LIMIT_METADATA_BYTES), ("metadata", CPI_LIMIT_METADATA_BYTES),
        ("inputbytes", CPI_LIMIT_INPUT_BYTES), ("input", CPI_LIMIT_INPUT_BYTES),
        ("outputbytes", CPI_LIMIT_OUTPUT_BYTES), ("output", CPI_LIMIT_OUTPUT_BYTES),
        ("nesting", CPI_LIMIT_NESTING), ("threads", CPI_LIMIT_THREADS), ("scans", CPI_LIMIT_SCANS),
        ("ratio", CPI_LIMIT_RATIO),
    ]

    /// Returns the number of a limit in any spelling: `maxMetadataBytes`, `metadata bytes`, `metadata-bytes`.
    static func id(_ name: String) -> UInt32 {
        // Compare only ASCII letters, in lower case.
        var letters = name.utf8.map { $0 | 0x20 }.filter { $0 >= UInt8(ascii: "a") && $0 <= UInt8(ascii: "z") }
        if letters.starts(with: "max".utf8) { letters.removeFirst(3) }
        return ids.first { $0.name.utf8.elementsEqual(letters) }?.id ?? CPI_LIMIT_NONE
    }
}
