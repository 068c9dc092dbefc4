import ImageModel

/// Writes small ICC profiles of version 4 with reproducible bytes.
///
/// Source: ICC.1:2022, clauses 7, 9 and 10.
enum ICCWriter {
    /// Returns a profile of three curves and a matrix, or one curve for gray; nil for curves that ICC cannot describe.
    static func profile(_ model: ColorModel, name: String, isGray: Bool) -> [UInt8]? {
        guard let curve = curve(model.curve), let adaptation = model.space.adaptation,
            let matrix = model.space.toConnectionSpace
        else { return nil }
        var tags: [(signature: String, data: [UInt8])] = [
            ("desc", text(name)), ("cprt", text("No rights reserved")), ("wtpt", xyz(Chromaticities.d50)),
        ]
        if isGray {
            tags.append(("kTRC", curve))
        } else {
            tags.append(("chad", type("sf32") + adaptation.rows.flatMap(fixed)))
            for (column, signature) in ["rXYZ", "gXYZ", "bXYZ"].enumerated() {
                tags.append((signature, xyz([0, 3, 6].map { matrix.rows[$0 + column] })))
            }
            for signature in ["rTRC", "gTRC", "bTRC"] { tags.append((signature, curve)) }
        }
        return assemble(tags, space: isGray ? "GRAY" : "RGB ")
    }

    private static func assemble(_ tags: [(signature: String, data: [UInt8])], space: String) -> [UInt8] {
        var table = word(UInt32(tags.count))
        var data: [UInt8] = []
        var places: [[UInt8]: Int] = [:]
        let start = 132 + 12 * tags.count
        for tag in tags {
            // Equal tags share their data.
            let offset = places[tag.data] ?? start + data.count
            if places.updateValue(offset, forKey: tag.data) == nil {
                data += tag.data + [UInt8](repeating: 0, count: -tag.data.count & 3)
            }
            table += Array(tag.signature.utf8) + word(UInt32(offset)) + word(UInt32(tag.data.count))
        }
        var header = word(UInt32(start + data.count)) + word(0)
        header += word(0x0430_0000) + Array("mntr\(space)XYZ ".utf8)
        // The date is mandatory; a constant keeps the bytes reproducible.
        header += [0x07, 0xEA, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]
        header += Array("acsp".utf8) + [UInt8](repeating: 0, count: 24)
        // Perceptual as the default intent; in a matrix profile all intents are the same.
        header += word(0) + Chromaticities.d50.flatMap(fixed)
        header += [UInt8](repeating: 0, count: 128 - header.count)
        return header + table + data
    }

    private static func word(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    /// Encodes an s15Fixed16Number.
    private static func fixed(_ value: Double) -> [UInt8] {
        word(UInt32(bitPattern: Int32((value * 65_536).rounded())))
    }

    private static func type(_ signature: String) -> [UInt8] { Array(signature.utf8) + word(0) }
    private static func xyz(_ values: [Double]) -> [UInt8] { type("XYZ ") + values.flatMap(fixed) }

    /// Encodes a multiLocalizedUnicodeType with one record, en-US.
    private static func text(_ text: String) -> [UInt8] {
        let letters = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
        return type("mluc") + word(1) + word(12) + Array("enUS".utf8) + word(UInt32(letters.count)) + word(28) + letters
    }

    /// Encodes a parametricCurveType: function 0 is a power, function 3 a power above a straight line.
    private static func curve(_ curve: TransferCurve) -> [UInt8]? {
        switch curve {
        case .sRGB:
            type("para") + [0, 3, 0, 0] + [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045].flatMap(fixed)
        case .power(let exponent): type("para") + [0, 0, 0, 0] + fixed(exponent)
        case .cinema, .pq, .hlg: nil
        }
    }
}

extension ColorProfile {
    /// Returns a profile to store in a file: the ICC profile itself, or a small one made of a matrix and a curve.
    ///
    /// Returns nil for PQ and HLG, which such a profile cannot describe, and for CMYK.
    package func iccBytes(isGray: Bool = false) -> [UInt8]? {
        if case .icc(let bytes) = self { return bytes }
        guard let model else { return nil }
        return ICCWriter.profile(model, name: profileName, isGray: isGray)
    }

    private var profileName: String {
        switch self {
        case .assumed, .sRGB, .icc: return "sRGB"
        case .calibrated: return description
        case .codePoints(let points):
            let curve = points.transfer == 8 ? " linear" : points.transfer == 4 ? " gamma 2.2" : ""
            switch points.primaries {
            case 1, 2: return "sRGB" + curve
            case 9: return "BT.2020" + curve
            case 11: return "DCI-P3" + curve
            case 12: return "Display P3" + curve
            default: return description
            }
        }
    }

    /// Display P3: the primaries of digital cinema, D65, the curve of sRGB.
    public static let displayP3 = ColorProfile.codePoints(
        CodePoints(primaries: 12, transfer: 13, matrix: 0, isFullRange: true))
}
