internal import CoderPluginKit
internal import ImageModel

/// The settings of an encoding session, checked against each other.
struct EncodeSettings {
    enum Compression: String, CaseIterable {
        case none, lzw, deflate, zstd, jpeg, webp, group4

        /// The number in tag 259.
        var number: Int {
            switch self {
            case .none: 1
            case .lzw: 5
            case .deflate: 8
            case .zstd: 50_000
            case .jpeg: 7
            case .webp: 50_001
            case .group4: 4
            }
        }
        var hasPredictor: Bool { self == .lzw || self == .deflate || self == .zstd }
    }

    /// The place of the levels of a pyramid.
    enum Pyramid: String {
        case none, subifd, cog
    }

    let compression: Compression
    let quality: Int
    let isLossless: Bool
    let effort: Int
    /// The side of a tile; 0 for strips.
    let tile: Int
    let predictor: Bool
    let pyramid: Pyramid
    /// nil: if the file needs it.
    let isBig: Bool?

    /// - Throws: `.invalidArgument`.
    init(_ options: CoderOptions) throws(CoderError) {
        isLossless = options.bool(OptionKey.lossless) ?? false
        let name = options.string("tiff.compression") ?? "deflate"
        guard let compression = Compression(rawValue: name) else {
            throw .invalidArgument("invalid tiff.compression \(name)")
        }
        self.compression = compression
        if isLossless, compression == .jpeg || compression == .group4 {
            throw .invalidArgument(
                "lossless excludes tiff.compression \(name)", hint: "choose deflate, zstd, lzw or none")
        }
        quality = Int((options.real(OptionKey.quality) ?? 75).rounded())
        effort = options.integer(OptionKey.effort) ?? 6
        let place = options.string("tiff.pyramid") ?? "none"
        guard let pyramid = Pyramid(rawValue: place) else { throw .invalidArgument("invalid tiff.pyramid \(place)") }
        self.pyramid = pyramid
        let side = options.integer("tiff.tile") ?? 0
        // The usual tiles of pyramids, and of GDAL's driver COG.
        tile = side != 0 || pyramid == .none ? side : pyramid == .cog ? 512 : 256
        predictor = options.bool("tiff.predictor") ?? true
        let big = options.string("tiff.bigtiff") ?? "auto"
        guard let isBig: Bool? = ["auto": nil, "on": true, "off": false][big] else {
            throw .invalidArgument("invalid tiff.bigtiff \(big)")
        }
        self.isBig = isBig
        guard (0...100).contains(quality), (0...9).contains(effort), (0...65_520).contains(tile), tile % 16 == 0 else {
            throw .invalidArgument(
                "an option of tiff is out of range", hint: "a tile has a side of 16, 32, 48 … pixels")
        }
    }

    /// The pixel formats that the compression encodes, for an image of a given one.
    func formats(for native: PixelFormat) -> [PixelFormat] {
        let isOpaque = !native.hasTransparency
        switch compression {
        case .group4: return [.gray8]
        case .jpeg: return native.channels.isGray ? [.gray8] : [.rgb8]
        case .webp: return isOpaque ? [.rgb8] : [.rgba8]
        case .none, .lzw, .deflate, .zstd: break
        }
        let channels: PixelFormat.Channels =
            switch native.channels {
            case .gray: .gray
            case .grayAlpha: isOpaque ? .gray : .grayAlpha
            case .rgb: .rgb
            case .rgba, .bgra: isOpaque ? .rgb : .rgba
            case .cmyk: .cmyk
            }
        return [PixelFormat(channels, bits: native.bits, numeric: native.numeric, alpha: native.alpha)]
    }

    /// The level of Deflate or ZSTD.
    var level: Int { compression == .zstd ? max(1, effort * 2) : max(1, effort) }
}

extension PixelFormat.Channels {
    fileprivate var isGray: Bool { self == .gray || self == .grayAlpha }
}
