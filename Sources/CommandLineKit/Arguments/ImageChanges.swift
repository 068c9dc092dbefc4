package import CoderHost
package import ImageModel
import ImageProcessing

/// The changes to pixels between decoding and encoding, as the command line asks for them.
///
/// They apply in this order, independent of the order of options: orient upright, crop, resize with crop or padding,
/// convert colors, flip, rotate, blur, filter, tint, round corners.
package struct ImageChanges {
    /// The options for decoding, and the steps after them.
    package private(set) var options = DecodeOptions()
    package private(set) var finish = ImageFinish()
    /// Whether all pixels stay unchanged.
    package let isIdentity: Bool

    /// Parses the options.
    ///
    /// - Parameter box: the box to resize to; nil to keep the size.
    package init(_ arguments: ParsedArguments, box: PixelSize?) throws(UsageError) {
        let fit = try arguments.choice("--fit", Fit.self) ?? .inside
        let limit = try arguments.byteCount("--limit-bytes")
        (options.region, options.cropPosition) = try Self.crop(arguments)
        if arguments.value("--crop").flatMap(CropPosition.init) != nil, fit != .cover {
            throw UsageError(
                "--crop \(options.cropPosition.rawValue) works only with --fit cover", hint: "add --fit cover")
        }
        if box == nil, let name = ["--fit", "--enlarge", "--linear", "--filter"].first(where: arguments.has) {
            throw UsageError("\(name) needs a target size", hint: "add a size, such as --resize 800x600")
        }
        if limit != nil, box != nil || options.region != nil {
            throw UsageError(
                "\(box != nil ? "a size" : "--crop") and --limit-bytes both set the output size",
                hint: "choose one")
        }
        if let box { options.size = .box(box, fit, enlarging: arguments.has("--enlarge")) }
        if let limit { options.size = .limited(toBytes: limit) }
        finish.background = try arguments.color("--bg")
        finish.colors = try Self.colors(arguments)
        let steps = try Self.steps(arguments)
        finish.transformer = steps.isEmpty ? nil : Pipeline(steps)
        isIdentity = options == DecodeOptions() && finish.isEmpty
        // An unmodified image keeps its orientation tag.
        options.appliesOrientation = !isIdentity
        if let filter = try arguments.choice("--filter", ResamplingFilter.self) { options.resampling.filter = filter }
        options.resampling.linearLight = arguments.has("--linear")
    }

    /// Parses `--crop`: `WxH+X+Y` or `X,Y,W,H` crops to a rectangle; a word selects the part that `--fit cover` keeps.
    private static func crop(_ arguments: ParsedArguments) throws(UsageError) -> (PixelRect?, CropPosition) {
        guard let text = arguments.value("--crop") else { return (nil, .center) }
        if let position = CropPosition(rawValue: text) { return (nil, position) }
        if let part = PixelRect(part: text) { return (part, .center) }
        let words = CropPosition.allCases.map(\.rawValue)
        throw UsageError(
            "invalid --crop value \"\(text)\": expected WxH+X+Y, X,Y,W,H, \(words.joined(separator: ", "))",
            hint: OptionCheck.nearest(text, words).map { "did you mean \($0)?" } ?? "for example --crop 640x480+10+20")
    }

    private static func colors(_ arguments: ParsedArguments) throws(UsageError) -> (ColorProfile, embeds: Bool)? {
        guard let name = arguments.value("--icc") else {
            return arguments.has("--to-srgb") ? (.sRGB, embeds: false) : nil
        }
        if arguments.has("--to-srgb") {
            throw UsageError(
                "--to-srgb and --icc both set the color profile", hint: "use --icc srgb: it also embeds the profile")
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
            // Validates the profile once, not for every input.
            _ = try ColorTransformCache.shared.transform(from: .sRGB, .rgb8, to: profile, .rgb8)
            return (profile, embeds: true)
        } catch {
            throw UsageError(
                "cannot use --icc \(name): \(error.message)",
                hint: "pass srgb, p3 or the file of an RGB ICC profile")
        }
    }

    private static func steps(_ arguments: ParsedArguments) throws(UsageError) -> [any ImageTransformer] {
        var steps: [any ImageTransformer] = []
        if let flip = try arguments.choice("--flip", FlipDirection.self) {
            steps.append(Flipping(horizontal: flip != .vertical, vertical: flip != .horizontal))
        }
        if let degrees = try arguments.real("--rotate", -360...360) {
            // The option counts clockwise, the library counterclockwise.
            if degrees != 0 { steps.append(Rotation(radians: -degrees * .pi / 180)) }
        }
        if let radius = try arguments.real("--blur", 0...1000), radius > 0 { steps.append(Blur(radius: radius)) }
        if let effect = try arguments.choice("--effect", Effect.self) { steps.append(effect.transformer) }
        if let color = try arguments.color("--tint") { steps.append(Tint(color)) }
        if let radius = try arguments.real("--round", 0...65_535), radius > 0 {
            steps.append(RoundCorners(radius: radius))
        }
        return steps
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

    /// The options that `convert` and `thumbnail` share.
    package static let specification = [
        OptionSpecification(
            "--fit", value: "HOW",
            help: "how the image fits the box: inside, outside, cover, contain or fill (default: inside)"),
        OptionSpecification(
            "--crop", value: "PART",
            help: "crop to WxH+X+Y or X,Y,W,H; with --fit cover: center, attention, entropy (default: center)"),
        OptionSpecification("--enlarge", help: "enlarge small images too"),
        OptionSpecification("--linear", help: "resize in linear light (default: in stored values)"),
        OptionSpecification(
            "--filter", value: "NAME",
            help: "resampling: "
                + "\(ResamplingFilter.allCases.map(\.rawValue).joined(separator: ", ")) (default: lanczos3)"),
        OptionSpecification(
            "--to-srgb", help: "convert the colors to sRGB (default: keep colors and profile)"),
        OptionSpecification(
            "--icc", value: "PROFILE",
            help: "convert to srgb, p3 or an ICC profile file, and embed it (default: keep)"),
        OptionSpecification(
            "--bg", value: "COLOR",
            help: "background: name, #rgb, #rrggbb (default: clear, white without alpha)"),
    ]

    /// The options of `convert` and `fetch`, which `thumbnail` lacks.
    package static let transforms = [
        OptionSpecification("--flip", value: "HOW", help: "mirror: horizontal, vertical or both (default: none)"),
        OptionSpecification(
            "--rotate", value: "DEGREES",
            help: "rotate clockwise by degrees; enlarges the canvas (default: 0)"),
        OptionSpecification(
            "--blur", value: "RADIUS", help: "Gaussian blur; standard deviation in pixels (default: 0)"),
        OptionSpecification(
            "--effect", value: "NAME", help: "color effect: grayscale, invert or sepia (default: none)"),
        OptionSpecification("--tint", value: "COLOR", help: "paint the image in one color, keep alpha (default: none)"),
        OptionSpecification("--round", value: "RADIUS", help: "round the corners; radius in pixels (default: 0)"),
    ]
}

extension PixelRect {
    /// Parses `WxH+X+Y`, or `X,Y,W,H` as in IIIF; nil for other texts.
    fileprivate init?(part text: String) {
        let numbers = text.split(omittingEmptySubsequences: false) { "x+,".contains($0) }.map { Int($0) }
        guard numbers.count == 4, let a = numbers[0], let b = numbers[1], let c = numbers[2], let d = numbers[3],
            min(a, b, c, d) >= 0, max(a, b, c, d) <= 1 << 30
        else { return nil }
        switch text.filter({ "x+,".contains($0) }) {
        case "x++": self.init(x: c, y: d, width: a, height: b)
        case ",,,": self.init(x: a, y: b, width: c, height: d)
        default: return nil
        }
        if width == 0 || height == 0 { return nil }
    }
}

extension ParsedArguments {
    /// Returns the rectangle `WxH+X+Y` or `X,Y,W,H` of an option.
    package func part(_ name: String) throws(UsageError) -> PixelRect? {
        guard let text = value(name) else { return nil }
        guard let part = PixelRect(part: text) else {
            throw UsageError(
                "invalid \(name) value \"\(text)\": expected WxH+X+Y or X,Y,W,H",
                hint: "for example \(name) 640x480+10+20")
        }
        return part
    }
}
