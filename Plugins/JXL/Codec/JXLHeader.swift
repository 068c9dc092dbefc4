internal import CoderPluginKit
internal import ImageModel
internal import JXLShim

/// The header of a file: the facts for the host, and the choices with which pixels are decoded.
struct JXLHeader {
    let info: ImageInfo
    let formats: [PixelFormat]
    /// The profile of the decoded pixels, or of the original if the pixels have substitute colors.
    let profile: [UInt8]?
    /// The colors to ask the library for; nil if it keeps those of the file.
    let wantedColor: jxl_shim_color?
    /// The number of the extra channel with black ink.
    let blackChannel: Int?
    let hasContainer: Bool
    /// Ticks per second as a fraction.
    let clock: (numerator: UInt32, denominator: UInt32)

    /// - Parameter stream: has stopped at the colors.
    init(_ stream: JXLStream, _ session: DecoderSession) throws(CoderError) {
        let facts = try stream.facts()
        let size = PixelSize(Int(facts.width), Int(facts.height))
        hasContainer = facts.has_container != 0
        clock = (facts.tick_numerator, facts.tick_denominator)

        let channels = (0..<min(Int(facts.extra_channels), 256)).map { stream.channel($0) }
        blackChannel = facts.colors == 3 ? channels.firstIndex { $0?.kind == jxl_shim_black } : nil
        Self.warn(of: channels, hasAlpha: facts.alpha_bits > 0, isCMYK: blackChannel != nil, session.host)
        if facts.exponent_bits > 0 {
            session.host.warn("floats are decoded to 16 bits; values below 0 and above 1 are cut off")
        } else if facts.bits > 16 {
            session.host.warn("samples of \(facts.bits) bits are decoded to 16 bits")
        }
        if facts.shown_width != facts.width || facts.shown_height != facts.height {
            session.host.warn(
                "the file asks to be shown with \(facts.shown_width)x\(facts.shown_height) pixels; it is not scaled")
        }

        var wanted: jxl_shim_color?
        if facts.keeps_profile == 0 {
            var color = stream.color(ofPixels: false)
            if color == nil { color = try SubstituteColors.choose(stream, session, facts) }
            if let color, stream.prefer(color) { wanted = color }
        }
        wantedColor = wanted
        let points = blackChannel == nil ? stream.color(ofPixels: true).flatMap(CodePoints.init) : nil
        // The code points of a substitute win over the profile of the original.
        let isSubstitute = points != nil && stream.color(ofPixels: false) == nil
        profile =
            points == nil || isSubstitute
            ? try stream.profile(ofPixels: !isSubstitute, limit: session.limits.maxMetadataBytes) : nil

        formats = Self.formats(facts, isCMYK: blackChannel != nil)
        let isAnimated = facts.has_animation != 0
        info = ImageInfo(
            size: size, nativeFormat: formats[0], bitDepth: Int(facts.bits),
            hasAlpha: facts.alpha_bits > 0 && blackChannel == nil,
            orientation: Orientation(rawValue: Int(facts.orientation)), frameCount: isAnimated ? nil : 1,
            loopCount: !isAnimated ? .unknown : facts.loops == 0 ? .infinite : .plays(Int(facts.loops)),
            isAnimated: isAnimated, isLossy: facts.keeps_profile == 0,
            color: ColorDescription(
                codePoints: points, hasProfile: profile != nil, prefersCodePoints: profile != nil && isSubstitute))
    }

    /// The formats of decoded pixels, best first.
    private static func formats(_ facts: jxl_shim_facts, isCMYK: Bool) -> [PixelFormat] {
        if isCMYK { return [.init(.cmyk)] }
        let hasAlpha = facts.alpha_bits > 0
        let channels: PixelFormat.Channels =
            facts.colors == 1 ? (hasAlpha ? .grayAlpha : .gray) : (hasAlpha ? .rgba : .rgb)
        let alpha: PixelFormat.Alpha? = hasAlpha ? (facts.is_premultiplied != 0 ? .premultiplied : .straight) : nil
        let eight = PixelFormat(channels, alpha: alpha)
        let sixteen = PixelFormat(channels, bits: 16, alpha: alpha)
        let half = PixelFormat(channels, bits: 16, numeric: .float, alpha: alpha)
        let single = PixelFormat(channels, bits: 32, numeric: .float, alpha: alpha)
        // The host cannot convert floats, so they are offered, but not as the native format.
        if facts.exponent_bits > 0 { return [sixteen, eight] + (facts.bits <= 16 ? [half, single] : [single, half]) }
        return facts.bits <= 8 ? [eight, sixteen] : facts.bits <= 16 ? [sixteen, eight] : [sixteen, single, eight]
    }

    private static func warn(
        of channels: [JXLStream.Channel?], hasAlpha: Bool, isCMYK: Bool, _ host: HostServices
    ) {
        var hasSeenAlpha = false
        var hasSeenBlack = false
        for (index, channel) in channels.enumerated() {
            let name = channel.map { $0.name.isEmpty ? "" : " \"\($0.name)\"" } ?? ""
            switch channel?.kind {
            case jxl_shim_alpha where hasAlpha && !hasSeenAlpha:
                hasSeenAlpha = true
                if isCMYK { host.warn("the alpha channel of an image in inks is not decoded") }
            case jxl_shim_black where isCMYK && !hasSeenBlack: hasSeenBlack = true
            case jxl_shim_spot: host.warn("the spot color\(name) is painted into the image")
            case jxl_shim_depth: host.warn("the depth channel\(name) is not decoded")
            case jxl_shim_mask: host.warn("the selection mask\(name) is not decoded")
            default: host.warn("the extra channel \(index)\(name) is not decoded")
            }
        }
    }

    /// The duration of a number of ticks.
    func duration(_ ticks: UInt32) -> FrameDuration {
        // The format marks pages, which wait for the reader, by the largest number.
        guard clock.numerator > 0, clock.denominator > 0, ticks != .max else { return .unknown }
        var (top, bottom) = (UInt64(ticks) * UInt64(clock.denominator), UInt64(clock.numerator))
        var (a, b) = (top, bottom)
        while b != 0 { (a, b) = (b, a % b) }
        (top, bottom) = (top / max(1, a), bottom / max(1, a))
        // Both denominators have at most 30 bits, so this only rounds durations of years.
        while top > UInt64(UInt32.max) { (top, bottom) = (top >> 1, max(1, bottom >> 1)) }
        return FrameDuration(UInt32(top), over: UInt32(bottom))
    }
}
