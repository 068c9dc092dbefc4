import ImageModel

/// An opaque RGB image in the display size.
struct Raster: Hashable {
    let width: Int
    let height: Int
    /// The samples red, green, blue in rows without padding.
    var bytes: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        bytes = [UInt8](repeating: 0, count: width * height * 3)
    }
}

/// The background behind transparent pixels.
enum Backdrop: Hashable {
    case checkerboard
    case color(red: UInt8, green: UInt8, blue: UInt8)

    /// The gray levels of the checkerboard, distinct from each other and from black and white.
    private static let board: [UInt8] = [0x66, 0x99]

    /// Parses `#rrggbb`; nil for other texts.
    init?(_ text: String) {
        let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
        guard digits.utf8.count == 6, digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: 16) else {
            return nil
        }
        self = .color(
            red: UInt8(truncatingIfNeeded: value >> 16), green: UInt8(truncatingIfNeeded: value >> 8),
            blue: UInt8(truncatingIfNeeded: value))
    }

    init() { self = .checkerboard }

    /// Returns the background color of a pixel.
    ///
    /// - Parameter square: the side of a checkerboard square in pixels.
    func color(x: Int, y: Int, square: Int) -> SIMD4<Float> {
        switch self {
        case .checkerboard:
            let level = Float(Self.board[(x / square + y / square) & 1])
            return SIMD4(level, level, level, 0)
        case .color(let red, let green, let blue): return SIMD4(Float(red), Float(green), Float(blue), 0)
        }
    }
}
