import Glibc

/// The reduction of light above screen white to light that a screen can show.
///
/// The curve of Rec. ITU-R BT.2390-11, 5.4.1 (black stays black) is applied to the largest of a pixel's red, green and
/// blue. The other two keep their ratio to it, so hues stay and nothing clips below the peak. With the standard peak,
/// diffuse white of 203 cd/m² (BT.2408) becomes 0.78 of the screen's white; light below 88 cd/m² is unchanged. HLG is
/// first rendered for a screen of 1000 cd/m² (BT.2100, system gamma 1.2), independent of `peak`.
package struct ToneMapping: Sendable, Hashable {
    /// The brightest light of the image; brighter light is clipped.
    /// - Units: cd/m².
    package var peak: Double
    /// The light that the white of the screen represents.
    /// - Units: cd/m².
    package var white: Double

    /// Creates a mapping with a peak and a white in cd/m².
    package init(peak: Double = 1000, white: Double = 203) {
        self.peak = peak.isFinite ? min(max(peak, 1), 10_000) : 1000
        self.white = white.isFinite ? min(max(white, 1), 10_000) : 203
    }

    /// The mapping with a peak of 1000 cd/m² and a white of 203 cd/m².
    package static let standard = ToneMapping()

    /// Returns light relative to screen white (1.0), from light in units of 10 000 cd/m².
    func mapped(_ light: Double, peak: Double) -> Double {
        let top = PerceptualQuantizer.value(peak / 10_000)
        let limit = PerceptualQuantizer.value(white / 10_000) / top
        guard limit < 1 else { return min(1, light * 10_000 / white) }
        let value = min(1, PerceptualQuantizer.value(light) / top)
        let knee = 1.5 * limit - 0.5
        guard value > knee else { return light * 10_000 / white }
        let t = (value - knee) / (1 - knee)
        let (t2, t3) = (t * t, t * t * t)
        let bent =
            (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) + (-2 * t3 + 3 * t2) * limit
        return min(1, PerceptualQuantizer.light(bent * top) * 10_000 / white)
    }
}
