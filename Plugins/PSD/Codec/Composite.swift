import CoderPluginKit
import ImageModel

/// The composite of a file: the merged image behind the layers.
struct Composite {
    let header: PSDHeader
    let form: CompositeForm
    let resources: PSDResources
    let info: ImageInfo
    /// All red values, then all green and all blue ones; empty without a palette.
    let palette: [UInt8]
    /// The position of the image data.
    let start: Int

    /// Reads the header, the resources and the facts of the layers.
    init(_ session: DecoderSession) throws(CoderError) {
        var reader = ByteReader(session.source)
        header = try PSDHeader(&reader)
        let colors = Int(try reader.u32BE())
        try reader.require(colors)
        if header.mode == .indexed {
            guard colors >= 768 else { throw .corrupt("the palette has \(colors) bytes in place of 768", at: 26) }
            palette = session.source.bytes(reader.offset..<reader.offset + 768)
        } else {
            palette = []
        }
        reader.offset += colors
        resources = try PSDResources(&reader, session.host)
        if let place = resources.damage {
            session.host.warn("the image resources from byte \(place) on are damaged and ignored")
        }
        let layers = try PSDLayers(&reader, header)
        start = layers.end
        if layers.count > 0, resources.lacksComposite {
            var error = CoderError(
                .unsupportedFeature, "the file has layers without a composite image",
                hint: "save it with \"Maximize Compatibility\" in Photoshop")
            error.feature = "layers without a composite image"
            throw error
        }
        form = try CompositeForm(
            header, layers, transparentIndex: resources.transparentIndex,
            keepsFloats: session.options.bool("psd.float") ?? false)
        for loss in form.losses { session.host.warn(loss) }
        let hasProfile = PSDMetadata(session, resources).hasProfile(for: form.format)
        let hasThumbnail = PSDThumbnail.exists(resources, form)
        info = ImageInfo(
            size: header.size, nativeFormat: form.format, bitDepth: header.depth,
            color: Self.color(form, hasProfile: hasProfile), density: resources.density, hasItems: hasThumbnail,
            decodesRows: true, regionCost: .above)
    }

    /// Lab becomes sRGB, and floats without a profile are linear light.
    private static func color(_ form: CompositeForm, hasProfile: Bool) -> ColorDescription {
        if form.color == .lab { return ColorDescription(codePoints: .sRGB) }
        if form.depth == 32, !hasProfile {
            let linear = CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true)
            return ColorDescription(codePoints: linear)
        }
        return ColorDescription(hasProfile: hasProfile)
    }
}
