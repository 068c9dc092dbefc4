/// A color space of lightness and two opposed colors, in which equal distances look about equally large.
///
/// Lightness begins at 0; red less green and yellow less blue are centered on ``gray``. Two parts differ from the
/// source, by measurement with CIEDE2000 and CIELAB on photos and on dark and saturated images. Color counts four times
/// in squared errors. The roots do not start at 0, where they would separate indistinguishable shades of black.
///
/// - Source: roots and matrices of Ottosson, "A perceptual color space for image processing", 2020.
@usableFromInline
struct PerceivedColors: Sendable {
    /// The position of black, so that every color fits 0 … 255: blue is farther from gray than yellow.
    @inlinable static var gray: SIMD4<Float> { SIMD4(0, 128, 148, 0) }
    /// The lightness of white, and the scale of the two colors, as large as 8 bits allow.
    private static let scale: (lightness: Float, color: Float) = (180, 365)
    /// Added to the light of each cone; makes black about as coarse as CIE L*.
    private static let darkness: Double = 0.004
    @inlinable static var steps: Int { 4096 }

    /// The light of each cone for a value of red, then of green, then of blue.
    @usableFromInline let light: [SIMD4<Float>]
    /// The linear light of sRGB values.
    private let linear: [Float]
    /// The roots of the cones' light, in steps.
    @usableFromInline let roots: [Float]
    @usableFromInline let red, green, blue: SIMD4<Float>

    init() {
        // Linear light of sRGB values (IEC 61966-2-1).
        let linear = (0..<256).map { value -> Double in
            let signal = Double(value) / 255
            if signal <= 0.04045 { return signal / 12.92 }
            let base = (signal + 0.055) / 1.055
            return base * base * Self.root(base * base, 5)
        }
        self.linear = linear.map { Float($0) }
        let cones: [SIMD4<Double>] = [
            SIMD4(0.4122214708, 0.2119034982, 0.0883024619, 0), SIMD4(0.5363325363, 0.6806995451, 0.2817188376, 0),
            SIMD4(0.0514459929, 0.1073969566, 0.6299787005, 0),
        ]
        light = cones.flatMap { cone in linear.map { SIMD4<Float>(cone * $0) } }
        let black = Self.root(Self.darkness, 3)
        let white = Self.root(1 + Self.darkness, 3)
        roots = (0...Self.steps + 1).map { step in
            Float((Self.root(Double(step) / Double(Self.steps) + Self.darkness, 3) - black) / (white - black))
        }
        let scale = SIMD4(Self.scale.lightness, Self.scale.color, Self.scale.color, 0)
        red = SIMD4(0.2104542553, 1.9779984951, 0.0259040371, 0) * scale
        green = SIMD4(0.7936177850, -2.4285922050, 0.7827717662, 0) * scale
        blue = SIMD4(-0.0040720468, 0.4505937099, -0.8086757660, 0) * scale
    }

    /// Returns the position of a color between whole values; its alpha stays.
    func place(ofColor color: SIMD4<Float>) -> SIMD4<Float> {
        var cones = SIMD4<Float>.zero
        for channel in 0..<3 {
            let low = min(Int(color[channel]), 254)
            let (below, above) = (light[channel << 8 | low], light[channel << 8 | low + 1])
            cones += below + (above - below) * (color[channel] - Float(low))
        }
        var place = self.place(cones)
        place.w = color.w
        return place
    }

    /// Returns the position of a color, rounded to 8 bits.
    @inlinable @inline(__always)
    func key(_ color: UInt32) -> UInt32 {
        let cones =
            light[Int(color & 0xFF)] + light[Int(256 | color >> 8 & 0xFF)] + light[Int(512 | color >> 16 & 0xFF)]
        // Vector conversions are slow.
        let place = self.place(cones).clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255)) + 0.5
        return UInt32(place.x) | UInt32(place.y) << 8 | UInt32(place.z) << 16 | 0xFF00_0000
    }

    /// Returns the color at a position, between whole values, clipped to the visible range.
    func color(_ point: SIMD4<Float>) -> SIMD4<Float> {
        let lightness = point.x / Self.scale.lightness
        let a = (point.y - Self.gray.y) / Self.scale.color
        let b = (point.z - Self.gray.z) / Self.scale.color
        let long = glow(lightness + 0.3963377774 * a + 0.2158037573 * b)
        let medium = glow(lightness - 0.1055613458 * a - 0.0638541728 * b)
        let short = glow(lightness - 0.0894841775 * a - 1.2914855480 * b)
        return SIMD4(
            value(4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short),
            value(-1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short),
            value(-0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short), point.w)
    }

    // MARK: Parts

    @inlinable @inline(__always)
    func place(_ cones: SIMD4<Float>) -> SIMD4<Float> {
        let (long, medium, short) = (root(cones.x), root(cones.y), root(cones.z))
        return red * long + green * medium + blue * short + Self.gray
    }

    @inlinable @inline(__always)
    func root(_ cone: Float) -> Float {
        let place = cone * Float(Self.steps)
        let step = Int(place)
        return roots[step] + (roots[step + 1] - roots[step]) * (place - Float(step))
    }

    /// Returns the light of a cone with this root.
    private func glow(_ root: Float) -> Float {
        let black = Float(Self.root(Self.darkness, 3))
        let white = Float(Self.root(1 + Self.darkness, 3))
        let value = max(0, root) * (white - black) + black
        return value * value * value - Float(Self.darkness)
    }

    /// Returns the sRGB value of linear light.
    private func value(_ light: Float) -> Float {
        if light <= 0 { return 0 }
        if light >= 1 { return 255 }
        let linear = self.linear
        var (low, high) = (0, 255)
        while high - low > 1 {
            let middle = (low + high) / 2
            if linear[middle] <= light { low = middle } else { high = middle }
        }
        return Float(low) + (light - linear[low]) / (linear[high] - linear[low])
    }

    /// Returns a root of a number from 0 to 2, by Newton's method.
    private static func root(_ number: Double, _ degree: Int) -> Double {
        if number <= 0 { return 0 }
        // From above, no step goes below the root; the loop ends when a step no longer decreases the value.
        var root = max(1, number)
        while true {
            let power = (1..<degree - 1).reduce(root) { result, _ in result * root }
            let next = root - (root - number / power) / Double(degree)
            if next >= root { return root }
            root = next
        }
    }
}
