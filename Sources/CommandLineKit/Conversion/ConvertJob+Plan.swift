import CoderHost
import ImageModel
import ImageProcessing

/// The steps from an input to one of its outputs.
extension ConvertJob {
    /// Plans the steps.
    func plan(
        _ session: DecodeSession, _ input: Input, _ rendition: Rendition
    ) throws(CoderError) -> ImageShape {
        var options = changes.options
        if let size = rendition.size(enlarging: renditions.enlarges) { options.size = size }
        if let part = rendition.part { options.part = .rect(part) }
        var finish = changes.finish
        let encoder = try encoder(of: rendition, session, input)
        if rendition.isUpright { options.appliesOrientation = true }
        // The size of the output is known before it is written only if the host turns the pixels, not the encoder.
        if let encoder, !options.appliesOrientation,
            try !session.keepsOrientation(in: encoder, keepsExif: selection.keeps(.exif))
        {
            options.appliesOrientation = true
        }
        if let encoder { try convertUntagged(&finish, session, encoder) }
        if let overlay = changes.overlay {
            let below = try session.shape(options, changes.finishBelowOverlay).size
            if let problem = overlay.problem(on: below) { session.context.warn(problem) }
            finish = try addOverlay(finish, options, session, input)
        }
        let shape = try session.shape(options, finish)
        if changes.isUnfilled(shape.size, options) {
            session.context.warn("--no-enlarge keeps the size \(shape.size), which does not fill the box")
        }
        if rendition.width == nil, !session.info.isScalable,
            let shortage = changes.shortage(of: shape.boxSize, options)
        {
            session.context.warn(shortage)
        }
        if let excess = changes.excess(of: shape.boxSize) { session.context.warn(excess) }
        return shape
    }

    /// Returns the encoder that will probably write an output; nil for a copy, and if there is none.
    private func encoder(
        of rendition: Rendition, _ session: DecodeSession, _ input: Input
    ) throws(CoderError) -> CoderDescriptor? {
        let name = target.path(
            for: input.name, number: input.number, item: session.selectedItem, size: PixelSize(1, 1)
        ) { _ in "" }
        if isCopied(session, name) { return nil }
        let isAnimation = try hasMoreFrames(session, try selectedFrames(session)).0
        let named = rendition.format ?? format(of: name)
        let format = if let named { named } else { try usualFormat(session, isAnimation: isAnimation) }
        let stills = encode.stillEncoders(format, host)
        return (isAnimation ? encode.animationEncoders(format, host).first ?? stills.first : stills.first)?
            .descriptor
    }

    /// Converts colors to sRGB if the output loses their description: a viewer would take their numbers for sRGB.
    private func convertUntagged(
        _ finish: inout ImageFinish, _ session: DecodeSession, _ encoder: CoderDescriptor
    ) throws(CoderError) {
        if selection.keeps(.icc) || finish.colors != nil { return }
        guard try session.differsFromSRGB() else { return }
        // Code points and gamma are no metadata: they stay where the format stores them.
        let profile = try session.colorProfile()
        let isHigh = profile.isHighDynamicRange
        switch profile {
        case .codePoints where isHigh || encoder.output.carries.contains("code-points"):
            // The host maps light above screen white if the format cannot describe it, and warns of it.
            return
        case .calibrated where encoder.output.carries.contains("gamma"): return
        case .icc where encode.dynamicRange == .kept:
            session.context.warn(
                "the color profile is removed, and --dynamic-range keep keeps the stored values: "
                    + "the colors look different")
            return
        default: break
        }
        finish.colors = (profile: .sRGB, embeds: false)
        if selection.namesProfile || isHigh && encode.dynamicRange == .automatic {
            let cause =
                selection.namesProfile ? "--strip icc removes the color profile" : "the color profile is not kept"
            session.context.warn("\(cause), so the colors are \(isHigh ? "tone mapped" : "converted") to sRGB")
        }
    }

    /// Adds the overlay or the text in the color space of the output.
    private func addOverlay(
        _ finish: ImageFinish, _ options: DecodeOptions, _ session: DecodeSession, _ input: Input
    ) throws(CoderError) -> ImageFinish {
        guard let overlay = changes.overlay else { return finish }
        var colors = finish.colors
        if colors == nil {
            let profile = try session.colorProfile()
            let channels = session.info.nativeFormat.channels
            // Colors on a gray image need another profile than its own; inks and light above white have no overlay.
            let isOther = channels == .cmyk || channels == .gray || channels == .grayAlpha || profile.isHighDynamicRange
            if isOther, channels == .cmyk || profile != .assumed && profile != .sRGB {
                colors = (profile: .sRGB, embeds: false)
                session.context.warn("\(overlay.option): the colors of the image are converted to sRGB")
            }
        }
        let space: ColorProfile = if let colors { colors.profile } else { try session.colorProfile() }
        let values = try overlay.text.map { text throws(CoderError) in
            try self.values(text, finish, options, session, input)
        }
        if let text = overlay.text, text.text(values ?? [:]).allSatisfy(\.isWhitespace) {
            session.context.warn("--text is empty for this image, so none is drawn")
            return finish
        }
        let transformer = try overlay.transformer(space, values ?? [:])
        for warning in (transformer as? TextOverlay)?.warnings ?? [] { session.context.warn("--text: \(warning)") }
        var result = changes.finish(with: transformer)
        result.colors = colors
        return result
    }

    /// Returns the values of the placeholders in a text.
    private func values(
        _ text: TextSwitches, _ finish: ImageFinish, _ options: DecodeOptions, _ session: DecodeSession, _ input: Input
    ) throws(CoderError) -> [String: String] {
        // The text does not change the size.
        let needsSize = text.mentions("w") || text.mentions("h")
        let size = needsSize ? try session.shape(options, finish).size : PixelSize(1, 1)
        var values = target.values(for: input.name, number: input.number, item: session.selectedItem, size: size)
        guard text.mentions("date") else { return values }
        let tags = MetadataTag.read(from: try session.metadata())
        // Exif writes 2026:03:31 12:00:00, XMP 2026-03-31T12:00:00.
        let date = tags.first { $0.name == "DateTimeOriginal" }?.text.prefix(10)
        if date == nil { session.context.warn("--text: the image has no capture date, so {date} is empty") }
        values["date"] = date.map { date in String(date.map { $0 == ":" ? "-" : $0 }) }
        return values
    }
}
