import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite(.serialized, .timeLimit(.minutes(40))) struct `Comparison of pictures` {
    /// What numpy computes for two pictures that are made by the same rule: Fixtures/recipes/comparison.py.
    struct Golden: Sendable, CustomTestStringConvertible {
        enum Kind { case near, far }

        var size: PixelSize
        var bits: Int
        var kind: Kind
        var isOpaque: Bool
        var channels: Int
        var differing: Int
        var maximum: Int
        var place: PictureComparison.Place
        var mae, psnr, ssim: Double

        init(
            _ width: Int, _ height: Int, _ bits: Int, _ kind: Kind, isOpaque: Bool, _ channels: Int, differing: Int,
            maximum: Int, _ place: (Int, Int, Int), mae: Double, psnr: Double, ssim: Double
        ) {
            size = PixelSize(width, height)
            self.bits = bits
            self.kind = kind
            self.isOpaque = isOpaque
            self.channels = channels
            self.differing = differing
            self.maximum = maximum
            self.place = PictureComparison.Place(x: place.0, y: place.1, channel: place.2)
            self.mae = mae
            self.psnr = psnr
            self.ssim = ssim
        }

        var testDescription: String { "\(size) \(bits) bit \(kind)\(isOpaque ? " opaque" : "")" }
    }

    static let golden = [
        Golden(
            40, 33, 8, .near, isOpaque: false, 4, differing: 1312, maximum: 7, (9, 5, 2),
            mae: 2.101325758, psnr: 39.781709920, ssim: 0.998093515),
        Golden(
            40, 33, 8, .near, isOpaque: true, 3, differing: 1320, maximum: 5, (1, 0, 2),
            mae: 2.700757576, psnr: 38.186765473, ssim: 0.997798931),
        Golden(
            40, 33, 8, .far, isOpaque: false, 4, differing: 1320, maximum: 245, (16, 2, 3),
            mae: 71.860227273, psnr: 9.136972613, ssim: -0.116574121),
        Golden(
            40, 33, 8, .far, isOpaque: true, 3, differing: 1320, maximum: 241, (31, 9, 2),
            mae: 94.991414141, psnr: 7.304219185, ssim: -0.117135549),
        Golden(
            300, 12, 8, .near, isOpaque: false, 4, differing: 3568, maximum: 8, (174, 4, 0),
            mae: 2.103402778, psnr: 39.788937532, ssim: 0.998676208),
        Golden(
            300, 12, 8, .near, isOpaque: true, 3, differing: 3600, maximum: 5, (1, 0, 2),
            mae: 2.698611111, psnr: 38.193951703, ssim: 0.998865023),
        Golden(
            300, 12, 8, .far, isOpaque: false, 4, differing: 3600, maximum: 246, (248, 5, 3),
            mae: 62.782638889, psnr: 9.842268881, ssim: -0.050363988),
        Golden(
            300, 12, 8, .far, isOpaque: true, 3, differing: 3600, maximum: 254, (59, 0, 2),
            mae: 83.079074074, psnr: 7.877122542, ssim: -0.042661558),
        Golden(
            10, 25, 8, .near, isOpaque: false, 4, differing: 249, maximum: 7, (9, 5, 2),
            mae: 2.114000000, psnr: 39.719712764, ssim: 0.997621192),
        Golden(
            10, 25, 8, .near, isOpaque: true, 3, differing: 250, maximum: 5, (1, 0, 2),
            mae: 2.690666667, psnr: 38.193796660, ssim: 0.996921538),
        Golden(
            10, 25, 8, .far, isOpaque: false, 4, differing: 250, maximum: 237, (4, 8, 3),
            mae: 70.843000000, psnr: 9.065548855, ssim: -0.100016042),
        Golden(
            10, 25, 8, .far, isOpaque: true, 3, differing: 250, maximum: 240, (9, 7, 2),
            mae: 85.032000000, psnr: 7.854688689, ssim: -0.085634840),
        Golden(
            7, 4, 8, .near, isOpaque: false, 4, differing: 28, maximum: 5, (2, 1, 3),
            mae: 1.776785714, psnr: 41.117899887, ssim: 0.992363422),
        Golden(
            7, 4, 8, .near, isOpaque: true, 3, differing: 28, maximum: 5, (1, 0, 2),
            mae: 2.678571429, psnr: 38.283387927, ssim: 0.987416972),
        Golden(
            7, 4, 8, .far, isOpaque: false, 4, differing: 28, maximum: 188, (5, 3, 3),
            mae: 26.803571429, psnr: 15.509217810, ssim: 0.566742002),
        Golden(
            7, 4, 8, .far, isOpaque: true, 3, differing: 28, maximum: 79, (6, 3, 2),
            mae: 21.333333333, psnr: 18.581031598, ssim: 0.834205030),
        Golden(
            1, 1, 8, .near, isOpaque: false, 4, differing: 1, maximum: 4, (0, 0, 3),
            mae: 1.250000000, psnr: 41.846914308, ssim: 0.999458323),
        Golden(
            1, 1, 8, .near, isOpaque: true, 3, differing: 1, maximum: 2, (0, 0, 1),
            mae: 1.000000000, psnr: 45.912316113, ssim: 0.999105595),
        Golden(
            1, 1, 8, .far, isOpaque: false, 4, differing: 1, maximum: 4, (0, 0, 3),
            mae: 1.750000000, psnr: 40.929210575, ssim: 0.997531457),
        Golden(
            1, 1, 8, .far, isOpaque: true, 3, differing: 1, maximum: 3, (0, 0, 2),
            mae: 1.333333333, psnr: 42.902016156, ssim: 0.999386210),
        Golden(
            40, 33, 16, .near, isOpaque: false, 4, differing: 1320, maximum: 674, (9, 5, 2),
            mae: 211.664583333, psnr: 48.036187798, ssim: 0.999716452),
        Golden(
            40, 33, 16, .near, isOpaque: true, 3, differing: 1320, maximum: 500, (1, 0, 2),
            mae: 271.406060606, psnr: 46.354720413, ssim: 0.999664904),
        Golden(
            40, 33, 16, .far, isOpaque: false, 4, differing: 1320, maximum: 62961, (16, 2, 3),
            mae: 18500.387689394, psnr: 9.123865258, ssim: -0.116666239),
        Golden(
            40, 33, 16, .far, isOpaque: true, 3, differing: 1320, maximum: 61933, (31, 9, 2),
            mae: 24411.940656566, psnr: 7.304439326, ssim: -0.117127870),
        Golden(
            300, 12, 16, .near, isOpaque: false, 4, differing: 3600, maximum: 784, (166, 9, 0),
            mae: 211.902986111, psnr: 48.020963606, ssim: 0.999802032),
        Golden(
            300, 12, 16, .near, isOpaque: true, 3, differing: 3600, maximum: 500, (1, 0, 2),
            mae: 271.346851852, psnr: 46.358394091, ssim: 0.999827050),
        Golden(
            300, 12, 16, .far, isOpaque: false, 4, differing: 3600, maximum: 63218, (248, 5, 3),
            mae: 16164.800138889, psnr: 9.829038379, ssim: -0.050479803),
        Golden(
            300, 12, 16, .far, isOpaque: true, 3, differing: 3600, maximum: 65224, (59, 0, 2),
            mae: 21350.715833333, psnr: 7.877460006, ssim: -0.042622024),
        Golden(
            10, 25, 16, .near, isOpaque: false, 4, differing: 250, maximum: 674, (9, 5, 2),
            mae: 212.545000000, psnr: 47.973199930, ssim: 0.999640771),
        Golden(
            10, 25, 16, .near, isOpaque: true, 3, differing: 250, maximum: 500, (1, 0, 2),
            mae: 270.178666667, psnr: 46.370919873, ssim: 0.999532700),
        Golden(
            10, 25, 16, .far, isOpaque: false, 4, differing: 250, maximum: 60905, (4, 8, 3),
            mae: 18244.719000000, psnr: 9.050954899, ssim: -0.100159726),
        Golden(
            10, 25, 16, .far, isOpaque: true, 3, differing: 250, maximum: 61676, (9, 7, 2),
            mae: 21855.377333333, psnr: 7.854399900, ssim: -0.085567294),
        Golden(
            7, 4, 16, .near, isOpaque: false, 4, differing: 28, maximum: 500, (2, 1, 3),
            mae: 177.303571429, psnr: 49.485220603, ssim: 0.998918948),
        Golden(
            7, 4, 16, .near, isOpaque: true, 3, differing: 28, maximum: 500, (1, 0, 2),
            mae: 267.869047619, psnr: 46.482049858, ssim: 0.998077821),
        Golden(
            7, 4, 16, .far, isOpaque: false, 4, differing: 28, maximum: 48312, (5, 3, 3),
            mae: 6899.026785714, psnr: 15.501417304, ssim: 0.567644720),
        Golden(
            7, 4, 16, .far, isOpaque: true, 3, differing: 28, maximum: 20307, (6, 3, 2),
            mae: 5486.666666667, psnr: 18.577832547, ssim: 0.834761567),
        Golden(
            1, 1, 16, .near, isOpaque: false, 4, differing: 1, maximum: 400, (0, 0, 3),
            mae: 137.500000000, psnr: 49.883800136, ssim: 0.999878384),
        Golden(
            1, 1, 16, .near, isOpaque: true, 3, differing: 1, maximum: 200, (0, 0, 1),
            mae: 100.333333333, psnr: 54.110891721, ssim: 0.999869020),
        Golden(
            1, 1, 16, .far, isOpaque: false, 4, differing: 1, maximum: 1032, (0, 0, 3),
            mae: 440.000000000, psnr: 40.969667679, ssim: 0.997868788),
        Golden(
            1, 1, 16, .far, isOpaque: true, 3, differing: 1, maximum: 775, (0, 0, 2),
            mae: 346.666666667, psnr: 42.847962743, ssim: 0.999363735),
    ]

    /// The rule of the recipe.
    private func picture(_ size: PixelSize, bits: Int, seed: Int, isOpaque: Bool) -> [Int] {
        let top = bits == 8 ? 255 : 65_535
        var samples: [Int] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                for c in 0..<4 {
                    let curve = (x * y) % 31 * seed + (x + seed) * (y + c) / 3
                    let byte = (x * 7 + y * 13 + c * 29 + curve) % 256
                    let value = bits == 8 ? byte : byte * 257 + (x * 11 + y * 5 + seed) % 200
                    samples.append(isOpaque && c == 3 ? top : min(value, top))
                }
            }
        }
        return samples
    }

    private func near(_ picture: [Int], _ size: PixelSize, bits: Int, isOpaque: Bool) -> [Int] {
        let top = bits == 8 ? 255 : 65_535
        return picture.indices.map { index in
            let (x, y, c) = (index / 4 % size.width, index / 4 / size.width, index % 4)
            let step = ((x * 5 + y * 3 + c * 3) % 11 - 5) * (bits == 8 ? 1 : 100)
            return isOpaque && c == 3 ? top : min(max(picture[index] + step, 0), top)
        }
    }

    private func buffer(_ size: PixelSize, _ format: PixelFormat, _ samples: [Int]) throws -> PixelBuffer {
        try .of(size, format, bytes(samples, format.bits))
    }

    private func pair(_ golden: Golden) throws -> (PixelBuffer, PixelBuffer) {
        let a = picture(golden.size, bits: golden.bits, seed: 1, isOpaque: golden.isOpaque)
        let b =
            golden.kind == .far
            ? picture(golden.size, bits: golden.bits, seed: 5, isOpaque: golden.isOpaque)
            : near(a, golden.size, bits: golden.bits, isOpaque: golden.isOpaque)
        let format = PixelFormat(.rgba, bits: golden.bits)
        return (try buffer(golden.size, format, a), try buffer(golden.size, format, b))
    }

    @Test(arguments: golden)
    func `measures what numpy measures`(golden: Golden) throws {
        let (a, b) = try pair(golden)
        let result = try PictureComparison(a, b)

        #expect(result.channelCount == golden.channels && result.bits == golden.bits)
        #expect(result.differingPixels == golden.differing)
        #expect(result.maximum == golden.maximum && result.place == golden.place)
        #expect(abs(result.meanAbsoluteError - golden.mae) < 1e-8)
        #expect(abs(result.psnr - golden.psnr) < 1e-8)
        // Windows are summed in single precision.
        #expect(abs(try #require(result.ssim) - golden.ssim) < 1e-5, "\(result.ssim ?? 0)")
        #expect(try PictureComparison(a, b, measuresSSIM: false).ssim == nil)
    }

    @Test(arguments: golden.filter { $0.kind == .far })
    func `does not depend on the order, nor on the processor`(golden: Golden) throws {
        let (a, b) = try pair(golden)
        let fast = try PictureComparison(a, b)
        ComparisonKernels.usePortable(true)
        let portable = try PictureComparison(b, a)
        let picture = try PictureComparison.picture(a, b, gain: 3)
        ComparisonKernels.usePortable(false)

        #expect(fast == portable)
        #expect(picture.packed == (try PictureComparison.picture(b, a, gain: 3)).packed)
    }

    @Test(arguments: [8, 16])
    func `finds nothing between a picture and itself`(bits: Int) throws {
        let size = PixelSize(23, 19)
        let samples = picture(size, bits: bits, seed: 1, isOpaque: false)
        let format = PixelFormat(.rgba, bits: bits)
        let result = try PictureComparison(try buffer(size, format, samples), try buffer(size, format, samples))

        #expect(result.isSame && result.psnr == .infinity && result.ssim == 1)
        #expect(result.maximum == 0 && result.place == nil && result.meanAbsoluteError == 0)
    }

    @Test func `takes no notice of colours that cannot be seen`() throws {
        let size = PixelSize(2, 1)
        let a = try PixelBuffer.of(size, .rgba8, [10, 20, 30, 0, 1, 2, 3, 255])
        let b = try PixelBuffer.of(size, .rgba8, [200, 100, 0, 0, 1, 2, 3, 255])

        #expect(try PictureComparison(a, b).isSame)
    }

    @Test func `weighs colours by their alpha, and counts alpha`() throws {
        // 200 × 128 / 255 = 100.4, 100 × 128 / 255 = 50.2
        let one = PixelSize(1, 1)
        let colors = try PictureComparison(
            try .of(one, .rgba8, [200, 0, 0, 128]), try .of(one, .rgba8, [100, 0, 0, 128]))
        let alphas = try PictureComparison(try .of(one, .rgba8, [0, 0, 0, 255]), try .of(one, .rgba8, [0, 0, 0, 251]))

        #expect(colors.maximum == 50 && colors.place?.channel == 0 && colors.channelCount == 4)
        #expect(colors.meanSquaredError == 625)
        #expect(alphas.maximum == 4 && alphas.place?.channel == 3)
    }

    @Test func `brings every format to one`() throws {
        let one = PixelSize(1, 1)
        let pairs: [(PixelFormat, [UInt8], PixelFormat, [UInt8])] = [
            (.gray8, [7], .rgb8, [7, 7, 7]), (.rgb8, [1, 2, 3], .rgba8, [1, 2, 3, 255]),
            (.rgb8, [1, 2, 3], .bgra8, [3, 2, 1, 255]), (.grayAlpha8, [9, 4], .rgba8, [9, 9, 9, 4]),
            (PixelFormat(.rgba, alpha: .premultiplied), [100, 0, 0, 128], .rgba8, [200, 0, 0, 128]),
            (.gray8, [7], .gray16, [7, 7]), (.rgba8, [1, 2, 3, 4], .rgba16, [1, 1, 2, 2, 3, 3, 4, 4]),
        ]
        for (a, first, b, second) in pairs {
            let result = try PictureComparison(try .of(one, a, first), try .of(one, b, second))
            #expect(result.isSame, "\(a) and \(b)")
            #expect(result.bits == max(a.bits, b.bits))
        }
    }

    @Test func `shows the difference as a picture`() throws {
        let size = PixelSize(3, 1)
        let a = try PixelBuffer.of(size, .rgba8, [10, 20, 30, 255, 0, 0, 0, 255, 5, 5, 5, 255])
        let b = try PixelBuffer.of(size, .rgba8, [12, 20, 90, 255, 0, 0, 0, 245, 5, 5, 5, 255])

        let picture = try PictureComparison.picture(a, b, gain: 5)

        #expect(picture.format == .rgb8 && picture.size == size)
        #expect(picture.packed == [10, 0, 255, 50, 50, 50, 0, 0, 0])
    }

    @Test func `refuses pictures of two sizes, and samples that are no integers`() throws {
        let a = try PixelBuffer(size: PixelSize(2, 3), format: .rgb8)
        let turned = try PixelBuffer(size: PixelSize(3, 2), format: .rgb8)
        let float = try PixelBuffer(size: PixelSize(2, 3), format: PixelFormat(.rgb, bits: 32, numeric: .float))

        #expect { try PictureComparison(a, turned) } throws: { ($0 as? CoderError)?.code == .invalidArgument }
        #expect { try PictureComparison(a, float) } throws: { ($0 as? CoderError)?.code == .unsupportedFeature }
        #expect { try PictureComparison.picture(a, turned) } throws: { ($0 as? CoderError)?.code == .invalidArgument }
    }

    /// Rows of every width, from the portable loops, those of this processor, and plain Swift.
    @Test(arguments: Array(1...67))
    func `has kernels that agree at every width`(width: Int) {
        var random = SeededRandom(UInt64(width))
        for bits in [8, 16] {
            let top = bits == 8 ? 255 : 65_535
            func row() -> [Int] { (0..<width * 4).map { _ in Int.random(in: 0...top, using: &random) } }
            let (a, b) = (row(), row())
            let fast = rows(a, b, bits)
            ComparisonKernels.usePortable(true)
            let portable = rows(a, b, bits)
            ComparisonKernels.usePortable(false)

            #expect(fast.difference == portable.difference && fast.premultiplied == portable.premultiplied)
            let distances = zip(a, b).map { abs($0 - $1) }
            let squares = (0..<4).map { c in
                stride(from: c, to: width * 4, by: 4).reduce(0) { $0 + UInt64(distances[$1] * distances[$1]) }
            }
            #expect(fast.difference.squared == squares && fast.difference.maximum == distances.max())
            let premultiplied = a.indices.map { index in
                let alpha = a[index / 4 * 4 + 3]
                return index % 4 == 3 ? alpha : (a[index] * alpha + top / 2) / top
            }
            #expect(fast.premultiplied == bytes(premultiplied, bits))
        }
    }

    private func bytes(_ samples: [Int], _ bits: Int) -> [UInt8] {
        samples.flatMap { bits == 8 ? [UInt8($0)] : [UInt8($0 & 255), UInt8($0 >> 8)] }
    }

    private func rows(
        _ a: [Int], _ b: [Int], _ bits: Int
    ) -> (difference: ComparisonKernels.RowDifference, premultiplied: [UInt8]) {
        var premultiplied = bytes(a, bits)
        ComparisonKernels.premultiply(&premultiplied, bits: bits)
        return (ComparisonKernels.difference(bytes(a, bits), bytes(b, bits), bits: bits), premultiplied)
    }
}
