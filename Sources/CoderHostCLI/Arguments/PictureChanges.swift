import CoderHost
import ImageModel
import ImageProcessing

/// What becomes of the pixels between decoding and encoding, as a person asked for it.
///
/// In this order, whatever the order of the switches: upright, cut out, resized and cropped or filled up, the colours,
/// then flipped, rotated, blurred, filtered, tinted, rounded.
struct PictureChanges {
    /// The box to resize to; a side of 0 follows from the other one.
    private let box: PixelSize?
    private let fit: Fit
    private let position: CropPosition
    private let mayEnlarge: Bool
    private let resampling: Resampling
    /// The part of the upright picture that is cut out first.
    private let part: PixelRect?
    private let limitBytes: Int?
    /// What is put under transparent pixels and around a picture that does not fill its box.
    let background: RGBAColor?
    /// The space that colours are converted to, and whether its profile is embedded.
    private let colors: (profile: ColorProfile, embeds: Bool)?
    private let pipeline: Pipeline

    /// - Parameter box: what the picture is resized to.
    init(_ arguments: ParsedArguments, box: PixelSize?) throws(UsageError) {
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
        let numbers = text.split(omittingEmptySubsequences: false) { "x+,".contains($0) }.map { Int($0) }
        if numbers.count == 4, let width = numbers[0], let height = numbers[1], let x = numbers[2], let y = numbers[3],
            width > 0, height > 0, x >= 0, y >= 0, max(width, height, x, y) <= 1 << 30
        {
            return (PixelRect(x: x, y: y, width: width, height: height), .center)
        }
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

    /// Whether the size follows from a number of bytes.
    var isLimited: Bool { limitBytes != nil }

    /// The size once flipped, rotated and so on.
    func transformedSize(_ size: PixelSize) -> PixelSize {
        pipeline.transformers.isEmpty ? size : pipeline.outputSize(for: size)
    }

    /// Whether pixels stay as they are.
    var isIdentity: Bool {
        box == nil && part == nil && limitBytes == nil && colors == nil && background == nil
            && pipeline.transformers.isEmpty
    }

    /// The switches that `convert` and `thumbnail` share.
    static let specification = [
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
    static let transforms = [
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

/// The changes to one picture; of an animation every frame is cut in the same place.
struct PictureShaper {
    private let changes: PictureChanges
    private let session: DecodeSession
    /// What `attention` and `entropy` chose in the first frame.
    private var window: PixelRect?
    private var options: DecodeOptions
    private let layout: Fit.Layout

    init(_ changes: PictureChanges, _ session: DecodeSession) throws(CoderError) {
        self.changes = changes
        self.session = session
        let upright = session.pendingOrientation.applied(to: session.info.size)
        (layout, options) = try changes.plan(upright)
        if changes.isIdentity { return }
        // Held against the limits like what is read: a switch can ask for anything.
        let native = session.info.nativeFormat
        let format = native.bytesPerPixel < 4 ? .rgba8 : native
        for size in [layout.scaled, layout.result, changes.transformedSize(layout.result)] {
            try LimitCheck.examine(made: size, format, session.context.limits)
        }
    }

    /// The picture, or the first frame.
    mutating func image() throws(CoderError) -> DecodedImage { try shaped(try session.decodeImage(options)) }

    /// What is there of a picture that was cut off.
    mutating func image(of part: PixelBuffer) throws(CoderError) -> DecodedImage {
        try shaped(try session.reduced(part, options))
    }

    mutating func frame(_ index: Int) throws(CoderError) -> DecodedImage {
        try shaped(try session.decodeFrame(index, options))
    }

    /// The size of the result.
    var size: PixelSize {
        if changes.isIdentity { return session.info.size }
        let upright = session.pendingOrientation.applied(to: session.info.size)
        return changes.transformedSize(
            changes.isLimited
                ? options.targetSize(for: upright, session.info.nativeFormat, frameCount: session.info.frameCount ?? 1)
                : layout.result)
    }

    /// Bytes that decoding may take, roughly.
    var memoryEstimate: Int {
        session.memoryEstimate(options) + layout.scaled.estimate + layout.result.estimate
            + changes.transformedSize(layout.result).estimate
    }

    private mutating func shaped(_ image: DecodedImage) throws(CoderError) -> DecodedImage {
        var image = image
        try changes.finish(&image, layout, &window)
        return image
    }
}

extension PixelFormat {
    /// The same samples without alpha.
    fileprivate var opaque: PixelFormat {
        PixelFormat(channels == .grayAlpha ? .gray : .rgb, bits: bits, numeric: numeric)
    }
}

extension PixelSize {
    fileprivate var estimate: Int { (area ?? 0).multipliedReportingOverflow(by: 4).partialValue }
}

extension PictureChanges {
    /// The sizes on the way, and what the decoder is asked for.
    fileprivate func plan(_ upright: PixelSize) throws(CoderError) -> (Fit.Layout, DecodeOptions) {
        var options = DecodeOptions()
        options.appliesOrientation = true
        options.resampling = resampling
        options.limitBytes = limitBytes
        var size = upright
        if let part {
            let inside = part.intersection(PixelRect(upright))
            if inside.isEmpty {
                throw .invalidArgument("--crop \(part) is beside the picture, which has \(upright) pixels")
            }
            size = inside.size
        }
        let layout = box.map { fit.layout(size, in: $0, mayEnlarge: mayEnlarge) }
        if part == nil, let scaled = layout?.scaled {
            options.thumbnailSize = scaled
            options.preservesAspectRatio = false
        }
        return (layout ?? Fit.Layout(scaled: size, result: size), options)
    }

    /// All but what the decoder has done.
    fileprivate func finish(
        _ image: inout DecodedImage, _ layout: Fit.Layout, _ window: inout PixelRect?
    ) throws(CoderError) {
        if limitBytes == nil { try reshape(&image, layout, &window) }
        if let colors { try image.convertColors(to: colors.profile, embeds: colors.embeds) }
        if !pipeline.transformers.isEmpty { image.pixels = try pipeline.transform(image.pixels) }
        if let background, background.alpha == 255, image.pixels.format.hasTransparency {
            image.pixels = try PixelConverter.convert(
                image.pixels, to: image.pixels.format.opaque, background: background)
            image.info.hasAlpha = false
        }
        image.dropEmbeddedThumbnail()
        image.info.size = image.pixels.size
        image.info.nativeFormat = image.pixels.format
        image.info.hasAlpha = image.pixels.format.hasTransparency && (image.info.hasAlpha || isMadeClear)
    }

    /// Whether something may be transparent that was not.
    private var isMadeClear: Bool { fit == .contain && box != nil || !pipeline.transformers.isEmpty }

    private func reshape(
        _ image: inout DecodedImage, _ layout: Fit.Layout, _ window: inout PixelRect?
    ) throws(CoderError) {
        if let part {
            image.pixels = try PixelConverter.cropped(image.pixels, to: part.intersection(PixelRect(image.pixels.size)))
        }
        if image.pixels.size != layout.scaled {
            image.pixels = try Resampler.resample(BufferRows(image.pixels), to: layout.scaled, resampling)
        }
        if fit == .contain, box != nil {
            image.pixels = try filledUp(image.pixels, to: layout.result)
        } else if layout.result != layout.scaled {
            if window == nil { window = try position.window(in: image.pixels, size: layout.result) }
            image.pixels = try PixelConverter.cropped(image.pixels, to: window ?? PixelRect(layout.result))
        }
    }

    /// The picture in the middle of a box: on the background, or on nothing.
    private func filledUp(_ pixels: PixelBuffer, to size: PixelSize) throws(CoderError) -> PixelBuffer {
        if pixels.size == size { return pixels }
        let hasColor = background.map { $0.alpha == 255 } ?? false
        let format: PixelFormat =
            hasColor && !pixels.format.hasTransparency
            ? (pixels.format.bits > 8 ? .rgb16 : .rgb8) : (pixels.format.bits > 8 ? .rgba16 : .rgba8)
        let converted = try PixelConverter.convert(pixels, to: format)
        let place = PixelRect(
            x: (size.width - pixels.size.width) / 2, y: (size.height - pixels.size.height) / 2,
            width: pixels.size.width, height: pixels.size.height)
        return try PixelConverter.placed(converted, in: size, at: place, on: background ?? .clear)
    }
}

extension ParsedArguments {
    /// One of the words of an enumeration.
    func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, _: Choice.Type
    ) throws(UsageError) -> Choice? where Choice.RawValue == String {
        guard let text = value(key) else { return nil }
        if let choice = Choice(rawValue: text.lowercased()) { return choice }
        let words = Choice.allCases.map(\.rawValue)
        throw UsageError(
            "\(key) has no value \(text)",
            hint: OptionCheck.nearest(text.lowercased(), words).map { "did you mean \($0)?" }
                ?? "there are \(words.joined(separator: ", "))")
    }

    /// A number of bytes, at least one.
    func byteCount(_ key: String) throws(UsageError) -> Int? {
        guard let text = value(key) else { return nil }
        guard let count = Self.quantity(text), count > 0 else {
            throw UsageError("\(key) takes a number of bytes (k, M and G are understood), not \"\(text)\"")
        }
        return count
    }

    /// `256`, `800x600`, `800x` or `x600`; a side that is left out is 0.
    func box(_ key: String) throws(UsageError) -> PixelSize? {
        guard let text = value(key) else { return nil }
        let sides = text.lowercased().split(separator: "x", omittingEmptySubsequences: false)
        let numbers = sides.map { $0.isEmpty ? 0 : Int($0) ?? -1 }
        let isValid =
            (1...2).contains(numbers.count) && numbers.allSatisfy { (0...(1 << 24)).contains($0) }
            && numbers.contains { $0 > 0 } && !(numbers.count == 2 && sides.contains("0"))
        guard isValid else {
            throw UsageError(
                "\(key) \(text) is no size", hint: "write 256 for a box of 256x256, or WxH, or Wx, or xH")
        }
        return numbers.count == 1 ? PixelSize(numbers[0], numbers[0]) : PixelSize(numbers[0], numbers[1])
    }

    /// A colour: a name, `#rgb`, `#rgba`, `#rrggbb` or `#rrggbbaa`.
    func color(_ key: String) throws(UsageError) -> RGBAColor? {
        guard let text = value(key) else { return nil }
        if let color = RGBAColor(text: text) { return color }
        throw UsageError(
            "\(key) \(text) is no colour",
            hint: OptionCheck.nearest(text.lowercased(), RGBAColor.names.map(\.name)).map { "did you mean \($0)?" }
                ?? "write #rgb, #rrggbb, #rrggbbaa or one of \(RGBAColor.names.map(\.name).joined(separator: ", "))")
    }
}

extension RGBAColor {
    static let names: [(name: String, color: RGBAColor)] = [
        ("white", .white), ("black", .black), ("gray", RGBAColor(red: 128, green: 128, blue: 128)),
        ("red", RGBAColor(red: 255, green: 0, blue: 0)), ("green", RGBAColor(red: 0, green: 128, blue: 0)),
        ("blue", RGBAColor(red: 0, green: 0, blue: 255)), ("yellow", RGBAColor(red: 255, green: 255, blue: 0)),
        ("transparent", .clear),
    ]

    /// A colour as people write it; nil for anything else.
    init?(text: String) {
        if let known = Self.names.first(where: { $0.name == text.lowercased() }) {
            self = known.color
            return
        }
        let digits = text.drop { $0 == "#" }.map { $0.isASCII ? $0.hexDigitValue : nil }
        let values = digits.compactMap { $0 }
        guard text.hasPrefix("#") || values.count == 6, values.count == digits.count else { return nil }
        let bytes: [Int]
        switch values.count {
        case 3, 4: bytes = values.map { $0 * 17 }
        case 6, 8: bytes = stride(from: 0, to: values.count, by: 2).map { values[$0] * 16 + values[$0 + 1] }
        default: return nil
        }
        self.init(
            red: UInt8(bytes[0]), green: UInt8(bytes[1]), blue: UInt8(bytes[2]),
            alpha: bytes.count > 3 ? UInt8(bytes[3]) : 255)
    }
}
