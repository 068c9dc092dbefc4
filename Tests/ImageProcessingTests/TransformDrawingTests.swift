import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `A drawing context` {
    let red = RGBAColor(red: 255, green: 0, blue: 0)
    let blue = RGBAColor(red: 0, green: 0, blue: 255)
    let clear = TransformImage.clear
    let black = TransformImage.black

    private func rect(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> PointRect {
        PointRect(x: x, y: y, width: width, height: height)
    }

    @Test func `begins transparent, or black`() throws {
        let image = try DrawingContext(size: PointSize(3, 2)).image()
        #expect(image.size == PixelSize(3, 2) && image.format == .rgba8)
        #expect(image.packed.allSatisfy { $0 == 0 })
        let opaque = try DrawingContext(size: PointSize(3, 2), isOpaque: true).image()
        #expect(opaque.format == PixelFormat(.rgba, alpha: .opaque))
        #expect(opaque.color(at: (2, 1)) == black)
    }

    // U-04
    @Test func `fills a rectangle exactly`() throws {
        let context = try DrawingContext(size: PointSize(100, 100))
        try context.fill(rect(0, 0, 100, 100), with: red)
        #expect(try context.image().color(at: (50, 50)) == red)
        try context.fill(rect(20, 30, 31, 21), with: black)
        let image = try context.image()
        #expect(image.color(at: (50, 50)) == black)
        #expect(image.color(at: (51, 50)) == red)
        #expect(image.color(at: (50, 51)) == red)
        #expect(image.color(at: (19, 30)) == red)
        try context.clear(rect(0, 0, 10, 10))
        #expect(try context.image().color(at: (9, 9)) == clear)
        #expect(try context.image().color(at: (10, 9)) == red)
    }

    @Test func `measures in points`() throws {
        let context = try DrawingContext(size: PointSize(10.2, 5), scale: 2)
        #expect(context.pixelSize == PixelSize(21, 10))
        try context.fill(rect(1, 1, 2, 1), with: red)
        let image = try context.image()
        #expect(image.color(at: (2, 2)) == red && image.color(at: (5, 3)) == red)
        #expect(image.color(at: (6, 3)) == clear && image.color(at: (5, 4)) == clear)
    }

    @Test func `covers parts of pixels by their area`() throws {
        let context = try DrawingContext(size: PointSize(4, 4))
        try context.fill(rect(0.25, 0.5, 2, 1.25), with: red)
        let image = try context.image()
        let alphas = (0..<3).map { y in (0..<4).map { x in image.color(at: (x, y))!.alpha } }
        // Columns ¾, 1, ¼; rows ½, ¾.
        #expect(alphas == [[96, 128, 32, 0], [143, 191, 48, 0], [0, 0, 0, 0]])
    }

    @Test func `covers a circle by its area`() throws {
        let context = try DrawingContext(size: PointSize(42, 42))
        try context.fill(rect(1.3, 0.7, 39, 39), radius: 100, with: red)
        let disc = Double.pi * 19.5 * 19.5
        #expect(abs(try area(context.image()) - disc) < 0.6)
        try context.clear(rect(0, 0, 42, 42))
        try context.stroke(rect(3, 3, 36, 36), radius: 18, lineWidth: 3, with: red)
        let ring = 2 * Double.pi * 18 * 3
        #expect(abs(try area(context.image()) - ring) < 0.6)
    }

    /// Returns the number of covered pixels, counting partial coverage.
    private func area(_ image: PixelBuffer) throws -> Double {
        var sum = 0.0
        for color in try #require(image.colors(in: PixelRect(image.size))) { sum += Double(color.alpha) / 255 }
        return sum
    }

    @Test func `rounds only the requested corners`() throws {
        for (corner, x, y) in [
            (RectCorners.topLeft, 0, 0), (.topRight, 19, 0), (.bottomLeft, 0, 19), (.bottomRight, 19, 19),
        ] {
            let context = try DrawingContext(size: PointSize(20, 20))
            try context.fill(rect(0, 0, 20, 20), radius: 6, corners: corner, with: red)
            let image = try context.image()
            for (left, top) in [(0, 0), (19, 0), (0, 19), (19, 19)] {
                #expect(image.color(at: (left, top)) == ((left, top) == (x, y) ? clear : red))
            }
        }
    }

    @Test func `draws images at their position`() throws {
        let source = try TransformImage.noise(PixelSize(6, 5), .rgba8)
        let context = try DrawingContext(size: PointSize(12, 12))
        try context.draw(source, x: 3, y: 4)
        #expect(
            try Cropping(PixelRect(x: 3, y: 4, width: 6, height: 5)).transform(context.image()).packed == source.packed
        )
        for (x, y) in [(-3.0, -2.0), (9.0, 10.0), (-100.0, 0.0), (0.0, 4e9)] { try context.draw(source, x: x, y: y) }
        let image = try context.image()
        #expect(image.color(at: (0, 0))?.alpha == source.color(at: (3, 2))?.alpha)
        #expect(image.color(at: (9, 10)) == source.color(at: (0, 0)))
    }

    @Test func `draws images into rectangles, with modes and alpha`() throws {
        let green = try PixelBuffer.of(PixelSize(2, 2), .rgb8, [0, 255, 0])
        let context = try DrawingContext(size: PointSize(8, 8))
        try context.fill(rect(0, 0, 8, 8), with: blue)
        try context.draw(green, in: rect(1, 1, 6, 3))
        try context.draw(green, in: rect(1, 5, 6, 2), alpha: 0.5)
        try context.draw(green, in: rect(0, 0, 1, 1), blendMode: .xor)
        let image = try context.image()
        #expect(image.color(at: (6, 3)) == RGBAColor(red: 0, green: 255, blue: 0))
        #expect(image.color(at: (3, 4)) == blue)
        #expect(image.color(at: (6, 6)) == RGBAColor(red: 0, green: 128, blue: 127))
        #expect(image.color(at: (0, 0)) == clear)
    }

    @Test func `stays within its clips`() throws {
        let context = try DrawingContext(size: PointSize(20, 20))
        try context.clip(to: rect(2, 2, 16, 16), radius: 5)
        try context.clip(to: rect(0, 0, 20, 10))
        try context.fill(rect(0, 0, 20, 20), with: red)
        var image = try context.image()
        #expect(image.color(at: (10, 9)) == red && image.color(at: (2, 9)) == red)
        #expect(image.color(at: (10, 10)) == clear && image.color(at: (1, 9)) == clear)
        #expect(image.color(at: (2, 2)) == clear)
        context.resetClip()
        try context.fill(rect(0, 0, 20, 20), with: blue, blendMode: .destinationOver)
        image = try context.image()
        #expect(image.color(at: (10, 9)) == red && image.color(at: (10, 10)) == blue)
    }

    @Test func `gives an opaque image if it is opaque`() throws {
        let context = try DrawingContext(size: PointSize(2, 1), isOpaque: true)
        try context.fill(rect(0, 0, 1, 1), with: RGBAColor(red: 255, green: 0, blue: 0, alpha: 51))
        try context.fill(rect(1, 0, 1, 1), with: red, blendMode: .clear)
        #expect(try context.image().packed == [51, 0, 0, 255, 0, 0, 0, 255])
    }

    @Test func `refuses invalid arguments`() throws {
        for size in [
            PointSize(0, 1), PointSize(-1, 1), PointSize(.nan, 1), PointSize(.infinity, 1), PointSize(1e12, 1),
        ] {
            #expect(throws: CoderError.self) { try DrawingContext(size: size) }
        }
        for scale in [0, -1, .nan, .infinity] {
            #expect(throws: CoderError.self) { try DrawingContext(size: PointSize(1, 1), scale: scale) }
        }
        let context = try DrawingContext(size: PointSize(4, 4))
        let source = try TransformImage.noise(PixelSize(1, 1), .rgba8)
        let float = try PixelBuffer(size: PixelSize(1, 1), format: PixelFormat(.gray, bits: 32, numeric: .float))
        for bad in [Double.nan, .infinity, -.infinity] {
            #expect(throws: CoderError.self) { try context.fill(rect(bad, 0, 1, 1), with: red) }
            #expect(throws: CoderError.self) { try context.fill(rect(0, 0, 1, bad), with: red) }
            #expect(throws: CoderError.self) { try context.clip(to: rect(0, 0, 1, 1), radius: bad) }
            #expect(throws: CoderError.self) { try context.stroke(rect(0, 0, 1, 1), lineWidth: bad, with: red) }
            #expect(throws: CoderError.self) { try context.draw(source, x: bad, y: 0) }
            #expect(throws: CoderError.self) { try context.draw(source, x: 0, y: 0, alpha: bad) }
        }
        #expect(throws: CoderError.self) { try context.draw(float, x: 0, y: 0) }
        try context.fill(rect(2, 2, -5, 1), with: red)
        try context.fill(rect(1e9, 1e9, 1e9, 1), with: red)
        try context.fill(rect(-4e9, -4e9, 1, 1), with: red)
        #expect(try context.image().packed.allSatisfy { $0 == 0 })
    }
}

@Suite struct `The colors of an image` {
    @Test func `are read with straight alpha`() throws {
        let format = PixelFormat(.bgra, alpha: .premultiplied)
        let source = try PixelBuffer.of(PixelSize(2, 1), format, [10, 20, 40, 51, 0, 0, 0, 0])
        #expect(source.color(at: (0, 0)) == RGBAColor(red: 200, green: 100, blue: 50, alpha: 51))
        #expect(source.color(at: (1, 0)) == TransformImage.clear)
    }

    @Test func `come row by row`() throws {
        let source = try PixelBuffer.of(PixelSize(3, 3), .gray8, Array(1...9))
        let colors = try #require(source.colors(in: PixelRect(x: 1, y: 1, width: 2, height: 2)))
        #expect(colors.map(\.red) == [5, 6, 8, 9] && colors.allSatisfy { $0.alpha == 255 })
    }

    @Test func `are nil outside, and for other depths`() throws {
        let source = try PixelBuffer.of(PixelSize(3, 3), .rgb8, [1])
        for (x, y) in [(-1, 0), (0, -1), (3, 0), (0, 3), (Int.max, 0), (0, Int.min)] {
            #expect(source.color(at: (x, y)) == nil)
        }
        #expect(source.colors(in: PixelRect(x: 2, y: 0, width: 2, height: 1)) == nil)
        #expect(source.colors(in: PixelRect(x: 0, y: 0, width: 0, height: 1)) == nil)
        #expect(source.colors(in: PixelRect(x: 0, y: 0, width: Int.max, height: 1)) == nil)
        for format in TransformImage.formats where format.bits != 8 {
            #expect(try PixelBuffer(size: PixelSize(1, 1), format: format).color(at: (0, 0)) == nil)
        }
    }
}
