import CoderPluginKit
import ImageModel

/// The color description of a header of 108 bytes or more.
struct BMPColor {
    private enum Space {
        static let calibrated = 0
        static let sRGB = 0x7352_4742
        static let windows = 0x5769_6e20
        static let embedded = 0x4d42_4544
        static let linked = 0x4c49_4e4b
    }

    /// Where the embedded profile is, from the start of the header.
    private(set) var profile: Range<Int>?
    /// Whether the header names a profile in another file, which is never opened.
    private(set) var isLinked = false
    private(set) var description = ColorDescription()

    init() {}

    /// Reads the description.
    ///
    /// - Parameter field: returns the 32-bit field at an offset of the header.
    init(_ field: (Int) -> Int, start: Int, count: Int) {
        switch field(56) {
        case Space.calibrated: description = Self.calibrated(field)
        case Space.sRGB, Space.windows:
            description.codePoints = CodePoints(primaries: 1, transfer: 13, matrix: 0, isFullRange: true)
        case Space.embedded where count >= 124:
            let (offset, bytes) = (field(112), field(116))
            if offset > 0, bytes > 0 { profile = start + offset..<start + offset + bytes }
        case Space.linked: isLinked = true
        default: break
        }
    }

    /// One gamma for all channels; primaries without a meaningful white point are ignored.
    private static func calibrated(_ field: (Int) -> Int) -> ColorDescription {
        let gammas = [96, 100, 104].map(field)
        // 16.16 fixed point, from sample to light.
        guard let gamma = gammas.first, gamma > 0x4000, gamma < 0x8_0000, gammas.allSatisfy({ $0 == gamma }) else {
            return ColorDescription()
        }
        return ColorDescription(gamma: UInt32((100_000 * 65_536 + gamma / 2) / gamma))
    }
}
