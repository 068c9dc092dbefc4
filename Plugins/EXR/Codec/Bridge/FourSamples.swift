internal import ImageModel
internal import Light

/// Makes 16-bit samples of four lights at a time.
///
/// Branches and conversions take most of the time of a sample by itself; vectors need neither. Debug builds inline only
/// functions of the same file, so the loops over pixels are here.
@safe struct FourSamples {
    private let steps: UnsafePointer<SIMD2<Float>>
    /// The samples of light below the table: this many for light 1, or nil if they are on no line.
    private let slope: Float?
    private let curve: LightCurve
    /// Where all light so far can be held by integers.
    private var isInside = SIMDMask<SIMD4<Int32>>(repeating: true)

    /// - Parameter steps: those of the curve, which must outlive this value.
    init(_ curve: LightCurve, _ steps: UnsafePointer<SIMD2<Float>>) {
        self.curve = curve
        unsafe self.steps = unsafe steps
        slope = curve.hasCurve ? 12.92 * 65_535 : nil
    }

    /// Whether light was cut off.
    var hasCut: Bool {
        let mask = isInside
        return !(mask[0] && mask[1] && mask[2] && mask[3])
    }

    /// The least light in the table: a constant in this file is no call.
    private static var least: Float { 0x1p-12 }

    // MARK: Rows

    /// Makes samples of lights; `count` is a multiple of four.
    mutating func convert(_ source: UnsafePointer<Float>, _ target: UnsafeMutablePointer<UInt16>, _ count: Int) {
        let (source, target) = unsafe (UnsafeRawPointer(source), UnsafeMutableRawPointer(target))
        for index in stride(from: 0, to: count, by: 4) {
            let light = unsafe source.loadUnaligned(fromByteOffset: 4 * index, as: SIMD4<Float>.self)
            unsafe target.storeBytes(of: Self.packed(samples(light)), toByteOffset: 2 * index, as: UInt64.self)
        }
    }

    /// Makes RGBA of pixels with premultiplied halves.
    ///
    /// - Returns: the first pixel without alpha but with light, or with infinity or NaN; `pixels.upperBound` without one.
    mutating func convertHalves(
        _ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ pixels: Range<Int>
    ) -> Int {
        for pixel in pixels {
            let halves = unsafe source.loadUnaligned(fromByteOffset: 8 * pixel, as: UInt64.self)
            var light = Self.light(halves)
            let alpha = light[3]
            if alpha > 0, !Self.hasSpecial(halves) {
                if alpha < 1 { light *= 1 / alpha }
                unsafe store(light, alpha, target + 8 * pixel)
            } else if halves == 0 {
                unsafe target.storeBytes(of: 0, toByteOffset: 8 * pixel, as: UInt64.self)
            } else {
                return pixel
            }
        }
        return pixels.upperBound
    }

    /// Makes RGBA of pixels with premultiplied floats.
    ///
    /// - Returns: the first pixel without alpha, or `pixels.upperBound`.
    mutating func convertFloats(
        _ source: UnsafeRawPointer, _ target: UnsafeMutableRawPointer, _ pixels: Range<Int>
    ) -> Int {
        for pixel in pixels {
            var light = unsafe source.loadUnaligned(fromByteOffset: 16 * pixel, as: SIMD4<Float>.self)
            let alpha = light[3]
            guard alpha > 0 else { return pixel }
            if alpha < 1 { light *= 1 / alpha }
            unsafe store(light, alpha, target + 8 * pixel)
        }
        return pixels.upperBound
    }

    @inline(__always)
    private mutating func store(_ light: SIMD4<Float>, _ alpha: Float, _ target: UnsafeMutableRawPointer) {
        var light = light
        light[3] = 0
        var samples = samples(light)
        samples[3] = ((alpha < 1 ? alpha : 1) * 65_535 + 0x1p23).bitPattern & 0xFFFF
        unsafe target.storeBytes(of: Self.packed(samples), as: UInt64.self)
    }

    // MARK: Four samples

    /// Returns the samples of four lights, in the low halves.
    @inline(__always)
    private mutating func samples(_ light: SIMD4<Float>) -> SIMD4<UInt32> {
        // Comparisons with NaN are false, so it becomes 0.
        isInside = isInside .& (light .>= 0) .& (light .<= 1.001)
        let isInTable = light .> Self.least
        let least = SIMD4<Float>(repeating: Self.least)
        let inner = least.replacing(with: light.replacing(with: 1, where: light .> 1), where: isInTable)
        let bits = unsafe unsafeBitCast(inner, to: SIMD4<UInt32>.self) &- Self.least.bitPattern
        let places = bits &>> 15
        // A float from 1 to 2 has the bits of its fraction.
        let ones = (bits & 0x7FFF) &<< 8 | 0x3F80_0000
        let parts = unsafe unsafeBitCast(ones, to: SIMD4<Float>.self) - 1
        let (a, b) = unsafe (steps[Int(places[0])], steps[Int(places[1])])
        let (c, d) = unsafe (steps[Int(places[2])], steps[Int(places[3])])
        let values = SIMD4(a.x, b.x, c.x, d.x) + SIMD4(a.y, b.y, c.y, d.y) * parts
        let below: SIMD4<Float>
        if let slope {
            below = light * slope
        } else {
            below = powers(light, isInTable)
        }
        let line = SIMD4<Float>.zero.replacing(with: below, where: light .> 0)
        // Floats from here on have whole numbers as their lowest bits.
        let whole = line.replacing(with: values, where: isInTable) + 0x1p23
        return unsafe unsafeBitCast(whole, to: SIMD4<UInt32>.self) & 0xFFFF
    }

    private func powers(_ light: SIMD4<Float>, _ isInTable: SIMDMask<SIMD4<Int32>>) -> SIMD4<Float> {
        var samples = SIMD4<Float>.zero
        for lane in 0..<4 where !isInTable[lane] { samples[lane] = Float(curve.sample(light[lane])) }
        return samples
    }

    /// Returns the lights of four halves, none of them infinity or NaN.
    @inline(__always)
    private static func light(_ halves: UInt64) -> SIMD4<Float> {
        let bits = SIMD4<UInt32>(
            UInt32(truncatingIfNeeded: halves & 0xFFFF), UInt32(truncatingIfNeeded: halves >> 16 & 0xFFFF),
            UInt32(truncatingIfNeeded: halves >> 32 & 0xFFFF), UInt32(truncatingIfNeeded: halves >> 48))
        // Another exponent and a multiplication are exact, and faster than a call.
        let moved = (bits & 0x7FFF) &<< 13 | (bits & 0x8000) &<< 16
        return unsafe unsafeBitCast(moved, to: SIMD4<Float>.self) * 0x1p112
    }

    /// Whether one of four halves is infinity or NaN: its exponent has all bits.
    @inline(__always)
    private static func hasSpecial(_ halves: UInt64) -> Bool {
        ((halves & 0x7C00_7C00_7C00_7C00) &+ 0x0400_0400_0400_0400) & 0x8000_8000_8000_8000 != 0
    }

    /// Returns four samples as the bytes of a pixel.
    @inline(__always)
    private static func packed(_ samples: SIMD4<UInt32>) -> UInt64 {
        let low = UInt64(samples[0] | samples[1] &<< 16)
        return low | UInt64(samples[2] | samples[3] &<< 16) &<< 32
    }
}
