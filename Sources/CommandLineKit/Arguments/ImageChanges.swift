package import CoderHost
package import ImageModel
import ImageProcessing

/// The changes to pixels between decoding and encoding, as the command line asks for them.
///
/// They apply in this order, independent of the order of options: orient upright, crop to a rectangle, trim, crop to a
/// size or shape, resize with crop or padding, convert colors, flip, rotate, blur, filter, tint, draw the overlay or
/// the text, round corners, extend.
package struct ImageChanges {
    /// The options for decoding, and the steps after them.
    package private(set) var options = DecodeOptions()
    /// The steps after the options, without the overlay.
    package private(set) var finish = ImageFinish()
    /// The largest difference of colors in a border to remove, 0 … 1; nil to keep borders.
    let trim: Double?
    /// The image or text to draw over each image.
    let overlay: OverlaySwitches?
    /// The number of transformers that come before the overlay.
    private let stepsBelow: Int
    /// The size of `--extend`, which is the last step; nil for a border.
    private let canvas: PixelSize?
    /// The size as typed, such as `--resize 3000`; nil without one, and for thumbnails, which small images may be.
    private let requested: String?
    /// Whether all pixels stay unchanged.
    package let isIdentity: Bool

    /// Parses the options.
    ///
    /// - Parameters:
    ///   - option: the option of the size, `--resize` or `--size`.
    ///   - box: the box to resize to without the option; nil to keep the size.
    ///   - host: decodes the overlay.
    package init(
        _ arguments: ParsedArguments, option: String, box: PixelSize?, _ host: CoderHost
    ) throws(UsageError) {
        let limit = try arguments.byteCount("--limit-bytes")
        let size = try RequestedSize.parse(arguments, option, usual: box)
        let (part, position) = try RequestedPart.parse(arguments)
        options.part = part
        trim = try Self.trim(arguments)
        overlay = try OverlaySwitches(arguments, host)
        let hasSize = size != nil || arguments.has("--sizes")
        let fit: Fit? = if case .box(_, let fit, _) = size { fit } else { nil }
        if let position, fit != .cover, position.gravity == nil || fit != .contain {
            throw UsageError("--crop \(position.rawValue) works only with --fit cover", hint: "add --fit cover")
        }
        let given = try arguments.gravity()
        // The overlay takes the gravity unless it has its own, because a crop can name its own.
        let gravity = overlay?.takesGravity ?? false ? nil : given
        let placesPart = if case .aspect = part { true } else if case .size = part { true } else { false }
        if gravity != nil, !placesPart, fit != .cover, fit != .contain, !arguments.has("--extend") {
            throw UsageError(
                "--gravity has nothing to place",
                hint: "add --fit cover, --fit contain, --crop 16:9, --extend, --overlay or --text")
        }
        if gravity != nil, let position {
            throw UsageError("--gravity and --crop \(position.rawValue) both set the part to keep", hint: "choose one")
        }
        options.cropPosition = position ?? gravity.map { CropPosition($0) } ?? .center
        let names = ["--fit", "--enlarge", "--no-enlarge", "--linear", "--filter"]
        if !hasSize, let name = names.first(where: arguments.has) {
            throw UsageError("\(name) needs a target size", hint: "add a size, such as --resize 800x600")
        }
        if limit != nil, hasSize || part != nil {
            throw UsageError(
                "\(hasSize ? "a size" : "--crop") and --limit-bytes both set the output size",
                hint: "choose one")
        }
        if let size { options.size = size }
        requested = box == nil ? arguments.value(option).map { "\(option) \(printable($0))" } : nil
        if let limit { options.size = .limited(toBytes: limit) }
        finish.background = try arguments.color("--bg")
        finish.colors = try Self.colors(arguments)
        let below = try Self.steps(arguments)
        let steps = below + (try Self.stepsAbove(arguments, gravity, finish.background))
        stepsBelow = below.count
        canvas = arguments.value("--extend").flatMap { Int($0) == nil ? PixelSize(box: $0) : nil }
        finish.transformer = steps.isEmpty ? nil : Pipeline(steps)
        isIdentity = options == DecodeOptions() && finish.isEmpty && trim == nil && overlay == nil
        // An unmodified image keeps its orientation tag.
        options.appliesOrientation = !isIdentity
        if let filter = try arguments.choice("--filter", ResamplingFilter.self) { options.resampling.filter = filter }
        options.resampling.linearLight = arguments.has("--linear")
    }

    /// Returns the steps after the options, with the overlay in the color space of the image.
    func finish(with overlay: any ImageTransformer) -> ImageFinish {
        var result = finish
        var steps = (finish.transformer as? Pipeline)?.transformers ?? []
        steps.insert(overlay, at: stepsBelow)
        result.transformer = Pipeline(steps)
        return result
    }

    /// The steps before the overlay.
    var finishBelowOverlay: ImageFinish {
        var result = finish
        let steps = ((finish.transformer as? Pipeline)?.transformers ?? []).prefix(stepsBelow)
        result.transformer = steps.isEmpty ? nil : Pipeline(Array(steps))
        return result
    }

    /// Whether a size is a box that a small image does not fill, as `--no-enlarge` asks for.
    func isUnfilled(_ size: PixelSize, _ options: DecodeOptions) -> Bool {
        guard case .box(let box, let fit, let enlarging) = options.size, enlarging == false, fit.enlarges,
            finish.transformer == nil
        else {
            return false
        }
        return !box.isEmpty && size != box
    }

    /// Returns the warning if the image is smaller than the requested size, which keeps it as it is; nil if the size is
    /// reached, and if the user has asked to keep small images.
    ///
    /// - Parameter size: the size of the image before the steps.
    func shortage(of size: PixelSize, _ options: DecodeOptions) -> String? {
        guard let requested, case .box(let box, let fit, nil) = options.size, !fit.enlarges else { return nil }
        let enlarged = DecodedSize.box(box, fit, enlarging: true).layout(of: size, .rgba8).result
        guard enlarged.width > size.width || enlarged.height > size.height else { return nil }
        return "the image of \(size) pixels is smaller than \(requested) and keeps its size; --enlarge enlarges it"
    }

    /// Returns the warning if `--extend` cannot reach its size, because a side of the image is longer.
    ///
    /// - Parameter size: the size of the image before the steps.
    func excess(of size: PixelSize) -> String? {
        guard let canvas, let steps = (finish.transformer as? Pipeline)?.transformers else { return nil }
        let before = Pipeline(Array(steps.dropLast())).outputSize(for: size)
        guard before.width > canvas.width && canvas.width > 0 || before.height > canvas.height && canvas.height > 0
        else { return nil }
        let after = Pipeline(steps).outputSize(for: size)
        let name = [canvas.width, canvas.height].map { $0 > 0 ? "\($0)" : "" }.joined(separator: "x")
        return after == before
            ? "--extend \(name) changes nothing: the image has \(before) pixels; --crop cuts it"
            : "--extend \(name) does not cut the longer side: the result has \(after) pixels"
    }

    /// Parses `--trim`: no value, or a tolerance in percent.
    private static func trim(_ arguments: ParsedArguments) throws(UsageError) -> Double? {
        guard let text = arguments.value("--trim") else { return nil }
        if text.isEmpty { return 0 }
        let digits = text.hasSuffix("%") ? String(text.dropLast()) : text
        guard let percent = Double(digits), (0...100).contains(percent) else {
            throw UsageError(
                "invalid --trim value \"\(text)\": expected a tolerance from 0 to 100 percent",
                hint: "for example --trim=5")
        }
        return percent / 100
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
        return steps
    }

    /// Returns the transformers after the overlay.
    private static func stepsAbove(
        _ arguments: ParsedArguments, _ gravity: Gravity?, _ background: RGBAColor?
    ) throws(UsageError) -> [any ImageTransformer] {
        var steps: [any ImageTransformer] = []
        if let radius = try arguments.real("--round", 0...65_535), radius > 0 {
            steps.append(RoundCorners(radius: radius))
        }
        guard let text = arguments.value("--extend") else { return steps }
        let color = background ?? .clear
        if let border = Int(text), (0...65_535).contains(border) {
            steps.append(Extending(by: border, color: color))
        } else if text.lowercased().contains("x"), let size = PixelSize(box: text) {
            steps.append(Extending(to: size, gravity: gravity ?? .center, color: color))
        } else {
            throw UsageError(
                "invalid --extend value \"\(text)\": expected WxH, Wx, xH, or the width of a border in pixels",
                hint: "for example --extend 20 or --extend 800x600")
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
            "--fit", value: "HOW", choices: Fit.allCases.map(\.rawValue),
            help: "how the image fits the box: inside, outside, cover, contain or fill (default: inside)"),
        OptionSpecification(
            "--crop", value: "PART",
            help: "crop to WxH+X+Y, X,Y,W,H, WxH or 16:9; for --fit cover: attention, entropy, north … (default: none)"),
        OptionSpecification(
            "--gravity", value: "WHERE", choices: Gravity.allCases.map(\.rawValue),
            help:
                "place of a crop, of padding, of overlay or text: center, north, northeast … (default: center)"
        ),
        OptionSpecification(
            "--trim", value: "PERCENT", hasOptionalValue: true,
            help: "remove a border of the color of the top left corner, with this tolerance (default: 0)"),
        OptionSpecification("--enlarge", help: "enlarge small images with inside and outside too"),
        OptionSpecification("--no-enlarge", help: "never enlarge, also with cover, contain and fill"),
        OptionSpecification("--linear", help: "resize in linear light (default: in stored values)"),
        OptionSpecification(
            "--filter", value: "NAME", choices: ResamplingFilter.allCases.map(\.rawValue),
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
    package static let transforms =
        [
            OptionSpecification(
                "--flip", value: "HOW", choices: FlipDirection.allCases.map(\.rawValue),
                help: "mirror: horizontal, vertical or both (default: none)"),
            OptionSpecification(
                "--rotate", value: "DEGREES",
                help: "rotate clockwise by degrees; enlarges the canvas (default: 0)"),
            OptionSpecification(
                "--blur", value: "RADIUS", help: "Gaussian blur; standard deviation in pixels (default: 0)"),
            OptionSpecification(
                "--effect", value: "NAME", choices: Effect.allCases.map(\.rawValue),
                help: "color effect: grayscale, invert or sepia (default: none)"),
            OptionSpecification(
                "--tint", value: "COLOR", help: "paint the image in one color, keep alpha (default: none)"),
            OptionSpecification("--round", value: "RADIUS", help: "round the corners; radius in pixels (default: 0)"),
            OptionSpecification(
                "--extend", value: "SIZE",
                help: "extend the canvas with --bg: WxH, or 20 for a border of 20 pixels (default: none)"),
        ] + OverlaySwitches.specification
}

extension PixelRect {
    /// Parses `WxH+X+Y`, or `X,Y,W,H` as in IIIF; nil for other texts.
    init?(part text: String) {
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
