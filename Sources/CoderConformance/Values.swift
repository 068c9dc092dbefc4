import CCoderPlugin

/// The values that the header defines, field by field.
enum Values {
    private static let upperHalf: UInt32 = 0xFFFF_0000

    private static func flags(_ flags: UInt32, _ name: String) -> String? {
        let bits = flags & upperHalf
        return bits == 0 ? nil : "\(name) has the undefined bit 0x\(String(bits, radix: 16))"
    }

    private static func value(_ value: UInt32, upTo last: UInt32, from first: UInt32 = 0, _ name: String) -> String? {
        (first...last).contains(value) ? nil : "\(name) is \(value)"
    }

    static func objection(_ info: cpi_image_info) -> String? {
        flags(info.flags, "cpi_image_info.flags") ?? flags(info.color.flags, "cpi_color.flags")
            ?? value(info.loop_kind, upTo: CPI_LOOPS_INFINITE, "cpi_image_info.loop_kind")
            ?? value(info.density_unit, upTo: CPI_DENSITY_ASPECT, "cpi_image_info.density_unit")
            ?? value(info.region_cost, upTo: CPI_REGION_TILES, "cpi_image_info.region_cost")
            ?? value(info.orientation, upTo: 8, "cpi_image_info.orientation")
            ?? value(info.color.reserved.0 | info.color.reserved.1, upTo: 0, "cpi_color.reserved")
            ?? objection(info.native)
    }

    static func objection(_ frame: cpi_frame_info) -> String? {
        flags(frame.flags, "cpi_frame_info.flags")
            ?? value(frame.blend, upTo: CPI_BLEND_OVER, "cpi_frame_info.blend")
            ?? value(frame.disposal, upTo: CPI_DISPOSAL_PREVIOUS, "cpi_frame_info.disposal")
            ?? value(frame.reserved, upTo: 0, "cpi_frame_info.reserved")
    }

    static func objection(_ offer: cpi_format_offer) -> String? {
        flags(offer.flags, "cpi_format_offer.flags") ?? value(offer.reserved, upTo: 0, "cpi_format_offer.reserved")
            ?? objection(offer.format)
            ?? (offer.row_align & (offer.row_align &- 1) == 0 && offer.row_align <= 64
                ? nil : "cpi_format_offer.row_align is \(offer.row_align)")
    }

    static func objection(_ outcome: cpi_rewrite_outcome) -> String? {
        flags(outcome.flags, "cpi_rewrite_outcome.flags")
            ?? value(outcome.reserved, upTo: 0, "cpi_rewrite_outcome.reserved")
    }

    static func objection(_ item: Item, number: UInt32) -> String? {
        flags(item.flags, "cpi_item.flags")
            ?? value(item.role, upTo: CPI_ITEM_AUXILIARY, from: CPI_ITEM_PRIMARY, "cpi_item.role")
            ?? value(item.reserved, upTo: 0, "cpi_item.reserved")
            ?? (item.of == number ? "item \(number) belongs to itself" : nil)
    }

    static func objection(_ format: cpi_pixel_format) -> String? {
        value(UInt32(format.channels), upTo: UInt32(CPI_CHANNELS_MANY), from: 1, "cpi_pixel_format.channels")
            ?? value(UInt32(format.numeric), upTo: UInt32(CPI_NUMERIC_SINT), from: 1, "cpi_pixel_format.numeric")
            ?? value(UInt32(format.alpha), upTo: UInt32(CPI_ALPHA_OPAQUE), "cpi_pixel_format.alpha")
            ?? value(UInt32(format.layout), upTo: UInt32(CPI_LAYOUT_PLANAR), "cpi_pixel_format.layout")
            ?? value(UInt32(format.reserved), upTo: 0, "cpi_pixel_format.reserved")
    }
}
