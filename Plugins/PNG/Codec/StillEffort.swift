internal import CoderPluginKit
internal import ImageModel

/// The settings for an effort of 0 … 9 of a still.
struct StillEffort {
    /// All filters; the encoder chooses one for each row.
    static let adaptive: UInt8 = 0x1F
    static let unfiltered: UInt8 = 0x01
    /// The memory limit for libdeflate, which keeps all filtered rows and the result; beyond it zlib is used, which
    /// keeps neither.
    private static let budget = 256 << 20
    /// The longest input for the highest level: libdeflate cannot be interrupted.
    private static let longest = 16 << 20

    let value: Int

    init(_ options: CoderOptions) throws(CoderError) {
        value = options.integer(OptionKey.effort) ?? 6
        guard (0...9).contains(value) else {
            throw .invalidArgument("invalid effort \(value)", hint: "use 0 to 9")
        }
    }

    var isStored: Bool { value == 0 }
    /// Whether to remove redundant samples.
    var reducesSamples: Bool { value >= 7 }

    /// Returns the compression of an image of `total` bytes of filtered rows.
    private func usual(total: Int, filters: UInt8) -> RowCompressor.Effort {
        switch value {
        case 0: return RowCompressor.Effort(.zlib, level: 0, filters: filters)
        case 1...3: return RowCompressor.Effort(.isal, level: value, filters: filters)
        default:
            let levels = [4: 4, 5: 5, 6: 6, 7: 8, 8: 9, 9: total <= Self.longest ? 12 : 10]
            return RowCompressor.Effort(.libdeflate, level: levels[value] ?? 6, filters: filters)
        }
    }

    /// Returns the compression of `total` bytes of filtered rows at once, and the memory reserved for it.
    func method(total: Int, filters: UInt8, host: HostServices) -> (effort: RowCompressor.Effort, reserved: Int) {
        let (effort, _, reserved) = method(
            total: total, ofEach: total, lanes: 1, atLeast: 1, filters: filters, host: host)
        return (effort, reserved)
    }

    /// Returns the compression of `total` bytes in strips of `bytes`, the number of strips at the same time, and the
    /// memory reserved for them.
    func method(
        total: Int, ofEach bytes: Int, lanes most: Int, atLeast least: Int, filters: UInt8, host: HostServices
    ) -> (effort: RowCompressor.Effort, lanes: Int, reserved: Int) {
        var effort = usual(total: total, filters: filters)
        guard effort.method == .libdeflate else { return (effort, most, 0) }
        effort.total = bytes
        let memory = effort.memory
        for lanes in [most, least, 1] where memory <= Self.budget / lanes {
            if (try? host.reserve(bytes: memory * lanes)) != nil { return (effort, lanes, memory * lanes) }
        }
        return (RowCompressor.Effort(.zlib, level: value, filters: filters), 1, 0)
    }
}
