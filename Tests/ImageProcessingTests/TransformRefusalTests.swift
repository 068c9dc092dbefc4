import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Transformers refuse` {
    static let bad: [Double] = [.nan, .infinity, -.infinity]
    static let color = RGBAColor(red: 1, green: 2, blue: 3)

    static let transformers: [any ImageTransformer] =
        bad.flatMap { number in
            [
                RoundCorners(radius: number), RoundCorners(radius: 1, borderWidth: number),
                Rotation(radians: number), Rotation(radians: number, fitsSize: false), Blur(radius: number),
                ColorFilter.sepia(number), ColorFilter.adjust(brightness: number),
                ColorFilter.adjust(contrast: number), ColorFilter.adjust(saturation: number),
                ColorFilter.exposure(number), Pipeline(Flipping(), Blur(radius: number)),
            ] as [any ImageTransformer]
        } + [
            RoundCorners(radius: -1), RoundCorners(radius: 1, borderWidth: -1), RoundCorners(radius: 1, borderWidth: 4),
            Rotation(radians: 1e7), Blur(radius: -1), Blur(radius: 1001), ColorFilter.sepia(1.5),
            ColorFilter.adjust(brightness: 2), ColorFilter.adjust(contrast: -1), ColorFilter.exposure(21),
            Resizing(PixelSize(0, 5)), Resizing(PixelSize(5, -1), .contain), Resizing(.zero, .inside),
            Resizing(PixelSize(.max, .max)), Resizing(PixelSize(.max, .max), .cover),
        ]

    @Test(arguments: transformers)
    func `invalid numbers`(transformer: any ImageTransformer) throws {
        let image = try TransformImage.noise(PixelSize(9, 8), .rgba8)
        let error = #expect(throws: CoderError.self) { try transformer.transform(image) }
        #expect(error?.code == .invalidArgument)
        if (transformer as? Resizing)?.size.width != .max {
            #expect(transformer.outputSize(for: image.size) == .zero)
        }
    }

    static let onIntegers: [any ImageTransformer] = [
        RoundCorners(radius: 1), Rotation(radians: 1), Tint(color), Blur(radius: 2), ColorFilter.invert,
    ]

    @Test(arguments: onIntegers)
    func `float samples where they compute`(transformer: any ImageTransformer) throws {
        for bits in [16, 32] {
            let image = try PixelBuffer(
                size: PixelSize(5, 5), format: PixelFormat(.rgba, bits: bits, numeric: .float))
            let error = #expect(throws: CoderError.self) { try transformer.transform(image) }
            #expect(error?.code == .unsupportedFeature)
        }
    }

    @Test(arguments: onIntegers)
    func `no small image`(transformer: any ImageTransformer) throws {
        for size in [PixelSize(1, 1), PixelSize(1, 40), PixelSize(40, 1)] {
            for format in TransformImage.integerFormats {
                let image = try TransformImage.noise(size, format)
                let result = try transformer.transform(image)
                #expect(result.size == transformer.outputSize(for: size))
                #expect(result.format.bits == format.bits)
            }
        }
    }
}
