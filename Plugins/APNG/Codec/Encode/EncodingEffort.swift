internal import CoderPluginKit
internal import ImageModel
internal import PNGCodec

/// What an effort of 0 … 9 buys.
struct EncodingEffort {
    /// All filters, for a choice row by row.
    static let adaptive: UInt8 = 0x1F
    static let unfiltered: UInt8 = 0x01

    let value: Int

    init(_ options: CoderOptions) throws(CoderError) {
        value = options.integer(OptionKey.effort) ?? 6
        guard (0...9).contains(value) else {
            throw .invalidArgument("effort is \(value)", hint: "it goes from 0 to 9")
        }
    }

    /// Whether ways to write a frame are compared by compressing them quickly.
    var comparesByTrial: Bool { value >= 3 }
    /// Whether the best way is tried without and with filters.
    var comparesOtherFilters: Bool { value >= 5 }
    /// Whether every way is tried without and with filters.
    var comparesAllFilters: Bool { value >= 7 }
    /// How many of the ways that look best are compressed in earnest.
    var finalists: Int { value >= 9 ? .max : value == 8 ? 3 : 1 }

    /// The compression of what is written.
    func final(filters: UInt8) -> RowCompressor.Effort {
        value <= 2
            ? RowCompressor.Effort(.isal, level: value, filters: filters)
            : RowCompressor.Effort(.zlib, level: min(value + 1, 9), filters: filters)
    }

    /// The compression by which ways are compared.
    func trial(filters: UInt8) -> RowCompressor.Effort {
        RowCompressor.Effort(.isal, level: 1, filters: filters, isTrial: true)
    }
}
