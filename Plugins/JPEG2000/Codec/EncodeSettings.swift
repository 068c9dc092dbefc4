internal import CoderPluginKit
internal import ImageModel

/// The settings of an encoding session, checked against each other.
struct EncodeSettings {
    enum Progression: String, CaseIterable {
        case lrcp, rlcp, rpcl, pcrl, cprl
        var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    let isLossless: Bool
    /// Of the raw bytes to the output; 0 for ``fidelity``.
    let ratio: Double
    /// Signal-to-noise ratio in decibels.
    let fidelity: Double
    /// The side of a tile; 0 for one tile.
    let tile: Int
    /// nil: by the size of the image.
    private let wantedLevels: Int?
    let progression: Progression
    let isBare: Bool

    /// - Throws: `.invalidArgument`.
    init(_ options: CoderOptions) throws(CoderError) {
        isLossless = options.bool(OptionKey.lossless) ?? false
        ratio = options.real("jp2.ratio") ?? 0
        let quality = options.real(OptionKey.quality) ?? 75
        guard (0...100).contains(quality) else { throw .invalidArgument("quality \(quality) is not in 0 … 100") }
        guard ratio == 0 || (1...10_000).contains(ratio) else {
            throw .invalidArgument("jp2.ratio \(ratio) is not in 1 … 10000", hint: "leave it out to encode by quality")
        }
        if isLossless, ratio > 0 {
            throw .invalidArgument("lossless excludes jp2.ratio", hint: "leave one of them out")
        }
        fidelity = Self.fidelity(quality)
        tile = options.integer("jp2.tile") ?? 0
        guard tile == 0 || (16...65_535).contains(tile) else {
            throw .invalidArgument("jp2.tile \(tile) is not in 16 … 65535", hint: "0 makes one tile")
        }
        wantedLevels = options.integer("jp2.levels")
        guard (0...32).contains(wantedLevels ?? 0) else {
            throw .invalidArgument("jp2.levels \(wantedLevels ?? 0) is not in 0 … 32")
        }
        let name = options.string("jp2.progression") ?? "rpcl"
        guard let progression = Progression(rawValue: name) else {
            throw .invalidArgument("invalid jp2.progression \(name)")
        }
        self.progression = progression
        isBare = options.bool("jp2.codestream") ?? false
    }

    /// The number of levels: the smallest one keeps a pixel.
    func levels(for size: PixelSize) -> Int {
        let side = min(size.width, size.height, tile > 0 ? tile : .max)
        let most = Int.bitWidth - 1 - max(1, side).leadingZeroBitCount
        return min(wantedLevels ?? 5, most)
    }

    /// The fidelity of a quality, so that the same number gives about the quality of a JPEG: 75 is 39 dB.
    private static func fidelity(_ quality: Double) -> Double {
        quality <= 90 ? 24 + quality * 0.2 : 42 + (quality - 90) * 1.3
    }
}
