import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Blend modes` {
    /// Blends one channel of premultiplied colors in doubles, by the published formulas.
    private func reference(_ mode: BlendMode, _ S: Double, _ D: Double, _ s: Double, _ d: Double) -> Double {
        let (cs, cb) = (s > 0 ? S / s : 0, d > 0 ? D / d : 0)
        func separable(_ B: Double) -> Double { (1 - d) * S + (1 - s) * D + s * d * B }
        func hardLight(_ a: Double, _ b: Double) -> Double {
            a <= 0.5 ? b * 2 * a : b + (2 * a - 1) - b * (2 * a - 1)
        }
        switch mode {
        case .normal: return S + D * (1 - s)
        case .clear: return 0
        case .copy: return S
        case .sourceIn: return S * d
        case .sourceOut: return S * (1 - d)
        case .sourceAtop: return S * d + D * (1 - s)
        case .destinationOver: return D + S * (1 - d)
        case .destinationIn: return D * s
        case .destinationOut: return D * (1 - s)
        case .destinationAtop: return D * s + S * (1 - d)
        case .xor: return S * (1 - d) + D * (1 - s)
        case .plusLighter: return min(1, S + D)
        case .plusDarker: return max(0, min(1, s + d) - ((d - D) + (s - S)))
        case .multiply: return separable(cs * cb)
        case .screen: return separable(cb + cs - cb * cs)
        case .overlay: return separable(hardLight(cb, cs))
        case .darken: return separable(min(cs, cb))
        case .lighten: return separable(max(cs, cb))
        case .colorDodge: return separable(cb == 0 ? 0 : cs >= 1 ? 1 : min(1, cb / (1 - cs)))
        case .colorBurn: return separable(cb >= 1 ? 1 : cs == 0 ? 0 : 1 - min(1, (1 - cb) / cs))
        case .softLight:
            let root = cb <= 0.25 ? ((16 * cb - 12) * cb + 4) * cb : cb.squareRoot()
            return separable(cs <= 0.5 ? cb - (1 - 2 * cs) * cb * (1 - cb) : cb + (2 * cs - 1) * (root - cb))
        case .hardLight: return separable(hardLight(cs, cb))
        case .difference: return separable(abs(cs - cb))
        case .exclusion: return separable(cb + cs - 2 * cb * cs)
        }
    }

    private func referenceAlpha(_ mode: BlendMode, _ s: Double, _ d: Double) -> Double {
        switch mode {
        case .clear, .copy, .sourceIn, .sourceOut, .sourceAtop, .destinationIn, .destinationOut, .destinationAtop,
            .xor:
            reference(mode, s, d, s, d)
        case .plusLighter, .plusDarker: min(1, s + d)
        default: s + d - s * d
        }
    }

    /// Returns premultiplied pixels with various alphas, including 0 and full.
    private func pixels(_ count: Int, seed: UInt64) -> [UInt16] {
        var random = SeededRandom(seed)
        return (0..<count).flatMap { _ -> [UInt16] in
            let alpha = [0, 65_535, UInt16.random(in: 0...65_535, using: &random)].randomElement(using: &random)!
            let colors = (0..<3).map { _ in
                [0, alpha, alpha / 2, UInt16.random(in: 0...alpha, using: &random)].randomElement(using: &random)!
            }
            return colors + [alpha]
        }
    }

    @Test(arguments: BlendMode.allCases)
    func `follow their formulas`(mode: BlendMode) {
        for count in Array(1...9) + [67, 300] {
            let (source, backdrop) = (pixels(count, seed: 3), pixels(count, seed: 4))
            var result = backdrop
            WorkRow.blend(&result, source, mode)
            for at in stride(from: 0, to: count * 4, by: 4) {
                let (s, d) = (Double(source[at + 3]) / 65_535, Double(backdrop[at + 3]) / 65_535)
                let alpha = referenceAlpha(mode, s, d) * 65_535
                #expect(abs(Double(result[at + 3]) - alpha) <= 0.51)
                for channel in 0..<3 {
                    let (S, D) = (Double(source[at + channel]) / 65_535, Double(backdrop[at + channel]) / 65_535)
                    let expected = reference(mode, S, D, s, d) * 65_535
                    // 32-bit floats, and a quotient near a step of the formula.
                    #expect(abs(Double(result[at + channel]) - expected) <= 1, "\(mode) \(S) \(s) on \(D) \(d)")
                    #expect(result[at + channel] <= result[at + 3])
                }
            }
        }
    }

    @Test(arguments: BlendMode.allCases)
    func `report whether they keep an image opaque`(mode: BlendMode) {
        for alpha in [65_535, 30_000] as [UInt16] {
            var backdrop: [UInt16] = [100, 200, 300, 65_535]
            WorkRow.blend(&backdrop, [alpha / 3, 0, alpha, alpha], mode)
            if mode.keepsOpaque(sourceIsOpaque: alpha == 65_535) {
                #expect(backdrop[3] == 65_535)
            } else {
                #expect(backdrop[3] < 65_535)
            }
        }
    }

    @Test func `match values computed by hand`() throws {
        // Half transparent red on opaque blue: (255·½, 0, 255·½).
        let blue = try PixelBuffer.of(PixelSize(1, 1), .rgba8, [0, 0, 255, 255])
        let red = RGBAColor(red: 255, green: 0, blue: 0, alpha: 128)
        #expect(try Tint(red, blendMode: .normal).transform(blue).packed == [128, 0, 127, 255])
        #expect(try Tint(red, blendMode: .sourceIn).transform(blue).packed == [255, 0, 0, 128])
        #expect(try Tint(red, blendMode: .multiply).transform(blue).packed == [0, 0, 127, 255])
        #expect(try Tint(red, blendMode: .screen).transform(blue).packed == [128, 0, 255, 255])
    }

    @Test(arguments: [
        (PixelFormat.rgb8, RGBAColor(red: 1, green: 2, blue: 3), BlendMode.sourceIn, PixelFormat.rgb8),
        (.rgb8, RGBAColor(red: 1, green: 2, blue: 3, alpha: 4), .sourceIn, .rgba8),
        (.rgb16, RGBAColor(red: 1, green: 2, blue: 3), .clear, .rgba16),
        (.gray8, RGBAColor(red: 5, green: 5, blue: 5), .multiply, .gray8),
        (.gray16, RGBAColor(red: 5, green: 5, blue: 6), .multiply, .rgb16),
        (.grayAlpha8, RGBAColor(red: 5, green: 5, blue: 6), .sourceIn, .rgba8),
        (.gray8, RGBAColor(red: 5, green: 5, blue: 5, alpha: 9), .sourceIn, .grayAlpha8),
        (.cmyk8, RGBAColor(red: 5, green: 5, blue: 5), .normal, .rgb8),
        (PixelFormat(.bgra, alpha: .opaque), RGBAColor(red: 5, green: 5, blue: 5), .xor, .bgra8),
        (
            PixelFormat(.rgba, alpha: .premultiplied), RGBAColor(red: 5, green: 5, blue: 5), .xor,
            PixelFormat(.rgba, alpha: .premultiplied)
        ),
    ])
    func `widen the format only if needed`(
        from: PixelFormat, color: RGBAColor, mode: BlendMode, to: PixelFormat
    ) throws {
        let image = try TransformImage.noise(PixelSize(5, 3), from)
        #expect(try Tint(color, blendMode: mode).transform(image).format == to)
    }
}
