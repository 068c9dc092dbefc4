internal import CoderPluginKit
internal import ImageModel
internal import PNGCodec

/// The settings for an effort of 0 … 9.
struct EncodingEffort {
    /// All filters; the encoder chooses one for each row.
    static let adaptive: UInt8 = 0x1F
    static let unfiltered: UInt8 = 0x01

    let value: Int

    init(_ options: CoderOptions) throws(CoderError) {
        value = options.integer(OptionKey.effort) ?? 6
        guard (0...9).contains(value) else {
            throw .invalidArgument("invalid effort \(value)", hint: "use 0 to 9")
        }
    }

    /// Whether the encoder compares ways to write a frame by compressing them quickly.
    var comparesByTrial: Bool { value >= 3 }
    /// Whether the encoder tries the best way without and with filters.
    var comparesOtherFilters: Bool { value >= 5 }
    /// Whether the encoder tries every way without and with filters.
    var comparesAllFilters: Bool { value >= 7 }
    /// The number of best ways that are compressed with the final settings.
    var finalists: Int { value >= 9 ? .max : value == 8 ? 3 : 1 }

    /// The compression of the written data.
    func final(filters: UInt8) -> RowCompressor.Effort {
        value <= 2
            ? RowCompressor.Effort(.isal, level: value, filters: filters)
            : RowCompressor.Effort(.zlib, level: min(value + 1, 9), filters: filters)
    }

    /// The compression for comparing ways.
    func trial(filters: UInt8) -> RowCompressor.Effort {
        RowCompressor.Effort(.isal, level: 1, filters: filters, isTrial: true)
    }
}
