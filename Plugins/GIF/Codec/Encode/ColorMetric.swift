/// Where colours lie, so that squared distances between them are the errors that count.
///
/// Points are exact; keys are points rounded to 8 bits an axis and packed as colours are, so that everything that looks
/// for near colours takes either.
struct ColorMetric: Sendable {
    /// As PSNR measures: points and keys are the colours themselves.
    static let rgb = ColorMetric(perceived: nil, unit: 1)
    /// As the eye measures. By measurement on photos, one is as much as 4 of RGB.
    static let perceptual = ColorMetric(perceived: PerceivedColors(), unit: 4)

    private let perceived: PerceivedColors?
    /// The squared error in RGB that is one here.
    let unit: Float

    /// Moves points of RGB; their weights stay.
    func points(_ points: [SIMD4<Float>]) -> [SIMD4<Float>] {
        guard let perceived else { return points }
        return points.map(perceived.point)
    }

    func point(_ color: UInt32) -> SIMD4<Float> {
        let point = ColorKernels.point(color)
        guard let perceived, color != ColorTable.transparent else { return point }
        return perceived.point(point)
    }

    /// The colour nearest to a point.
    func color(_ point: SIMD4<Float>) -> UInt32 {
        Quantizer.color(perceived?.color(point) ?? point)
    }

    /// What is not shown has no place, and is its own key.
    @inline(__always)
    func key(_ color: UInt32) -> UInt32 {
        guard let perceived, color != ColorTable.transparent else { return color }
        return perceived.key(color)
    }

    /// The keys of some pixels.
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
