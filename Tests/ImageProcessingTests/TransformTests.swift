import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

/// The cases T-01 … T-09 and T-20 of the design, with their numbers.
@Suite struct `A transformed image` {
    let badge: PixelBuffer
    let black = TransformImage.black
    let clear = TransformImage.clear
    let white = TransformImage.white

    init() throws { badge = try TransformImage.badge() }

    // T-01
    @Test func `has the requested size`() throws {
        let small = try Resizing(PixelSize(200, 100), .fill).transform(badge)
        #expect(small.size == PixelSize(200, 100))
        let large = try Resizing(PixelSize(2000, 1000), .contain).transform(badge)
        #expect(large.size == PixelSize(2000, 1000))
        #expect(large.color(at: (1000, 50)) == black)
        #expect(large.color(at: (499, 500)) == clear)
        #expect(large.color(at: (1000, 950)) == clear)
    }

    // T-02
    @Test func `is cropped to a rectangle`() throws {
        let part = try Cropping(PixelRect(x: 50, y: 10, width: 200, height: 200)).transform(badge)
        #expect(part.size == PixelSize(200, 200))
        #expect(part.color(at: (0, 0)) == clear)
        #expect(part.color(at: (100, 10)) == black)
    }

    // T-03
    @Test func `has round corners and a border`() throws {
        let round = try RoundCorners(radius: 50, borderWidth: 1, borderColor: black).transform(badge)
        #expect(round.size == PixelSize(300, 300))
        #expect(round.color(at: (0, 0)) == clear)
        #expect(round.color(at: (1, 150)) == black)
        #expect(round.color(at: (298, 150)) == black)
        #expect(round.color(at: (150, 298)) == black)
        #expect(round.color(at: (150, 20)) == black)
        #expect(round.color(at: (0, 150)) == clear)
        #expect(round.color(at: (2, 150)) == clear)
    }

    // T-04
    @Test func `rotates counterclockwise`() throws {
        let same = try Rotation(radians: .pi / 4, fitsSize: false).transform(badge)
        #expect(same.size == badge.size)
        let turned = try Rotation(radians: .pi / 4, fitsSize: true).transform(badge)
        #expect(turned.size == PixelSize(425, 425))
        #expect(turned.color(at: (60, 175)) == black)
        #expect(turned.color(at: (0, 0)) == clear)
        #expect(turned.color(at: (365, 175)) == clear)
    }

    // T-05
    @Test func `is mirrored in both directions`() throws {
        let flipped = try Flipping(horizontal: true, vertical: true).transform(badge)
        #expect(flipped.size == badge.size)
        let block = try #require(flipped.colors(in: PixelRect(x: 75, y: 75, width: 10, height: 10)))
        #expect(block == Array(repeating: RGBAColor(red: 10, green: 200, blue: 30, alpha: 180), count: 100))
        #expect(flipped.color(at: (150, 285)) == black)
    }

    // T-06
    @Test func `is tinted in its shape`() throws {
        let tinted = try Tint(black).transform(badge)
        #expect(tinted.color(at: (150, 150)) == clear)
        #expect(tinted.color(at: (80, 150)) == black)
        #expect(tinted.color(at: (150, 20)) == black)
        #expect(tinted.color(at: (220, 220)) == RGBAColor(red: 0, green: 0, blue: 0, alpha: 180))
    }

    // T-07
    @Test func `is blurred by the given radius`() throws {
        let blurred = try Blur(radius: 25).transform(badge)
        #expect(blurred.size == badge.size)
        let color = try #require(blurred.color(at: (80, 150)))
        for (value, expected) in [
            (color.red, 0.59), (color.green, 0.14), (color.blue, 0.12), (color.alpha, 0.75),
        ] {
            #expect(abs(Double(value) / 255 - expected) <= 0.01)
        }
        #expect(blurred.color(at: (150, 20)) != blurred.color(at: (150, 280)))
    }

    // T-08
    @Test func `is inverted in linear light`() throws {
        let inverted = try ColorFilter.invertLight.transform(badge)
        let color = try #require(inverted.color(at: (80, 150)))
        for (value, expected) in [
            (color.red, 0.85098), (color.green, 0.992157), (color.blue, 0.992157), (color.alpha, 1),
        ] {
            #expect(abs(Double(value) / 255 - expected) <= 0.01)
        }
        #expect(inverted.color(at: (150, 20)) == white)
        #expect(inverted.color(at: (150, 150)) == clear)
    }

    // T-09
    @Test func `goes through a pipeline`() throws {
        let rotation = Rotation(radians: .pi / 4)
        let cropping = Cropping(PixelRect(x: 0, y: 0, width: 50, height: 50))
        let pipeline = Pipeline(rotation, cropping)
        #expect(pipeline.key == rotation.key + "-" + cropping.key)
        #expect(try pipeline.transform(badge).size == PixelSize(50, 50))
        #expect(pipeline.outputSize(for: badge.size) == PixelSize(50, 50))
    }

    // T-20
    @Test(
        arguments: [
            (.up, 40, 160, 150, 200), (.upMirrored, 110, 160, 150, 200), (.down, 110, 30, 150, 200),
            (.downMirrored, 40, 30, 150, 200), (.leftMirrored, 160, 40, 200, 150), (.right, 30, 40, 200, 150),
            (.rightMirrored, 30, 110, 200, 150), (.left, 160, 110, 200, 150),
        ] as [(Orientation, Int, Int, Int, Int)])
    func `is put upright`(_ orientation: Orientation, x: Int, y: Int, width: Int, height: Int) throws {
        let stored = try TransformImage.paint(PixelSize(150, 200)) { x, y in
            (36..<45).contains(x) && (155..<175).contains(y) ? black : white
        }
        let upright = try PixelConverter.upright(stored, orientation)
        #expect(upright.size == PixelSize(width, height))
        #expect(upright.color(at: (x, y)) == black)
        #expect(upright.color(at: (width - 1 - x, y)) == white)
        #expect(upright.color(at: (x, height - 1 - y)) == white)
    }

    @Test func `has the announced size`() throws {
        let transformers: [any ImageTransformer] = [
            RoundCorners(radius: 5), Resizing(PixelSize(31, 17)), Resizing(PixelSize(31, 17), .contain),
            Resizing(PixelSize(31, 17), .cover), Resizing(PixelSize(31, 17), .inside),
            Cropping(PixelRect(x: -5, y: 3, width: 12, height: 100)), Flipping(horizontal: true),
            Rotation(radians: 1), Rotation(radians: .pi / 2), Rotation(radians: 3, fitsSize: false),
            Tint(white), Blur(radius: 1), ColorFilter.sepia(1),
            Pipeline(Rotation(radians: 0.3), Cropping(PixelRect(x: 2, y: 2, width: 9, height: 9))),
        ]
        for size in [PixelSize(40, 30), PixelSize(13, 31), PixelSize(5, 7)] {
            let image = try TransformImage.noise(size, .rgba8)
            for transformer in transformers {
                #expect(try transformer.transform(image).size == transformer.outputSize(for: size), "\(transformer)")
            }
        }
    }
}
