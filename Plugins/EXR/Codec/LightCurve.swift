internal import Glibc
internal import Light

/// Makes 16-bit samples of linear light.
final class LightCurve: Sendable {
    let hasCurve: Bool
    /// The sample of each half, by its bits.
    let halves: [UInt16]
    /// The sample at 256 places of each octave from `least` to 1, and the difference to the next.
    let steps: [SIMD2<Float>]
    /// The least light in `steps`.
    static let least: Float = 0x1p-12

    private static let curved = LightCurve(hasCurve: true)
    private static let powered = LightCurve(hasCurve: false)

    /// Returns the curve, which is made once.
    static func shared(hasCurve: Bool) -> LightCurve { hasCurve ? curved : powered }

    /// - Parameter hasCurve: whether samples have the curve of sRGB; otherwise the exponent 1/2.2.
    private init(hasCurve: Bool) {
        self.hasCurve = hasCurve
        halves = (0...UInt16.max).map { bits in
            let light = Float(Float16(bitPattern: bits))
            // Exact, because the table is made once.
            return hasCurve ? Self.exact(light) : Self.power(light)
        }
        let ends = (0...12 * 256).map { place in
            let light = Float(bitPattern: Self.least.bitPattern + UInt32(place) << 15)
            return 65_535 * (hasCurve ? LightSamples.curve(light) : powf(light, 1 / 2.2))
        }
        steps = ends.indices.map { place in
            SIMD2(ends[place], place + 1 < ends.count ? ends[place + 1] - ends[place] : 0)
        }
    }

    /// Returns the sample of light as an integer.
    func sample(_ light: Float) -> UInt16 { hasCurve ? LightSamples.sample(light) : Self.power(light) }

    /// Returns the sample of light as a float, continued above 1 and mirrored below 0.
    func real(_ light: Float) -> Float {
        if hasCurve { return LightSamples.curve(light) }
        return light < 0 ? -powf(-light, 1 / 2.2) : powf(light, 1 / 2.2)
    }

    private static func exact(_ light: Float) -> UInt16 {
        guard light > 0 else { return 0 }
        return light < 1 ? UInt16((LightSamples.curve(light) * 65_535).rounded()) : 65_535
    }

    private static func power(_ light: Float) -> UInt16 {
        // A comparison with NaN is false, so it becomes 0.
        guard light > 0 else { return 0 }
        return light < 1 ? UInt16((powf(light, 1 / 2.2) * 65_535).rounded()) : 65_535
    }

    /// Returns 1 if a half is light that an integer cannot hold: below 0, or above 1 by more than rounding.
    @inline(__always)
    static func outside(_ half: UInt16) -> UInt16 { (half > 0x3C01 ? 1 : 0) & (half != 0x8000 ? 1 : 0) }
}
