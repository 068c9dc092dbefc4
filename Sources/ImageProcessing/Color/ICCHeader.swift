import ImageModel

/// The header of an ICC profile, validated before any other code reads the profile.
///
///     0 size │ 12 class │ 16 space │ 20 PCS │ 36 'acsp' │ 128 number of tags │ 132 signature, offset, size │ …
///
/// Source: ICC.1:2022, 7.2 and 7.3.
struct ICCHeader: Sendable, Hashable {
    enum Space: UInt32, Sendable {
        case gray = 0x4752_4159
        case rgb = 0x5247_4220
        case cmyk = 0x434D_594B

        /// Returns the color space for pixels with these channels.
        init(_ channels: PixelFormat.Channels) {
            switch channels {
            case .gray, .grayAlpha: self = .gray
            case .rgb, .rgba, .bgra: self = .rgb
            case .cmyk: self = .cmyk
            }
        }

        var channels: Int32 { self == .gray ? 1 : self == .rgb ? 3 : 4 }
        var name: String { self == .gray ? "gray" : self == .rgb ? "RGB" : "CMYK" }
    }

    /// Printer profiles with 16-bit tables have 2 to 3 MiB.
    static let maxBytes = 4 << 20

    let space: Space

    /// - Throws: the reason, as the end of a sentence.
    init(_ bytes: [UInt8]) throws(Refusal) {
        guard bytes.count <= Self.maxBytes else { throw Refusal("it has \(bytes.count) bytes") }
        guard bytes.count >= 132 else { throw Refusal("it is cut off") }
        func word(_ offset: Int) -> UInt32 { Self.word(bytes, offset) }
        guard word(36) == 0x6163_7370 else { throw Refusal("it has no signature") }
        guard word(0) >= 132, Int(word(0)) <= bytes.count else { throw Refusal("it is cut off") }
        // 'mntr' 'scnr' 'prtr' 'spac': device links, named colors and effects do not describe pixels.
        guard [0x6D6E_7472, 0x7363_6E72, 0x7072_7472, 0x7370_6163].contains(word(12)) else {
            throw Refusal("it is not one of a device")
        }
        guard let space = Space(rawValue: word(16)) else { throw Refusal("its color space is not supported") }
        // 'XYZ ' or 'Lab '
        guard word(20) == 0x5859_5A20 || word(20) == 0x4C61_6220 else {
            throw Refusal("its connection space is unknown")
        }
        guard Int(word(128)) <= (Int(word(0)) - 132) / 12 else { throw Refusal("its table of tags is cut off") }
        self.space = space
    }

    struct Refusal: Error {
        let reason: String
        init(_ reason: String) { self.reason = reason }
    }

    private static func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Returns the code points of the tag 'cicp', which describe PQ and HLG (ICC.1:2022, 9.2.17 and 10.3).
    static func codePoints(in bytes: [UInt8]) -> CodePoints? {
        guard (try? ICCHeader(bytes)) != nil else { return nil }
        for tag in 0..<min(Int(word(bytes, 128)), 100) where word(bytes, 132 + 12 * tag) == 0x6369_6370 {
            let offset = Int(word(bytes, 136 + 12 * tag))
            guard offset >= 132, offset <= bytes.count - 12, word(bytes, offset) == 0x6369_6370 else { return nil }
            return CodePoints(
                primaries: bytes[offset + 8], transfer: bytes[offset + 9], matrix: bytes[offset + 10],
                isFullRange: bytes[offset + 11] != 0)
        }
        return nil
    }
}
