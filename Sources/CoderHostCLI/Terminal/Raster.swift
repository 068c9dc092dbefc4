import ImageModel

/// A picture ready to be shown: opaque, in the size the terminal needs.
struct Raster: Hashable {
    let width: Int
    let height: Int
    /// Red, green, blue, row by row without padding.
    var bytes: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        bytes = [UInt8](repeating: 0, count: width * height * 3)
    }
}

/// What shows through a picture.
enum Backdrop: Hashable {
    case checkerboard
    case color(red: UInt8, green: UInt8, blue: UInt8)

    /// Light and dark of the board, far enough apart to be seen and from black and white.
    private static let board: [UInt8] = [0x66, 0x99]

    /// Reads `#rrggbb`; nil when it is not that.
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

    /// - Parameter square: the side of one square of the board.
    func color(x: Int, y: Int, square: Int) -> SIMD4<Float> {
        switch self {
        case .checkerboard:
            let level = Float(Self.board[(x / square + y / square) & 1])
            return SIMD4(level, level, level, 0)
        case .color(let red, let green, let blue): return SIMD4(Float(red), Float(green), Float(blue), 0)
        }
    }
}
