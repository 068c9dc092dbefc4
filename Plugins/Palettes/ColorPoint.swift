/// A color, or a place in the space of a ``ColorMetric``, with its number of pixels.
package struct ColorPoint {
    /// Red, green, blue and alpha, 0 … 255; or the place of that color.
    package var place: SIMD4<Float>
    package var weight: Float

    package init(place: SIMD4<Float>, weight: Float = 0) {
        self.place = place
        self.weight = weight
    }

    /// The place of a transparent color is far from all others.
    package init(_ color: UInt32, weight: Float = 0) {
        place =
            color == ColorTable.transparent
            ? SIMD4(repeating: ColorLanes.far)
            : SIMD4(
                Float(color & 0xFF), Float(color >> 8 & 0xFF), Float(color >> 16 & 0xFF), Float(color >> 24))
        self.weight = weight
    }

    /// The color of a place in the space of colors.
    package var color: UInt32 {
        func byte(_ value: Float) -> UInt32 { UInt32(max(0, min(255, value)).rounded()) }
        return byte(place.x) | byte(place.y) << 8 | byte(place.z) << 16 | byte(place.w) << 24
    }
}
