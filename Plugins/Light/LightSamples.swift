internal import Glibc
package import ImageModel

/// Turns linear light into samples with the curve of sRGB, because the host converts no linear floats.
///
/// Floats continue the curve above 1 and mirror it below 0; integers are cut off there.
package struct LightSamples {
    /// Whether samples are floats, and not 16-bit integers.
    @usableFromInline package var isFloat = false
    /// The factor of all samples: 2 to the power of the exposure.
    @usableFromInline package var factor: Float = 1
    /// Whether light below 0 or above 1 was cut off.
    package private(set) var isCut = false

    /// - Parameter stops: the exposure.
    package init(stops: Double = 0) { factor = Float(exp2(stops)) }

    /// The formats of such samples, best first.
    package static func formats(_ channels: PixelFormat.Channels) -> [PixelFormat] {
        [PixelFormat(channels, bits: 16), PixelFormat(channels, bits: 32, numeric: .float)]
    }

    package var warning: String? { isCut ? "light below 0 or above 1 is cut off" : nil }

    /// Notes that light was cut off.
    @usableFromInline
    package mutating func noteCut() { isCut = true }

    /// Stores sample `index` of a row.
    @inlinable
    package mutating func put(_ light: Float, _ index: Int, into row: inout MutableRawSpan) {
        let light = light * factor
        if isFloat {
            row.storeBytes(of: Self.curve(light), toByteOffset: 4 * index, as: Float.self)
            return
        }
        if Self.isOutside(light) { noteCut() }
        row.storeBytes(of: Self.sample(light), toByteOffset: 2 * index, as: UInt16.self)
    }

    /// Returns whether an integer cannot hold the light; the largest value of a half-precision block, which is a
    /// little above 1, does not count.
    @inlinable
    package static func isOutside(_ light: Float) -> Bool { !(light >= 0 && light <= 1.001) }

    /// Returns the sample of light as a float.
    @usableFromInline
    package static func curve(_ light: Float) -> Float {
        let size = abs(light)
        let value = size <= 0.003_130_8 ? size * 12.92 : 1.055 * powf(size, 1 / 2.4) - 0.055
        return light < 0 ? -value : value
    }

    /// The power of two below which the curve is a line.
    @usableFromInline package static let least: Float = 0x1p-12
    /// The curve at 256 places of each octave from `least` to 1, times 65,535.
    @usableFromInline package static let table: [Float] = (0...12 * 256).map { place in
        curve(Float(bitPattern: least.bitPattern + UInt32(place) << 15)) * 65_535
    }

    /// Returns the 16-bit sample of light, by linear interpolation; it is off by less than 1.
    @inlinable
    package static func sample(_ light: Float) -> UInt16 {
        guard light > 0x1p-12 else { return light > 0 ? UInt16(light * 12.92 * 65_535 + 0.5) : 0 }
        guard light < 1 else { return 65_535 }
        let bits = light.bitPattern - (0x1p-12 as Float).bitPattern
        let (place, part) = (Int(bits >> 15), Float(bits & 0x7fff) * 0x1p-15)
        // A call for rounding would take most of the time.
        return UInt16(table[place] + (table[place + 1] - table[place]) * part + 0.5)
    }
}
