internal import CoderPluginKit
internal import ImageModel
internal import JXLShim

/// The numbers of libjxl for colors. Those of transfer functions are the code points of ITU-T H.273.
enum JXLColors {
    static let whiteD65: UInt32 = 1
    static let whiteCustom: UInt32 = 2
    static let whiteDCI: UInt32 = 11
    static let primariesSRGB: UInt32 = 1
    static let primariesCustom: UInt32 = 2
    static let primaries2100: UInt32 = 9
    static let primariesP3: UInt32 = 11
    static let transferSRGB: UInt32 = 13
    static let transferGamma: UInt32 = 65535
    /// BT.709, linear, sRGB, PQ, DCI, HLG.
    static let transfers: Set<UInt32> = [1, 8, 13, 16, 17, 18]

    /// Colors with the white point D65 and the curve of sRGB.
    static func described(isGray: Bool, primaries: UInt32 = primariesSRGB, transfer: UInt32 = transferSRGB)
        -> jxl_shim_color
    {
        var color = jxl_shim_color()
        color.is_gray = isGray ? 1 : 0
        (color.white, color.primaries, color.transfer, color.intent) = (whiteD65, primaries, transfer, 1)
        return color
    }
}

extension CodePoints {
    /// The code points of these colors; nil if no code points describe them.
    init?(_ color: jxl_shim_color) {
        guard JXLColors.transfers.contains(color.transfer) else { return nil }
        let primaries: UInt8
        switch (color.white, color.primaries) {
        case (JXLColors.whiteD65, _) where color.is_gray != 0: primaries = 1
        case (JXLColors.whiteD65, JXLColors.primariesSRGB): primaries = 1
        case (JXLColors.whiteD65, JXLColors.primaries2100): primaries = 9
        case (JXLColors.whiteD65, JXLColors.primariesP3): primaries = 12
        case (JXLColors.whiteDCI, JXLColors.primariesP3): primaries = 11
        default: return nil
        }
        self.init(primaries: primaries, transfer: UInt8(color.transfer), matrix: 0, isFullRange: true)
    }
}

/// The colors to decode to if the file has a profile that libjxl 0.7 cannot convert to.
///
/// Such a file stores colors independent of the profile. The smallest known gamut that contains the one of the profile
/// loses no color.
enum SubstituteColors {
    typealias Point = (x: Double, y: Double)

    /// The primaries of sRGB and Display P3, adapted to D50 as in a profile.
    private static let gamuts: [(number: UInt32, corners: [Point])] = [
        (JXLColors.primariesSRGB, [(0.6484, 0.3309), (0.3212, 0.5979), (0.1559, 0.0660)]),
        (JXLColors.primariesP3, [(0.6821, 0.3194), (0.2846, 0.6746), (0.1559, 0.0661)]),
    ]

    static func choose(
        _ stream: JXLStream, _ session: DecoderSession, _ facts: jxl_shim_facts
    ) throws(CoderError) -> jxl_shim_color {
        if facts.colors == 1 { return JXLColors.described(isGray: true) }
        let profile = try stream.profile(ofPixels: false, limit: session.limits.maxMetadataBytes) ?? []
        let corners = corners(of: profile)
        let number = corners.isEmpty ? JXLColors.primariesSRGB : smallestGamut(around: corners)
        session.host.debug("the colors of a profile are decoded to primaries \(number)")
        return JXLColors.described(isGray: false, primaries: number)
    }

    static func smallestGamut(around corners: [Point]) -> UInt32 {
        gamuts.first { gamut in corners.allSatisfy { contains(gamut.corners, $0) } }?.number ?? JXLColors.primaries2100
    }

    /// Whether a triangle contains a point, with a tolerance for rounded profiles.
    private static func contains(_ corners: [Point], _ point: Point) -> Bool {
        (0..<3).allSatisfy { index in
            let (a, b) = (corners[index], corners[(index + 1) % 3])
            let (dx, dy) = (b.x - a.x, b.y - a.y)
            let distance = (dx * (point.y - a.y) - dy * (point.x - a.x)) / (dx * dx + dy * dy).squareRoot()
            return distance > -0.006
        }
    }

    /// The chromaticities of the tags `rXYZ`, `gXYZ` and `bXYZ`; empty if the profile has none.
    ///
    /// - Source: ICC.1:2022, sections 7.3 and 9.2.
    static func corners(of profile: [UInt8]) -> [Point] {
        func number(_ at: Int) -> Int? {
            guard at >= 0, profile.count - at >= 4 else { return nil }
            return profile[at..<at + 4].reduce(0) { $0 << 8 | Int($1) }
        }
        func tag(_ name: String) -> Point? {
            let wanted = name.utf8.reduce(0) { $0 << 8 | Int($1) }
            guard let count = number(128) else { return nil }
            for index in 0..<min(count, 100) where number(132 + 12 * index) == wanted {
                guard let place = number(136 + 12 * index), place < profile.count else { return nil }
                let values = (0..<3).compactMap { number(place + 8 + 4 * $0) }
                    .map { Double(Int32(truncatingIfNeeded: $0)) }
                guard values.count == 3, values[0] + values[1] + values[2] > 0 else { return nil }
                let sum = values[0] + values[1] + values[2]
                return (values[0] / sum, values[1] / sum)
            }
            return nil
        }
        let found = [tag("rXYZ"), tag("gXYZ"), tag("bXYZ")].compactMap { $0 }
        return found.count == 3 ? found : []
    }
}

extension JXLColors {
    /// Primaries and white of H.273 that have no number in libjxl.
    ///
    /// - Source: ITU-T H.273, table 2.
    private static let custom: [UInt8: (red: Pair, green: Pair, blue: Pair, white: Pair)] = [
        4: ((0.67, 0.33), (0.21, 0.71), (0.14, 0.08), (0.310, 0.316)),
        5: ((0.64, 0.33), (0.29, 0.60), (0.15, 0.06), (0.3127, 0.3290)),
        6: ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), (0.3127, 0.3290)),
        7: ((0.630, 0.340), (0.310, 0.595), (0.155, 0.070), (0.3127, 0.3290)),
        22: ((0.630, 0.340), (0.295, 0.605), (0.155, 0.077), (0.3127, 0.3290)),
    ]
    private typealias Pair = (Double, Double)

    /// The colors to declare in a file; nil if the format has no such colors, or if the image declares none.
    static func encoded(_ color: ColorDescription, isGray: Bool) -> jxl_shim_color? {
        if let points = color.codePoints, !points.isUnspecified { return encoded(points, isGray: isGray) }
        // The exponent from light to sample, between 1/10 and 1.
        guard let gamma = color.gamma, (10_000...100_000).contains(gamma) else { return nil }
        var made = described(isGray: isGray, transfer: transferGamma)
        made.gamma = Double(gamma) / 100_000
        if let points = color.primaries {
            (made.white, made.primaries) = (whiteCustom, primariesCustom)
            func unit(_ x: Int32, _ y: Int32) -> Pair { (Double(x) / 100_000, Double(y) / 100_000) }
            (made.red_xy, made.green_xy) = (unit(points.redX, points.redY), unit(points.greenX, points.greenY))
            (made.blue_xy, made.white_xy) = (unit(points.blueX, points.blueY), unit(points.whiteX, points.whiteY))
        }
        return made
    }

    private static func encoded(_ points: CodePoints, isGray: Bool) -> jxl_shim_color? {
        var made = described(isGray: isGray)
        switch points.transfer {
        case 1, 6, 14, 15: made.transfer = 1
        case 8, 13, 16, 17, 18: made.transfer = UInt32(points.transfer)
        case 4: (made.transfer, made.gamma) = (transferGamma, 1 / 2.2)
        case 5: (made.transfer, made.gamma) = (transferGamma, 1 / 2.8)
        case 2: break
        default: return nil
        }
        switch points.primaries {
        case 1, 2: break
        case 9: made.primaries = primaries2100
        case 11: (made.white, made.primaries) = (whiteDCI, primariesP3)
        case 12: made.primaries = primariesP3
        default:
            guard let known = custom[points.primaries] else { return nil }
            (made.white, made.primaries) = (whiteCustom, primariesCustom)
            (made.red_xy, made.green_xy, made.blue_xy, made.white_xy) = (
                known.red, known.green, known.blue, known.white
            )
        }
        return made
    }
}
