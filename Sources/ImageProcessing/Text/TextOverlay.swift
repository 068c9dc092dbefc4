import HostSystem
public import ImageModel

/// The height of the em square of a text: about the distance between two lines.
public enum TextSize: Sendable, Hashable {
    /// A number of pixels, 1 … 4,096.
    case pixels(Double)
    /// A part of the height of the image, above 0 … 1.
    case ofHeight(Double)
}

/// The look of a text.
public struct TextStyle: Sendable, Hashable {
    /// The size of the letters.
    public var size = TextSize.ofHeight(0.05)
    /// The sRGB color of the letters.
    public var color = RGBAColor.white
    /// The sRGB color of an outline, which makes a text readable on any image; nil for none.
    public var outline: RGBAColor?

    /// Creates a style: by default white letters of 5 % of the height.
    public init(size: TextSize = .ofHeight(0.05), color: RGBAColor = .white, outline: RGBAColor? = nil) {
        self.size = size
        self.color = color
        self.outline = outline
    }
}

/// Draws a text over an image, for example a copyright notice.
///
/// The text is drawn as an ``Overlay``: a text that is larger than the image within its margins is reduced, and a gray
/// text keeps a gray image gray. Several lines are aligned at the side of the gravity.
public struct TextOverlay: ImageTransformer {
    private let text: String
    private let font: TextFont
    private let style: TextStyle
    private let gravity: Gravity
    private let opacity: Double
    private let margin: Int
    private let isTiled: Bool
    /// The color space of the image.
    private let colors: ColorProfile
    /// The overlay that was drawn last, because all frames of an animation have one size.
    private let memory = Memory()

    private final class Memory: Sendable {
        let last = Mutex<(size: Int, overlay: Overlay)?>(nil)
    }

    /// Creates a text.
    ///
    /// - Parameters:
    ///   - text: at most 10,000 characters in 1,000 lines, not only spaces.
    ///   - gravity: the edge or corner at which the text is drawn.
    ///   - opacity: 0 … 1.
    ///   - margin: the distance from the edges and between tiles in pixels, 0 … 65,535.
    ///   - isTiled: whether to repeat the text over the whole image, from the top left corner.
    ///   - colors: the color space of the image, in which the sRGB colors of the text are drawn.
    /// - Throws: `.invalidArgument`, `.limitExceeded`.
    public init(
        _ text: String, font: TextFont, style: TextStyle = TextStyle(), gravity: Gravity = .southeast,
        opacity: Double = 1, margin: Int = 0, isTiled: Bool = false, colors: ColorProfile = .sRGB
    ) throws(CoderError) {
        let count = text.unicodeScalars.count
        if text.allSatisfy(\.isWhitespace) { throw .invalidArgument("the text is empty") }
        if count > TextLayout.maxCharacters {
            throw .limit("characters of a text:", allowed: TextLayout.maxCharacters, requested: count)
        }
        let lines = text.unicodeScalars.reduce(1) { $0 + ($1 == "\n" ? 1 : 0) }
        if lines > TextLayout.maxLines {
            throw .limit("lines of a text:", allowed: TextLayout.maxLines, requested: lines)
        }
        self.text = text
        self.font = font
        self.style = style
        self.gravity = gravity
        self.opacity = opacity
        self.margin = margin
        self.isTiled = isTiled
        self.colors = colors
    }

    /// Warnings about characters that the font lacks or cannot draw correctly.
    public var warnings: [String] { font.warnings(for: text) }

    /// The key, for example `TextOverlay(5d41…,9f86…,5%,ffffffff,none,sRGB,southeast,1,0)`.
    ///
    /// It has digests of the text and the font, the size, the colors, and the parameters of ``Overlay``.
    public var key: String {
        let size =
            switch style.size {
            case .pixels(let pixels): keyText(pixels)
            case .ofHeight(let part): keyText(part * 100) + "%"
            }
        let space =
            if case .icc(let bytes) = colors { SHA256.hexDigest(of: bytes).prefix(16) } else {
                colors.description.prefix(200)
            }
        let digest = SHA256.hexDigest(of: Array(text.utf8)).prefix(16)
        let look = "\(size),\(keyText(style.color)),\(style.outline.map { keyText($0) } ?? "none")"
        let place = "\(gravity.rawValue),\(keyText(opacity)),\(margin)\(isTiled ? ",tile" : "")"
        return "TextOverlay(\(digest),\(font.digest)\(font.shapes ? "" : ",plain"),\(look),\(space),\(place))"
    }

    /// Returns the size of the result for an image of `size`; zero if the parameters are invalid.
    public func outputSize(for size: PixelSize) -> PixelSize {
        guard (0...1).contains(opacity), (0...65_535).contains(margin), (try? emSize(size)) != nil else { return .zero }
        return size
    }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        // Before the text takes time and memory.
        try check(opacity, "an opacity", in: 0...1)
        try check(Double(margin), "a margin", in: 0...65_535)
        try buffer.format.checkWorkable("the text")
        let size = try emSize(buffer.size)
        if let last = memory.last.withLock({ $0 }), last.size == size { return try last.overlay.transform(buffer) }
        let overlay = Overlay(
            try draw(size), gravity: gravity, opacity: opacity, margin: margin, isTiled: isTiled)
        memory.last.withLock { $0 = (size, overlay) }
        return try overlay.transform(buffer)
    }

    /// Returns the size of the em square in 1/64 pixel.
    private func emSize(_ image: PixelSize) throws(CoderError) -> Int {
        switch style.size {
        case .pixels(let pixels):
            try check(pixels, "a text size", in: 1...4_096)
            return Int((pixels * 64).rounded())
        case .ofHeight(let part):
            try check(part, "a text size as a part of the height", in: 0.000_1...1)
            return Int((min(max(part * Double(image.height), 1), 4_096) * 64).rounded())
        }
    }

    /// Returns the image of the text in the colors of the image.
    private func draw(_ size: Int) throws(CoderError) -> PixelBuffer {
        // A sixteenth of the size is about the width of a stem's half.
        let radius = style.outline == nil ? 0 : max(64, size / 16)
        let (letters, border, pixels) = try font.withFace {
            face throws(CoderError) -> ([UInt8], [UInt8]?, PixelSize) in
            let layout = try TextLayout(text, face, size: size, radius: radius, alignment)
            guard let letters = face.coverage(layout.marks, radius: 0, in: layout.area) else {
                throw CoderError(.outOfMemory, "the text cannot be drawn", hint: "choose a smaller text size")
            }
            let border = radius > 0 ? face.coverage(layout.marks, radius: radius, in: layout.area) : nil
            return (letters, border, layout.size)
        }
        let image = try paint(letters, style.color, pixels)
        guard let border, let color = style.outline else { return image }
        return try Overlay(image, gravity: .northwest).transform(try paint(border, color, pixels))
    }

    private var alignment: TextLayout.Alignment {
        switch gravity {
        case .northwest, .west, .southwest: .left
        case .northeast, .east, .southeast: .right
        case .north, .center, .south: .center
        }
    }

    /// Returns an image of one color whose alpha is the coverage.
    private func paint(_ coverage: [UInt8], _ color: RGBAColor, _ size: PixelSize) throws(CoderError) -> PixelBuffer {
        let isGray = isGray
        let format = PixelFormat(isGray ? .grayAlpha : .rgba, bits: 16, alpha: .straight)
        let samples = (isGray ? [color.red] : [color.red, color.green, color.blue]).map { UInt16($0) * 257 }
        let image = try PixelBufferPool.shared.take(size, format, clean: false)
        for y in 0..<size.height {
            image.withMutableRow(y) { row in
                var at = 0
                for x in 0..<size.width {
                    for sample in samples {
                        row.setPair(at, sample)
                        at += 1
                    }
                    // 65,535 is 255 · 257.
                    let alpha = Int(coverage[y * size.width + x]) * Int(color.alpha) * 257
                    row.setPair(at, UInt16((alpha + 127) / 255))
                    at += 1
                }
            }
        }
        if colors == .sRGB || colors == .assumed { return image }
        return try ColorTransformCache.shared.transform(from: .sRGB, format, to: colors, format).convert(image)
    }

    /// Whether the text has no colors, and the color space allows gray.
    private var isGray: Bool {
        if case .icc = colors { return false }
        return [style.color, style.outline ?? style.color].allSatisfy(\.isGray)
    }
}
