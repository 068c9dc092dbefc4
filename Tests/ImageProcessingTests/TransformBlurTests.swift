import Glibc
import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Blurs` {
    /// Weights in each direction with repeated edges, in doubles; the weights begin at the center.
    private func weighed(_ values: [Double], _ size: PixelSize, _ channels: Int, _ weights: [Double]) -> [Double] {
        var values = values
        for isAcross in [true, false] {
            var next = values
            let (count, step) = isAcross ? (size.width, channels) : (size.height, channels * size.width)
            for index in values.indices {
                let at = index / step % count
                var sum = weights[0] * values[index]
                for k in 1..<weights.count {
                    let (before, behind) = (max(at - k, 0) - at, min(at + k, count - 1) - at)
                    sum += weights[k] * (values[index + before * step] + values[index + behind * step])
                }
                next[index] = sum
            }
            values = next
        }
        return values
    }

    /// Returns the weights of a Gaussian up to six standard deviations.
    private func gaussian(_ deviation: Double) -> [Double] {
        let values = (0...Int(6 * deviation) + 6).map { exp(-Double($0 * $0) / (2 * deviation * deviation)) }
        let sum = 2 * values.reduce(0, +) - values[0]
        return values.map { $0 / sum }
    }

    /// Returns the standard deviation of a blurred white pixel on black.
    private func deviation(of radius: Double, isAcross: Bool) throws -> Double {
        let (middle, count) = (Int(radius * 4) + 8, 2 * Int(radius * 4) + 17)
        let image = try PixelBuffer(size: isAcross ? PixelSize(count, 1) : PixelSize(1, count), format: .gray16)
        image.withMutableRow(isAcross ? 0 : middle) { row in
            row.storeBytes(of: .max, toByteOffset: isAcross ? 2 * middle : 0, as: UInt16.self)
        }
        let found = TransformImage.samples(try Blur(radius: radius).transform(image))
        var (sum, variance) = (0.0, 0.0)
        for (at, value) in found.enumerated() {
            #expect(value == found[2 * middle - at])
            sum += Double(value)
            variance += Double(value * (at - middle) * (at - middle))
        }
        #expect(abs(sum / 65_535 - 1) < 0.005)
        return (variance / sum).squareRoot()
    }

    static let radii = [0.3, 0.4, 0.5, 0.6, 0.7, 1, 1.5, 2, 3, 3.99, 4, 4.2, 4.5, 5, 5.6, 7, 10, 17.3, 25, 50]

    @Test(arguments: radii)
    func `have the requested standard deviation`(radius: Double) throws {
        for isAcross in [true, false] {
            let found = try deviation(of: radius, isAcross: isAcross)
            #expect(abs(found / radius - 1) < 0.02, "\(found)")
        }
    }

    @Test func `with a tiny radius change nothing`() throws {
        let image = try TransformImage.noise(PixelSize(9, 7), .gray8)
        for radius in [1e-300, 1e-9, 0.01] {
            #expect(try Blur(radius: radius).transform(image).packed == image.packed)
        }
    }

    /// At 0.5 the samples of a Gaussian have a deviation of 0.464; those of one with 0.5251 have 0.5.
    @Test(arguments: [0.5, 0.7, 1, 1.5, 2, 3, 3.9, 4, 5, 7, 10])
    func `are close to a Gaussian`(radius: Double) throws {
        let sampled = radius == 0.5 ? 0.5251 : radius
        let (size, margin) = (PixelSize(84, 84), 30)
        let image = try TransformImage.noise(size, .gray8)
        let expected = weighed(TransformImage.samples(image).map(Double.init), size, 1, gaussian(sampled))
        let found = TransformImage.samples(try Blur(radius: radius).transform(image))
        var squares = 0.0
        for y in margin..<size.height - margin {
            for x in margin..<size.width - margin {
                let error = Double(found[y * size.width + x]) - expected[y * size.width + x]
                squares += error * error
            }
        }
        let mean = squares / Double((size.width - 2 * margin) * (size.height - 2 * margin))
        #expect(10 * log10(255 * 255 / mean) > 50)
    }

    private static let sizes = [PixelSize(1, 1), PixelSize(1, 9), PixelSize(12, 1), PixelSize(9, 7), PixelSize(4, 20)]

    @Test(arguments: [0.7, 1, 2.2, 3.9])
    func `repeat the edges of small images`(radius: Double) throws {
        for size in Self.sizes {
            let image = try TransformImage.noise(size, .work)
            let expected = weighed(TransformImage.samples(image).map(Double.init), size, 4, gaussian(radius))
            let found = TransformImage.samples(try Blur(radius: radius).transform(image))
            for (value, reference) in zip(found, expected) {
                // The tolerance of a thousandth covers the truncation of the Gaussian and its compensation.
                #expect(abs(Double(value) - reference) <= 66, "\(size)")
            }
        }
    }

    /// The whole pixels on each side of the center, and the weight of the next one: r(r + 1) is at most the radius
    /// squared, and the end is (2r + 1)(v − r(r + 1)/3) / 2((r + 1)² − v), where v is a third of the radius squared.
    @Test(arguments: [(5.0, 4, 0.45), (20.squareRoot(), 4, 0), (10, 9, 0.475), (60, 59, 0.495833333)])
    func `average with three boxes from four on`(radius: Double, whole: Int, end: Double) throws {
        let length = Double(2 * whole + 1) + 2 * end
        let weights = (0...whole + 1).map { ($0 <= whole ? 1 : end) / length }
        for size in Self.sizes {
            let image = try TransformImage.noise(size, .work)
            var expected = TransformImage.samples(image).map(Double.init)
            for _ in 0..<3 { expected = weighed(expected, size, 4, weights) }
            let found = TransformImage.samples(try Blur(radius: radius).transform(image))
            for (value, reference) in zip(found, expected) {
                // Half a unit for each of six roundings, halved by the later averages.
                #expect(abs(Double(value) - reference) <= 2, "\(size)")
            }
        }
    }

    @Test(arguments: TransformImage.integerFormats)
    func `keep every format`(format: PixelFormat) throws {
        let size = PixelSize(13, 11)
        let image = PixelBuffer.padded(try TransformImage.noise(size, format), by: 2)
        let (count, most) = (format.channels.count, format.bits == 8 ? 255.0 : 65_535.0)
        var values = TransformImage.samples(image).map(Double.init)
        func eachStraightPixel(_ body: (_ at: Int, _ alpha: Double) -> Void) {
            guard format.alpha == .straight else { return }
            for at in stride(from: 0, to: values.count, by: count) { body(at, values[at + count - 1] / most) }
        }
        eachStraightPixel { at, alpha in for channel in 0..<count - 1 { values[at + channel] *= alpha } }
        let premultiplied = values
        let boxes = (20.squareRoot(), [Double](repeating: 1 / 9, count: 5), 3)
        for (radius, weights, passes) in [(2.0, gaussian(2), 1), boxes] {
            values = premultiplied
            for _ in 0..<passes { values = weighed(values, size, count, weights) }
            eachStraightPixel { at, alpha in for channel in 0..<count - 1 { values[at + channel] /= alpha } }
            let blurred = try Blur(radius: radius).transform(image)
            #expect(blurred.format == format)
            let allowed = (format.bits == 8 ? 0.55 : 6) + (passes == 1 ? most / 1000 : 0)
            for (value, reference) in zip(TransformImage.samples(blurred), values) {
                #expect(abs(Double(value) - reference) <= allowed)
            }
        }
    }

    @Test func `keep a uniform color at any radius`() throws {
        for format in [PixelFormat.rgba8, .work] {
            let bytes: [UInt8] = format == .work ? [1, 2, 254, 255, 255, 254, 255, 255] : [201, 17, 255, 99]
            let image = try PixelBuffer.of(PixelSize(5, 4), format, bytes)
            for radius in Self.radii + [0, 0.1, 100, 333.3, 1000] {
                #expect(try Blur(radius: radius).transform(image).packed == image.packed, "\(radius)")
            }
            #expect(try Blur(radius: 0).transform(image) === image)
        }
    }

    @Test(arguments: [1.5, 3, 6])
    func `never let transparent pixels darken their neighbors`(radius: Double) throws {
        let image = try TransformImage.paint(PixelSize(20, 1)) { x, _ in
            x < 10 ? RGBAColor(red: 200, green: 100, blue: 50) : TransformImage.clear
        }
        let blurred = try Blur(radius: radius).transform(image)
        let edge = try #require(blurred.color(at: (10, 0)))
        #expect((80..<128).contains(edge.alpha))
        #expect((edge.red, edge.green, edge.blue) == (200, 100, 50))
    }
}
