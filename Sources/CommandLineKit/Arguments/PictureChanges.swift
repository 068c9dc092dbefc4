import CoderHost
package import ImageModel
package import ImageProcessing

/// What becomes of the pixels between decoding and encoding, as a person asked for it.
///
/// In this order, whatever the order of the switches: upright, cut out, resized and cropped or filled up, the colours,
/// then flipped, rotated, blurred, filtered, tinted, rounded.
package struct PictureChanges {
    /// The box to resize to; a side of 0 follows from the other one.
    package let box: PixelSize?
    package let fit: Fit
    package let position: CropPosition
    package let mayEnlarge: Bool
    package let resampling: Resampling
    /// The part of the upright picture that is cut out first.
    package let part: PixelRect?
    package let limitBytes: Int?
    /// What is put under transparent pixels and around a picture that does not fill its box.
    package let background: RGBAColor?
    /// The space that colours are converted to, and whether its profile is embedded.
    package let colors: (profile: ColorProfile, embeds: Bool)?
    package let pipeline: Pipeline

    /// - Parameter box: what the picture is resized to.
    package init(_ arguments: ParsedArguments, box: PixelSize?) throws(UsageError) {
        self.box = box
        fit = try arguments.choice("--fit", Fit.self) ?? .inside
        mayEnlarge = arguments.has("--enlarge")
        var resampling = Resampling()
        if let filter = try arguments.choice("--filter", ResamplingFilter.self) { resampling.filter = filter }
        resampling.linearLight = arguments.has("--linear")
        self.resampling = resampling
        background = try arguments.color("--bg")
        limitBytes = try arguments.byteCount("--limit-bytes")
        (part, position) = try Self.crop(arguments)
        colors = try Self.colors(arguments)
        pipeline = try Self.pipeline(arguments)
        if arguments.value("--crop").flatMap(CropPosition.init) != nil, fit != .cover {
            throw UsageError("--crop \(position.rawValue) says which part covers the box", hint: "add --fit cover")
        }
        if box == nil, let name = ["--fit", "--enlarge", "--linear", "--filter"].first(where: arguments.has) {
            throw UsageError("\(name) says how to resize", hint: "name a size, such as --resize 800x600")
        }
        if limitBytes != nil, box != nil || part != nil {
            throw UsageError(
                "\(box != nil ? "a size" : "--crop") and --limit-bytes both say how large the picture becomes",
                hint: "choose one")
        }
    }

    /// `WxH+X+Y` cuts out a part; a word says which part is kept where a box is covered.
    private static func crop(_ arguments: ParsedArguments) throws(UsageError) -> (PixelRect?, CropPosition) {
        guard let text = arguments.value("--crop") else { return (nil, .center) }
        if let position = CropPosition(rawValue: text) { return (nil, position) }
        if let part = PixelRect(part: text) { return (part, .center) }
        let words = CropPosition.allCases.map(\.rawValue)
        throw UsageError(
            "--crop \(text) is no part of a picture",
            hint: OptionCheck.nearest(text, words).map { "did you mean \($0)?" }
                ?? "write WxH+X+Y, such as 640x480+10+20, or one of \(words.joined(separator: ", "))")
    }

    private static func colors(_ arguments: ParsedArguments) throws(UsageError) -> (ColorProfile, embeds: Bool)? {
        guard let name = arguments.value("--icc") else {
            return arguments.has("--to-srgb") ? (.sRGB, embeds: false) : nil
        }
        if arguments.has("--to-srgb") {
            throw UsageError("--to-srgb and --icc both choose the colours", hint: "--icc srgb also embeds the profile")
        }
        switch name.lowercased() {
        case "srgb": return (.sRGB, embeds: true)
        case "p3", "display-p3": return (.displayP3, embeds: true)
        default: break
        }
        do throws(CoderError) {
            var limits = DecodeLimits()
            limits.maxInputBytes = 4 << 20
            let source = try ImageSource(path: name, limits: limits)
            let profile = ColorProfile.icc(source.bytes(0..<source.count))
            // Found out here, and not once for every input.
            _ = try ColorTransformCache.shared.transform(from: .sRGB, .rgb8, to: profile, .rgb8)
            return (profile, embeds: true)
        } catch {
            throw UsageError(
                "--icc \(name) cannot be used: \(error.message)",
                hint: "name srgb, p3 or the file of an ICC profile for RGB")
        }
    }

    private static func pipeline(_ arguments: ParsedArguments) throws(UsageError) -> Pipeline {
        var steps: [any ImageTransformer] = []
        if let flip = try arguments.choice("--flip", FlipDirection.self) {
            steps.append(Flipping(horizontal: flip != .vertical, vertical: flip != .horizontal))
        }
        if let degrees = try arguments.real("--rotate", -360...360) {
            // What is written is clockwise, as people say it; the library turns the other way round.
            if degrees != 0 { steps.append(Rotation(radians: -degrees * .pi / 180)) }
        }
        if let radius = try arguments.real("--blur", 0...1000), radius > 0 { steps.append(Blur(radius: radius)) }
        if let effect = try arguments.choice("--effect", Effect.self) { steps.append(effect.transformer) }
        if let color = try arguments.color("--tint") { steps.append(Tint(color)) }
        if let radius = try arguments.real("--round", 0...65_535), radius > 0 {
            steps.append(RoundCorners(radius: radius))
        }
        return Pipeline(steps)
    }

    private enum FlipDirection: String, CaseIterable { case horizontal, vertical, both }

    private enum Effect: String, CaseIterable {
        case grayscale, invert, sepia

        var transformer: ColorFilter {
            switch self {
            case .grayscale: .grayscale
            case .invert: .invert
            case .sepia: .sepia(1)
            }
        }
    }

    /// Whether pixels stay as they are.
    package var isIdentity: Bool {
        box == nil && part == nil && limitBytes == nil && colors == nil && background == nil
            && pipeline.transformers.isEmpty
    }

    /// Whether only the size changes.
    var isPlain: Bool {
        let isFilledUp = box != nil && fit == .contain
        return limitBytes == nil && colors == nil && background == nil && pipeline.transformers.isEmpty && !isFilledUp
    }

    /// The switches that `convert` and `thumbnail` share.
    package static let specification = [
        OptionSpecification(
            "--fit", value: "HOW",
            help: "how it meets the box: inside, outside, cover, contain or fill (default: inside)"),
        OptionSpecification(
            "--crop", value: "PART",
            help: "cut out WxH+X+Y first; or with --fit cover keep the center, attention or entropy part "
                + "(default: center)"),
        OptionSpecification("--enlarge", help: "also make small pictures larger"),
        OptionSpecification("--linear", help: "resize in linear light (default: as stored)"),
        OptionSpecification(
            "--filter", value: "NAME",
            help: "\(ResamplingFilter.allCases.map(\.rawValue).joined(separator: ", ")) (default: lanczos3)"),
        OptionSpecification(
            "--to-srgb", help: "convert the colours to sRGB (default: as stored, with their profile)"),
        OptionSpecification(
            "--icc", value: "PROFILE",
            help: "convert the colours to srgb, p3 or the ICC profile of a file, and embed it (default: as stored)"),
        OptionSpecification(
            "--bg", value: "COLOR",
            help:
                "put it on this colour, which also fills what --fit contain leaves: a name, #rgb or #rrggbb (default: "
                + "white where the format has no alpha, else clear)"),
    ]

    /// Those that `convert` alone has.
    package static let transforms = [
        OptionSpecification("--flip", value: "HOW", help: "mirror it: horizontal, vertical or both (default: neither)"),
        OptionSpecification(
            "--rotate", value: "DEGREES",
            help: "turn it clockwise; the canvas grows to hold it, clear in the corners (default: 0)"),
        OptionSpecification(
            "--blur", value: "RADIUS", help: "blur it, as a Gaussian of this standard deviation (default: 0)"),
        OptionSpecification("--effect", value: "NAME", help: "grayscale, invert or sepia (default: none)"),
        OptionSpecification("--tint", value: "COLOR", help: "fill its shape with a colour (default: none)"),
        OptionSpecification("--round", value: "RADIUS", help: "round the corners off (default: 0)"),
    ]
}

extension PixelRect {
    /// Reads `WxH+X+Y`; nil for anything else.
    fileprivate init?(part text: String) {
        let numbers = text.split(omittingEmptySubsequences: false) { "x+,".contains($0) }.map { Int($0) }
        guard numbers.count == 4, let width = numbers[0], let height = numbers[1], let x = numbers[2],
            let y = numbers[3], width > 0, height > 0, x >= 0, y >= 0, max(width, height, x, y) <= 1 << 30
        else { return nil }
        self.init(x: x, y: y, width: width, height: height)
    }
}

extension ParsedArguments {
    /// A part of an image, `WxH+X+Y`.
    package func part(_ name: String) throws(UsageError) -> PixelRect? {
        guard let text = value(name) else { return nil }
        guard let part = PixelRect(part: text) else {
            throw UsageError("invalid \(name) value \"\(text)\": expected WxH+X+Y, such as 640x480+10+20")
        }
        return part
    }
}
