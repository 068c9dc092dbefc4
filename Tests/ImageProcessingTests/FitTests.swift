import HostSystem
import ImageModel
@testable import ImageProcessing
import TestSupport
import Testing

@Suite struct `Fit of an image and a box` {
    @Test(arguments: [
        // 12 megapixels into a square and into both kinds of rectangles.
        (Fit.inside, PixelSize(4000, 3000), PixelSize(256, 256), PixelSize(256, 192), PixelSize(256, 192)),
        (.outside, PixelSize(4000, 3000), PixelSize(256, 256), PixelSize(342, 256), PixelSize(342, 256)),
        (.cover, PixelSize(4000, 3000), PixelSize(256, 256), PixelSize(342, 256), PixelSize(256, 256)),
        (.contain, PixelSize(4000, 3000), PixelSize(256, 256), PixelSize(256, 192), PixelSize(256, 256)),
        (.fill, PixelSize(4000, 3000), PixelSize(256, 256), PixelSize(256, 256), PixelSize(256, 256)),
        (.cover, PixelSize(3000, 4000), PixelSize(100, 50), PixelSize(100, 134), PixelSize(100, 50)),
        // Exactly the shape of the box.
        (.cover, PixelSize(400, 300), PixelSize(40, 30), PixelSize(40, 30), PixelSize(40, 30)),
        // One side of the box is open.
        (.inside, PixelSize(400, 300), PixelSize(40, 0), PixelSize(40, 30), PixelSize(40, 30)),
        (.inside, PixelSize(400, 300), PixelSize(0, 30), PixelSize(40, 30), PixelSize(40, 30)),
        (.cover, PixelSize(400, 300), PixelSize(0, 30), PixelSize(40, 30), PixelSize(40, 30)),
        (.outside, PixelSize(2442, 1709), PixelSize(0, 300), PixelSize(429, 300), PixelSize(429, 300)),
        // Small images stay unchanged, and cannot cover the box.
        (.inside, PixelSize(10, 10), PixelSize(40, 30), PixelSize(10, 10), PixelSize(10, 10)),
        (.cover, PixelSize(10, 50), PixelSize(40, 30), PixelSize(10, 50), PixelSize(10, 30)),
        (.contain, PixelSize(10, 10), PixelSize(40, 30), PixelSize(10, 10), PixelSize(40, 30)),
        (.fill, PixelSize(10, 100), PixelSize(40, 30), PixelSize(10, 30), PixelSize(10, 30)),
        // Images of one row or column.
        (.inside, PixelSize(10_000, 1), PixelSize(100, 100), PixelSize(100, 1), PixelSize(100, 1)),
        (.cover, PixelSize(1, 10_000), PixelSize(100, 100), PixelSize(1, 10_000), PixelSize(1, 100)),
        (.inside, PixelSize(10, 10), PixelSize(0, 0), PixelSize(10, 10), PixelSize(10, 10)),
    ])
    func `computes the sizes`(fit: Fit, size: PixelSize, box: PixelSize, scaled: PixelSize, result: PixelSize) {
        #expect(fit.layout(size, in: box) == Fit.Layout(scaled: scaled, result: result))
    }

    @Test(arguments: Fit.allCases)
    func `enlarges if permitted`(fit: Fit) {
        let layout = fit.layout(PixelSize(10, 20), in: PixelSize(100, 100), mayEnlarge: true)

        switch fit {
        case .inside: #expect(layout == Fit.Layout(scaled: PixelSize(50, 100), result: PixelSize(50, 100)))
        case .outside: #expect(layout == Fit.Layout(scaled: PixelSize(100, 200), result: PixelSize(100, 200)))
        case .cover: #expect(layout == Fit.Layout(scaled: PixelSize(100, 200), result: PixelSize(100, 100)))
        case .contain: #expect(layout == Fit.Layout(scaled: PixelSize(50, 100), result: PixelSize(100, 100)))
        case .fill: #expect(layout == Fit.Layout(scaled: PixelSize(100, 100), result: PixelSize(100, 100)))
        }
    }

    @Test func `covers any box with any image completely`() {
        var random = SeededRandom(7)
        for _ in 0..<3000 {
            let size = PixelSize(Int.random(in: 1...5000, using: &random), Int.random(in: 1...5000, using: &random))
            let box = PixelSize(Int.random(in: 1...900, using: &random), Int.random(in: 1...900, using: &random))
            let layout = Fit.cover.layout(size, in: box, mayEnlarge: true)
            #expect(layout.result == box)
            #expect(layout.scaled.width >= box.width && layout.scaled.height >= box.height)
            #expect(layout.scaled.width == box.width || layout.scaled.height == box.height)
        }
    }
}

@Suite struct `Position of a crop` {
    /// Returns a gray image with a patch of two colors that alternate from pixel to pixel.
    private func image(_ size: PixelSize, patch: PixelRect) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: .rgb8)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for x in 0..<size.width {
                    let isInside = patch.rows.contains(y) && x >= patch.x && x < patch.x + patch.width
                    let color: [UInt8] = isInside ? ((x + y) % 2 == 0 ? [230, 30, 20] : [10, 180, 40]) : [90, 90, 90]
                    for channel in 0..<3 { row.setByte(3 * x + channel, color[channel]) }
                }
            }
        }
        return buffer
    }

    @Test(arguments: [CropPosition.attention, .entropy], [0, 20, 40])
    func `follows the detail in the image`(position: CropPosition, x: Int) throws {
        let wide = try image(PixelSize(60, 20), patch: PixelRect(x: x, y: 0, width: 20, height: 20))
        #expect(try position.window(in: wide, size: PixelSize(20, 20)) == PixelRect(x: x, y: 0, width: 20, height: 20))
        let tall = try image(PixelSize(20, 60), patch: PixelRect(x: 0, y: x, width: 20, height: 20))
        #expect(try position.window(in: tall, size: PixelSize(20, 20)) == PixelRect(x: 0, y: x, width: 20, height: 20))
    }

    @Test(arguments: [CropPosition.center, .attention, .entropy])
    func `is the middle of a uniform image`(position: CropPosition) throws {
        let flat = try PixelBuffer.of(PixelSize(31, 10), .gray8, [77])

        #expect(try position.window(in: flat, size: PixelSize(10, 10)) == PixelRect(x: 10, y: 0, width: 10, height: 10))
    }

    @Test(arguments: [
        (CropPosition.northwest, 0, 0), (.north, 10, 0), (.northeast, 21, 0), (.west, 0, 5), (.east, 21, 5),
        (.southwest, 0, 10), (.south, 10, 10), (.southeast, 21, 10),
    ])
    func `is an edge or a corner`(position: CropPosition, x: Int, y: Int) throws {
        let image = try image(PixelSize(31, 15), patch: PixelRect(x: 5, y: 5, width: 5, height: 5))

        #expect(try position.window(in: image, size: PixelSize(10, 5)) == PixelRect(x: x, y: y, width: 10, height: 5))
    }

    @Test func `of every gravity exists`() {
        for gravity in Gravity.allCases { #expect(CropPosition(gravity).gravity == gravity) }
    }

    @Test func `is never larger than the image`() throws {
        let flat = try PixelBuffer.of(PixelSize(5, 5), .rgba8, [1, 2, 3, 4])

        #expect(
            try CropPosition.center.window(in: flat, size: PixelSize(10, 2))
                == PixelRect(x: 0, y: 1, width: 5, height: 2))
    }
}
