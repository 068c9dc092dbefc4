internal import CCoderPlugin
internal import ImageModel

extension PixelFormat {
    /// Reads a format of the contract; nil when it is none this version knows.
    init?(_ raw: cpi_pixel_format) {
        guard let channels = Channels(rawValue: raw.channels), let numeric = Numeric(rawValue: raw.numeric),
            let alpha = Alpha(rawValue: raw.alpha), channels.hasAlpha == (alpha != .none)
        else { return nil }
        self.init(channels, bits: Int(raw.bits), numeric: numeric, alpha: alpha)
        if !isValid { return nil }
    }

    var raw: cpi_pixel_format {
        cpi_pixel_format(
            channels: channels.rawValue, numeric: numeric.rawValue, bits: UInt8(bits), alpha: alpha.rawValue,
            reserved: 0)
    }
}
