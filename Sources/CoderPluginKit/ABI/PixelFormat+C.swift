internal import CCoderPlugin
internal import ImageModel

extension PixelFormat {
    /// Reads a format of the contract; returns nil if this version does not define it.
    init?(_ raw: cpi_pixel_format) {
        guard raw.count == 0, raw.layout == CPI_LAYOUT_INTERLEAVED, raw.reserved == 0,
            let channels = Channels(rawValue: raw.channels), let numeric = Numeric(rawValue: raw.numeric),
            let alpha = Alpha(rawValue: raw.alpha), channels.hasAlpha == (alpha != .none)
        else { return nil }
        self.init(channels, bits: Int(raw.bits), numeric: numeric, alpha: alpha)
        if !isValid { return nil }
    }

    var raw: cpi_pixel_format {
        cpi_pixel_format(
            channels: channels.rawValue, numeric: numeric.rawValue, bits: UInt8(bits), alpha: alpha.rawValue,
            count: 0, layout: CPI_LAYOUT_INTERLEAVED, reserved: 0)
    }

    /// The format as an offer of a decoder or encoder; rows need no alignment.
    var offer: cpi_format_offer {
        cpi_format_offer(
            size: UInt32(MemoryLayout<cpi_format_offer>.size), flags: 0, format: raw, row_align: 1, reserved: 0)
    }
}
