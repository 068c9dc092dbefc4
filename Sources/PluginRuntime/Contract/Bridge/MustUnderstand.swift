import CCoderPlugin
import ImageModel

/// Checks for every struct of a plugin. The upper half of a flags word and reserved words must be understood; this
/// version of the contract defines none of them.
extension CoderError {
    /// The plugin uses a feature that requires a newer host.
    private static func notUnderstood(_ field: String, _ value: UInt32) -> CoderError {
        var error = CoderError(
            .unsupportedFeature,
            "the plugin sets \(field) to 0x\(String(value, radix: 16)), which needs a newer coderhost",
            hint: "update coderhost, or build the plugin with the headers of this one: \(pluginInterfaceVersion)")
        error.feature = field
        return error
    }

    /// The plugin returned a value that the contract does not define.
    static func undefined(_ field: String, _ value: UInt32) -> CoderError {
        CoderError(
            .pluginFault, "the plugin reports \(field) \(value), which is not defined",
            hint: "report it to the plugin's author, or update coderhost if the plugin is newer")
    }

    /// The plugin offers only pixel formats that this version does not know.
    static func unknown(_ format: cpi_pixel_format) -> CoderError {
        var error = CoderError(
            .unsupportedFeature,
            "the plugin's pixel format (channels \(format.channels), numeric \(format.numeric), \(format.bits) bits, "
                + "alpha \(format.alpha), count \(format.count), layout \(format.layout)) is unknown to this coderhost, and the plugin offers no other",
            hint: "update coderhost, or use an older version of the plugin")
        error.feature = "pixel format"
        return error
    }

    fileprivate static func require(
        _ name: String, flags: UInt32, reserved: KeyValuePairs<String, UInt32>
    ) throws(CoderError) {
        if flags & 0xFFFF_0000 != 0 { throw notUnderstood("\(name).flags", flags) }
        for (field, value) in reserved where value != 0 { throw notUnderstood("\(name).\(field)", value) }
    }
}

extension cpi_pixel_format {
    /// Describes a pixel format of a file that the host cannot store; nil for any other format.
    ///
    /// Example: "5 channels of unsigned 32-bit integers".
    var description: String? {
        let samples: String? =
            switch numeric {
            case CPI_NUMERIC_UNORM: "\(bits)-bit samples"
            case CPI_NUMERIC_FLOAT: "\(bits)-bit floats"
            case CPI_NUMERIC_UINT: "unsigned \(bits)-bit integers"
            case CPI_NUMERIC_SINT: "signed \(bits)-bit integers"
            default: nil
            }
        guard let samples, reserved == 0 else { return nil }
        let plane = layout == CPI_LAYOUT_PLANAR ? " in planes" : ""
        return channels == CPI_CHANNELS_MANY ? "\(count) channels of \(samples)\(plane)" : samples + plane
    }
}

extension cpi_image_info {
    /// Throws if the value requires a newer host.
    ///
    /// - Throws: `.unsupportedFeature`.
    func requireUnderstood() throws(CoderError) {
        try CoderError.require("cpi_image_info", flags: flags, reserved: [:])
        try CoderError.require(
            "cpi_color", flags: color.flags,
            reserved: ["reserved[0]": color.reserved.0, "reserved[1]": color.reserved.1])
    }
}

extension PortItem {
    func requireUnderstood() throws(CoderError) {
        try CoderError.require("cpi_item", flags: flags, reserved: ["reserved": reserved])
    }
}

extension cpi_rewrite_outcome {
    func requireUnderstood() throws(CoderError) {
        try CoderError.require("cpi_rewrite_outcome", flags: flags, reserved: ["reserved": reserved])
    }
}

extension cpi_frame_info {
    func requireUnderstood() throws(CoderError) {
        try CoderError.require("cpi_frame_info", flags: flags, reserved: ["reserved": reserved])
    }
}

extension cpi_format_offer {
    func requireUnderstood() throws(CoderError) {
        try CoderError.require("cpi_format_offer", flags: flags, reserved: ["reserved": reserved])
    }
}
