import CoderHost
import ImageModel
import ImageProcessing

/// The options of the image or the text that is drawn over each image.
package struct OverlaySwitches: Sendable {
    private enum Content {
        case image(DecodedImage)
        case text(TextSwitches)
    }

    private let content: Content
    private let gravity: Gravity
    private let opacity: Double
    private let margin: Int
    private let isTiled: Bool
    /// Whether `--gravity` places the overlay.
    let takesGravity: Bool

    /// The options, for the specification of a command.
    package static let specification =
        [
            OptionSpecification("--overlay", value: "FILE", help: "draw this image over each image (default: none)"),
            OptionSpecification(
                "--overlay-gravity", value: "WHERE", choices: Gravity.allCases.map(\.rawValue),
                help: "place of overlay or text, as --gravity (default: --gravity, else southeast)"),
        ] + TextSwitches.specification + [
            OptionSpecification(
                "--opacity", value: "PERCENT", help: "opacity of overlay or text, such as 60% or 0.6 (default: 100%)"),
            OptionSpecification(
                "--margin", value: "N", help: "pixels between overlay or text and edge, and between tiles (default: 0)"),
            OptionSpecification("--tile", help: "repeat the overlay or text over the whole image"),
        ]

    /// Parses the options, decodes the overlay and opens the font; nil without `--overlay` and `--text`.
    init?(_ arguments: ParsedArguments, _ host: CoderHost) throws(UsageError) {
        let text = try TextSwitches(arguments)
        guard text != nil || arguments.has("--overlay") else {
            if let other = ["--overlay-gravity", "--opacity", "--margin", "--tile"].first(where: arguments.has) {
                throw UsageError("\(other) needs --overlay or --text", hint: "add --overlay FILE or --text TEXT")
            }
            return nil
        }
        let own = try arguments.gravity("--overlay-gravity")
        let shared = try arguments.gravity()
        gravity = own ?? shared ?? .southeast
        opacity = try Self.opacity(arguments)
        margin = try arguments.integer("--margin", 0...65_535) ?? 0
        isTiled = arguments.has("--tile")
        takesGravity = own == nil && !isTiled
        if isTiled, own != nil {
            throw UsageError("--overlay-gravity has no effect with --tile", hint: "remove one of the two")
        }
        if let text {
            if arguments.has("--overlay") {
                throw UsageError(
                    "--overlay and --text have the same place", hint: "draw the second one with another convert")
            }
            content = .text(text)
        } else {
            content = .image(try Self.decode(arguments.value("--overlay") ?? "", host))
        }
    }

    private static func decode(_ file: String, _ host: CoderHost) throws(UsageError) -> DecodedImage {
        do throws(CoderError) {
            var options = DecodeOptions()
            options.appliesOrientation = true
            return try host.manager.decode(try ImageSource(path: file, limits: host.manager.limits), options)
        } catch {
            throw UsageError(
                "cannot use --overlay \(file): \(error.message)", hint: error.hint ?? "coderhost info \(file)",
                exit: ExitCode(error.code))
        }
    }

    /// The option that names the content, for messages.
    var option: String { if case .text = content { "--text" } else { "--overlay" } }

    /// The template of the text; nil for an image.
    var text: TextSwitches? { if case .text(let text) = content { text } else { nil } }

    private static func opacity(_ arguments: ParsedArguments) throws(UsageError) -> Double {
        guard let text = arguments.value("--opacity") else { return 1 }
        let isPercent = text.hasSuffix("%")
        guard let number = Double(isPercent ? String(text.dropLast()) : text), (0...100).contains(number) else {
            throw UsageError(
                "invalid --opacity value \"\(text)\": expected 0 to 100 percent", hint: "for example --opacity 60%")
        }
        // 0.6 is 60 %, as in CSS: an opacity below one percent is invisible.
        return isPercent || number > 1 ? number / 100 : number
    }

    /// Returns a warning if the overlay does not fit an image of a size; nil if it fits, and for a text.
    func problem(on size: PixelSize) -> String? {
        guard case .image(let image) = content else { return nil }
        let own = image.pixels.size
        let room =
            isTiled ? (size.width - margin, size.height - margin) : (size.width - 2 * margin, size.height - 2 * margin)
        if own.width <= room.0 && own.height <= room.1 { return nil }
        let distance = margin == 0 ? "" : " and a margin of \(margin)"
        return "the overlay of \(own) pixels\(distance) does not fit the image of \(size): it is "
            + (isTiled ? "cut" : "reduced")
    }

    /// Returns the overlay or the text in the color space of an image.
    ///
    /// - Parameter values: the values of the placeholders in the text.
    /// - Throws: `.unsupportedFeature` if no pixels can be converted to this space.
    func transformer(_ colors: ColorProfile, _ values: [String: String]) throws(CoderError) -> any ImageTransformer {
        let image: DecodedImage
        switch content {
        case .image(let overlay): image = overlay
        case .text(let text):
            return try TextOverlay(
                text.text(values), font: text.font, style: text.style, gravity: gravity, opacity: opacity,
                margin: margin, isTiled: isTiled, colors: colors)
        }
        let native = image.pixels.format
        let hasColors = native.channels.count > 2
        // A profile of colors has no gray.
        let isWide = if case .icc = colors { true } else { false }
        let channels: PixelFormat.Channels =
            native.channels == .cmyk
            ? .rgb : hasColors || !isWide ? native.channels : native.channels.hasAlpha ? .rgba : .rgb
        let format =
            channels.hasAlpha
            ? PixelFormat(channels, bits: native.bits, numeric: native.numeric, alpha: native.alpha)
            : PixelFormat(channels, bits: native.bits, numeric: native.numeric)
        let transform = try ColorTransformCache.shared.transform(from: image.colorProfile, native, to: colors, format)
        return Overlay(
            try transform.convert(image.pixels), gravity: gravity, opacity: opacity, margin: margin, isTiled: isTiled)
    }
}
