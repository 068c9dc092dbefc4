import ImageModel
import Testing

@Suite struct `A rectangle` {
    private let canvas = PixelRect(PixelSize(100, 80))

    @Test(arguments: [
        (PixelRect(x: 0, y: 0, width: 100, height: 80), true), (PixelRect(x: 99, y: 79, width: 1, height: 1), true),
        (PixelRect(x: 1, y: 0, width: 100, height: 80), false), (PixelRect(x: -1, y: 0, width: 5, height: 5), false),
        (PixelRect(x: 0, y: 79, width: 1, height: 2), false), (PixelRect(x: .max, y: 0, width: .max, height: 1), false),
        (PixelRect(x: 1, y: 1, width: .max, height: .max), false),
        (PixelRect(x: .min, y: 0, width: 1, height: 1), false),
    ])
    func `contains rectangles inside it, at any coordinates`(other: PixelRect, isInside: Bool) {
        #expect(canvas.contains(other) == isInside)
    }

    @Test(arguments: [
        (PixelRect(x: 90, y: -5, width: 20, height: 10), PixelRect(x: 90, y: 0, width: 10, height: 5)),
        (PixelRect(x: 10, y: 10, width: .max, height: .max), PixelRect(x: 10, y: 10, width: 90, height: 70)),
    ])
    func `intersects with an overlapping rectangle`(other: PixelRect, part: PixelRect) {
        #expect(canvas.intersection(other) == part && other.intersection(canvas) == part)
    }

    @Test(arguments: [
        PixelRect(x: 100, y: 0, width: 1, height: 1), PixelRect(x: .max, y: .max, width: .max, height: .max),
        PixelRect(x: .min, y: .min, width: 1, height: 1),
    ])
    func `has an empty intersection with a rectangle outside`(other: PixelRect) {
        #expect(canvas.intersection(other).isEmpty && other.intersection(canvas).isEmpty)
    }
}
