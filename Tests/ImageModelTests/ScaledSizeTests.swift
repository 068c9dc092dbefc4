import ImageModel
import Testing

@Suite struct `Scaled sizes` {
    struct Fit: Sendable, CustomTestStringConvertible {
        var size: (Int, Int)
        var box: (Int, Int)
        var keepsAspect = true
        var enlarges = false
        var result: (Int, Int)
        var testDescription: String { "\(size) into \(box), aspect \(keepsAspect), up \(enlarges)" }
    }

    /// The numbers of cases C-22, C-23 and C-24, and further cases by the same rules.
    static let fits = [
        Fit(size: (100, 200), box: (150, 150), result: (75, 150)),
        Fit(size: (100, 200), box: (150, 150), enlarges: true, result: (75, 150)),
        Fit(size: (100, 200), box: (300, 300), result: (100, 200)),
        Fit(size: (100, 200), box: (300, 300), enlarges: true, result: (150, 300)),
        Fit(size: (100, 200), box: (150, 150), keepsAspect: false, result: (100, 150)),
        Fit(size: (100, 200), box: (150, 150), keepsAspect: false, enlarges: true, result: (150, 150)),
        Fit(size: (0, 0), box: (150, 150), result: (0, 0)), Fit(size: (999, 999), box: (0, 0), result: (999, 999)),
        Fit(size: (5250, 3450), box: (400, 300), result: (400, 263)),
        Fit(size: (5250, 3450), box: (4000, 4000), result: (4000, 2629)),
        Fit(size: (100_000, 1), box: (10, 10), result: (10, 1)),
    ]

    @Test(arguments: fits) func `fit into a box`(fit: Fit) {
        let result = PixelSize(fit.size.0, fit.size.1).scaled(
            to: PixelSize(fit.box.0, fit.box.1), preservesAspect: fit.keepsAspect, mayEnlarge: fit.enlarges)

        #expect(result == PixelSize(fit.result.0, fit.result.1))
    }

    struct Limit: Sendable, CustomTestStringConvertible {
        var size: (Int, Int)
        var bytes: Int
        var frames: Int
        var result: (Int, Int)
        var testDescription: String { "\(size) in \(bytes) bytes, \(frames) frames" }
    }

    static let limits = [
        Limit(size: (5250, 3450), bytes: 60 << 20, frames: 1, result: (4892, 3214)),
        Limit(size: (2000, 2000), bytes: 4_000_000, frames: 1, result: (1000, 1000)),
        Limit(size: (320, 240), bytes: 1 << 20, frames: 101, result: (58, 44)),
        Limit(size: (600, 600), bytes: 1 << 20, frames: 16, result: (128, 128)),
        Limit(size: (990, 1050), bytes: 4 << 20, frames: 8, result: (351, 372)),
        Limit(size: (80, 60), bytes: 1, frames: 1, result: (1, 1)),
        Limit(size: (50, 50), bytes: 12_500, frames: 5, result: (25, 25)),
        Limit(size: (100, 20_000), bytes: 60 << 20, frames: 1, result: (280, 56_086)),
        Limit(size: (0, 10), bytes: 1000, frames: 1, result: (1, 1)),
        Limit(size: (10, 10), bytes: -5, frames: 0, result: (1, 1)),
    ]

    @Test(arguments: limits) func `fit into a number of bytes`(limit: Limit) {
        let result = PixelSize(limit.size.0, limit.size.1).limited(
            toBytes: limit.bytes, bytesPerPixel: 4, frameCount: limit.frames)

        #expect(result == PixelSize(limit.result.0, limit.result.1))
    }
}
