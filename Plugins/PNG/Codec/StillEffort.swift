internal import CoderPluginKit
internal import ImageModel

/// What an effort of 0 … 9 buys for a still.
struct StillEffort {
    /// All filters, for a choice row by row.
    static let adaptive: UInt8 = 0x1F
    static let unfiltered: UInt8 = 0x01
    /// libdeflate keeps all filtered rows and the result; beyond this zlib, which keeps neither, takes its place.
    private static let budget = 256 << 20
    /// The longest input for which the highest level is worth the time: nothing stops libdeflate on its way.
    private static let longest = 16 << 20

    let value: Int

    init(_ options: CoderOptions) throws(CoderError) {
        value = options.integer(OptionKey.effort) ?? 6
        guard (0...9).contains(value) else {
            throw .invalidArgument("effort is \(value)", hint: "it goes from 0 to 9")
        }
    }

    var isStored: Bool { value == 0 }
    /// Whether samples that say nothing are looked for.
    var reducesSamples: Bool { value >= 7 }

    /// The compression of `total` bytes of filtered rows, and the memory that was reserved for it.
    func method(total: Int, filters: UInt8, host: HostServices) -> (effort: RowCompressor.Effort, reserved: Int) {
        switch value {
        case 0: return (RowCompressor.Effort(.zlib, level: 0, filters: filters), 0)
        case 1...3: return (RowCompressor.Effort(.isal, level: value, filters: filters), 0)
        default: break
        }
        let levels = [4: 4, 5: 5, 6: 6, 7: 8, 8: 9, 9: total <= Self.longest ? 12 : 10]
        var whole = RowCompressor.Effort(.libdeflate, level: levels[value] ?? 6, filters: filters)
        whole.total = total
        let memory = whole.memory
        if memory <= Self.budget, (try? host.reserve(bytes: memory)) != nil { return (whole, memory) }
        return (RowCompressor.Effort(.zlib, level: value, filters: filters), 0)
    }
}
