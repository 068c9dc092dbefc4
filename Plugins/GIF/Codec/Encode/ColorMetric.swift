/// A color space in which squared distances are the errors to minimize.
///
/// Points are exact. Keys are points rounded to 8 bits per axis and packed like colors, so that every search for near
/// colors accepts both.
struct ColorMetric: Sendable {
    /// The error of PSNR: points and keys are the colors themselves.
    static let rgb = ColorMetric(perceived: nil, unit: 1)
    /// The error as the eye sees it. Measured on photos, 1 corresponds to 4 of RGB.
    static let perceptual = ColorMetric(perceived: PerceivedColors(), unit: 4)

    private let perceived: PerceivedColors?
    /// The squared error in RGB that corresponds to 1 in this space.
    let unit: Float

    /// Converts points of RGB; their weights stay.
    func points(_ points: [SIMD4<Float>]) -> [SIMD4<Float>] {
        guard let perceived else { return points }
        return points.map(perceived.point)
    }

    func point(_ color: UInt32) -> SIMD4<Float> {
        let point = ColorKernels.point(color)
        guard let perceived, color != ColorTable.transparent else { return point }
        return perceived.point(point)
    }

    /// Returns the color nearest to a point.
    func color(_ point: SIMD4<Float>) -> UInt32 {
        Quantizer.color(perceived?.color(point) ?? point)
    }

    /// A transparent pixel has no position, and is its own key.
    @inline(__always)
    func key(_ color: UInt32) -> UInt32 {
        guard let perceived, color != ColorTable.transparent else { return color }
        return perceived.key(color)
    }

    /// Returns the keys of some pixels.
    @inline(__always)
    func measure(
        _ colors: [UInt32], into keys: inout [UInt32], in places: Range<Int>, where isWanted: (Int) -> Bool
    ) {
        var last: (color: UInt32, key: UInt32) = (ColorTable.transparent, ColorTable.transparent)
        for place in places where isWanted(place) {
            if colors[place] != last.color { last = (colors[place], key(colors[place])) }
            keys[place] = last.key
        }
    }
}
