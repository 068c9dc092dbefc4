/// A color space in which squared distances are the errors to minimize.
///
/// Points are exact. Keys are points rounded to 8 bits per axis and packed like colors, so that every search for near
/// colors accepts both.
package struct ColorMetric: Sendable {
    /// The error of PSNR: points and keys are the colors themselves.
    package static let rgb = ColorMetric(space: .colors, unit: 1)
    /// The error as the eye sees it. Measured on photos, 1 corresponds to 4 of RGB.
    package static let perceptual = ColorMetric(space: .perceived(PerceivedColors()), unit: 4)
    /// The mean error of PSNR over a black and a white background, for translucent colors. It has no keys.
    ///
    /// With the premultiplied color p and alpha a, the error over black is Δp, and that over white is Δp − Δa. The mean
    /// of the squares is (Δp − Δa ÷ 2)² + (Δa ÷ 2)², so p − a ÷ 2 and, for three channels, a · √3 ÷ 2 are coordinates.
    package static let translucent = ColorMetric(space: .blended, unit: 1)

    @usableFromInline
    enum Space: Sendable {
        case colors
        case perceived(PerceivedColors)
        case blended
    }

    @usableFromInline let space: Space
    /// The squared error in RGB that corresponds to 1 in this space.
    package let unit: Float

    /// √3 ÷ 2.
    private static let alphaScale: Float = 0.866_025_4

    /// Converts points of RGBA; their weights stay.
    package func points(_ points: [ColorPoint]) -> [ColorPoint] {
        if case .colors = space { return points }
        return points.map { ColorPoint(place: place($0.place), weight: $0.weight) }
    }

    package func point(_ color: UInt32) -> ColorPoint {
        let point = ColorPoint(color)
        if color == ColorTable.transparent { return point }
        return ColorPoint(place: place(point.place))
    }

    private func place(_ color: SIMD4<Float>) -> SIMD4<Float> {
        switch space {
        case .colors: return color
        case .perceived(let perceived): return perceived.place(ofColor: color)
        case .blended:
            let alpha = color.w
            var place = color * (alpha / 255) + (255 - alpha) / 2
            place.w = alpha * Self.alphaScale
            return place
        }
    }

    /// Returns the color nearest to a point.
    package func color(_ point: ColorPoint) -> UInt32 {
        switch space {
        case .colors: return point.color
        case .perceived(let perceived): return ColorPoint(place: perceived.color(point.place)).color
        case .blended:
            let alpha = max(0, min(255, point.place.w / Self.alphaScale)).rounded()
            if alpha < 1 { return ColorTable.transparent }
            var color = (point.place - (255 - alpha) / 2) * (255 / alpha)
            color.w = alpha
            return ColorPoint(place: color).color
        }
    }

    /// A transparent pixel has no position, and is its own key.
    @inlinable @inline(__always)
    package func key(_ color: UInt32) -> UInt32 {
        guard case .perceived(let perceived) = space, color != ColorTable.transparent else { return color }
        return perceived.key(color)
    }

    /// Returns the keys of some pixels.
    @inlinable @inline(__always)
    package func measure(
        _ colors: [UInt32], into keys: inout [UInt32], in places: Range<Int>, where isWanted: (Int) -> Bool
    ) {
        var last: (color: UInt32, key: UInt32) = (ColorTable.transparent, ColorTable.transparent)
        for place in places where isWanted(place) {
            if colors[place] != last.color { last = (colors[place], key(colors[place])) }
            keys[place] = last.key
        }
    }
}
