import CoderPluginKit
import Glibc
import ImageModel
import Palettes
import Testing

@testable import GIFCodec

@Suite struct `Error diffusion` {
    /// - Source: Floyd and Steinberg, 1976.
    @Test(arguments: [1, -1]) func `passes 7, 3, 5 and 1 sixteenths on`(step: Int) {
        var diffusion = ErrorDiffusion(width: 5)
        diffusion.pass(SIMD4(16, 160, 0, -16), at: 2, step: step)
        func row() -> [Int32] { (0..<5).map { diffusion.wanted(0, at: $0).x } }
        func other() -> [Int32] { (0..<5).map { diffusion.wanted(0xFF00_0000, at: $0).w } }
        let ahead: [Int32] = [0, 0, 0, 7, 0]
        let below: [Int32] = [0, 3, 5, 1, 0]

        #expect(row() == (step == 1 ? ahead : ahead.reversed()))
        #expect(other() == (step == 1 ? ahead : ahead.reversed()).map { 255 - $0 })
        diffusion.endRow()
        #expect(row() == (step == 1 ? below : below.reversed()))
        #expect(diffusion.wanted(0, at: 2).y == 50)
        diffusion.endRow()
        #expect(row() == [0, 0, 0, 0, 0])
    }
}

/// Images of 96 × 64 with thousands of colors.
enum Recipe: CaseIterable {
    /// A sky above ground, with independent shading.
    case soft
    /// The same with a fifth of the light.
    case dark
    /// All hues, saturated in the center and paler at the edges.
    case saturated

    static let size = PixelSize(96, 64)

    /// - Parameter shift: the number of columns moved to the left.
    func pixels(shift: Int = 0) -> [UInt8] {
        (0..<Self.size.width * Self.size.height).flatMap { place -> [UInt8] in
            let x = Double(place % Self.size.width + shift) / 96
            let y = Double(place / Self.size.width) / 64
            let shade = 0.75 + 0.25 * sin(9 * x + 4 * y) * cos(7 * x - 5 * y)
            func byte(_ value: Double) -> UInt8 { UInt8((255 * max(0, min(1, value))).rounded()) }
            switch self {
            case .soft, .dark:
                let part = self == .soft ? shade : shade * 0.22
                return [
                    byte(part * (0.35 + 0.5 * y)), byte(part * (0.6 - 0.15 * y)), byte(part * (0.95 - 0.75 * y)), 255,
                ]
            case .saturated:
                let full = 1 - abs(2 * y - 1) * 0.6
                func channel(_ turn: Double) -> UInt8 {
                    let ramp = abs((x + turn).truncatingRemainder(dividingBy: 1) * 6 - 3) - 1
                    return byte(shade * (1 - full + full * max(0, min(1, ramp))))
                }
                return [channel(0), channel(2.0 / 3), channel(1.0 / 3), 255]
            }
        }
    }
}

private func packed(_ red: Int, _ green: Int, _ blue: Int) -> UInt32 {
    UInt32(red | green << 8 | blue << 16) | 0xFF00_0000
}

/// 18³ colors, including all corners.
private let lattice: [UInt32] = (0..<5832).map { packed($0 % 18 * 15, $0 / 18 % 18 * 15, $0 / 324 * 15) }

@Suite struct `GIF color distance` {
    private func encoded(_ images: [[UInt8]], _ options: CoderOptions) throws -> [UInt8] {
        try encodeGIF(
            Recipe.size, .rgba8, GivenFrame.sequence(images, Recipe.size, each: .milliseconds(40)), options: options)
    }

    /// The canvas of a viewer, by giflib.
    private func seen(_ file: [UInt8]) throws -> [[UInt8]] {
        composited(try #require(giflibFrames(file)), Recipe.size)
    }

    // MARK: The metric

    /// L* of CIE 015, computed independently of this project; blacks are as coarse as there.
    @Test(arguments: [
        (0, 0), (16, 4.68), (32, 12.25), (64, 27.09), (96, 40.73), (128, 53.59), (160, 65.87), (192, 77.70),
        (224, 89.18),
        (255, 100),
    ])
    func `places grays like CIE`(_ gray: Int, _ lightness: Double) {
        let point = ColorMetric.perceptual.point(packed(gray, gray, gray)).place
        let white = ColorMetric.perceptual.point(packed(255, 255, 255)).place
        #expect(abs(Double(point.x / white.x) * 100 - lightness) < 2)
        let black = ColorMetric.perceptual.point(packed(0, 0, 0)).place
        #expect(abs(point.y - black.y) < 0.1 && abs(point.z - black.z) < 0.1)
    }

    /// The hues of OKLab, as published for the corners of sRGB.
    @Test(arguments: [
        (0x0000FF, 29.23), (0x00FF00, 142.50), (0xFF0000, 264.05), (0x00FFFF, 109.77), (0xFFFF00, 194.77),
        (0xFF00FF, 328.36),
    ])
    func `places primaries at their hues`(_ color: UInt32, _ hue: Double) {
        let (point, gray) = (
            ColorMetric.perceptual.point(color | 0xFF00_0000).place, ColorMetric.perceptual.point(packed(0, 0, 0)).place
        )
        let degrees = atan2(Double(point.z - gray.z), Double(point.y - gray.y)) * 180 / .pi
        #expect(abs((degrees - hue + 540).truncatingRemainder(dividingBy: 360) - 180) < 3)
    }

    @Test(arguments: [GIFSettings.Distance.rgb, .perceptual]) func `converts in both directions`(
        _ distance: GIFSettings.Distance
    ) {
        let metric = distance.metric
        #expect(lattice.filter { metric.color(metric.point($0)) != $0 } == [])
    }

    /// Half a step for rounding, plus a margin for single precision.
    @Test(arguments: [GIFSettings.Distance.rgb, .perceptual]) func `rounds keys without clipping`(
        _ distance: GIFSettings.Distance
    ) {
        let metric = distance.metric
        let far = lattice.filter { color in
            let (point, key) = (metric.point(color).place, metric.key(color))
            return (0..<3).contains { abs(point[$0] - Float(key >> ($0 * 8) & 0xFF)) > 0.51 } || key >> 24 != 255
        }
        #expect(far == [])
    }

    @Test(arguments: [GIFSettings.Distance.rgb, .perceptual]) func `has no position for transparent pixels`(
        _ distance: GIFSettings.Distance
    ) {
        #expect(distance.metric.key(ColorTable.transparent) == ColorTable.transparent)
    }

    // MARK: Choices

    /// Dithering is judged from a distance; without it each pixel is judged separately.
    @Test(arguments: Recipe.allCases, [8, 16])
    func `looks better with few colors`(_ recipe: Recipe, _ colors: Int64) throws {
        let image = recipe.pixels()
        func error(_ distance: String) throws -> Double {
            let file = try encoded(
                [image],
                ["gif.colors": .integer(colors), "gif.dither": .string("none"), "gif.distance": .string(distance)])
            return CIELAB.error(try seen(file)[0], image)
        }
        let (plain, perceptual) = (try error("rgb"), try error("perceptual"))
        #expect(perceptual < plain * 0.97, "\(perceptual) instead of \(plain)")
    }

    @Test(arguments: Recipe.allCases, ["local", "global"])
    func `looks better in motion`(_ recipe: Recipe, _ palette: String) throws {
        let images = (0..<6).map { recipe.pixels(shift: 5 * $0) }
        func error(_ distance: String) throws -> Double {
            let file = try encoded(
                images,
                ["gif.colors": .integer(8), "gif.palette": .string(palette), "gif.distance": .string(distance)])
            let got = try seen(file)
            #expect(got.count == images.count)
            return zip(got, images).reduce(0) { $0 + CIELAB.error($1.0, $1.1) }
        }
        let (plain, perceptual) = (try error("rgb"), try error("perceptual"))
        #expect(perceptual < plain * 0.97, "\(perceptual) instead of \(plain)")
    }

    /// A black pixel is as far from a transparent one as any other.
    @Test(arguments: ["rgb", "perceptual"]) func `draws black on transparent pixels`(_ distance: String) throws {
        var first = Recipe.dark.pixels()
        // All pixels move, so that pixels on the left of the hole change, too.
        var second = Recipe.dark.pixels(shift: 7)
        for y in 10..<50 {
            for place in stride(from: (y * 96 + 20) * 4, to: (y * 96 + 70) * 4, by: 4) {
                first.replaceSubrange(place..<place + 4, with: [0, 0, 0, 0])
                second.replaceSubrange(place..<place + 4, with: [0, 0, UInt8(place / 4 % 3), 255])
            }
        }
        let got = try seen(encoded([first, second], ["gif.distance": .string(distance), "gif.colors": .integer(64)]))
        let holes = got.map { image in stride(from: 3, to: image.count, by: 4).count { image[$0] == 0 } }
        #expect(holes == [40 * 50, 0])
    }

    @Test(arguments: [2, 100, 256], ["rgb", "perceptual"])
    func `changes nothing if the colors suffice`(_ colors: Int, _ distance: String) throws {
        let images = (0..<3).map { shift in
            (0..<96 * 64).flatMap { place -> [UInt8] in
                let color = (place + shift * place / 96) % colors
                return [UInt8(color), UInt8(255 - color), UInt8(color * 7 & 0xFF), 255]
            }
        }
        let options: CoderOptions = ["gif.distance": .string(distance)]
        #expect(try seen(encoded(images, options)) == images)
        #expect(try encoded(images, options) == encoded(images, [:]))
    }

    // MARK: The option

    @Test func `is RGB by default`() throws {
        let image = Recipe.soft.pixels()
        let plain = try encoded([image], [:])
        #expect(try encoded([image], ["gif.distance": .string("rgb")]) == plain)
        #expect(try encoded([image], ["gif.distance": .string("perceptual")]) != plain)
    }

    @Test(arguments: ["", "RGB", "cie"]) func `names its valid values`(_ value: String) {
        let error = #expect(throws: CoderError.self) {
            try GIFEncoder(EncoderSession(options: ["gif.distance": .string(value)]))
        }
        #expect(error?.code == .invalidArgument && error?.hint == "use rgb or perceptual")
    }
}
