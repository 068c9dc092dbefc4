import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `An overlay` {
    static let dot = RGBAColor(red: 250, green: 100, blue: 0, alpha: 128)

    private func gray(_ size: PixelSize, _ value: UInt8) throws -> PixelBuffer {
        try .of(size, .gray8, [UInt8](repeating: value, count: size.width * size.height))
    }

    @Test(arguments: [
        (Gravity.northwest, 2, 2), (.north, 8, 2), (.northeast, 14, 2), (.west, 2, 4), (.center, 8, 4), (.east, 14, 4),
        (.southwest, 2, 6), (.south, 8, 6), (.southeast, 14, 6),
    ])
    func `is drawn at its gravity, and no other pixel changes`(gravity: Gravity, x: Int, y: Int) throws {
        let image = try TransformImage.noise(PixelSize(20, 12), PixelFormat(.rgba, bits: 16, alpha: .straight))
        let dot = try TransformImage.paint(PixelSize(4, 4)) { _, _ in RGBAColor(red: 255, green: 0, blue: 0) }

        let result = try Overlay(dot, gravity: gravity, margin: 2).transform(image)

        #expect(result.format == image.format && result.size == image.size)
        let (old, new) = (TransformImage.samples(image), TransformImage.samples(result))
        for row in 0..<12 {
            for column in 0..<20 {
                let range = (row * 20 + column) * 4..<(row * 20 + column + 1) * 4
                let isInside = (x..<x + 4).contains(column) && (y..<y + 4).contains(row)
                #expect(Array(new[range]) == (isInside ? [65_535, 0, 0, 65_535] : Array(old[range])))
            }
        }
    }

    @Test func `is blended by its alpha and its opacity`() throws {
        // Source over by hand: alpha 128/255 · 0.5; the values round to nearest.
        let dot = try TransformImage.paint(PixelSize(1, 1)) { _, _ in Self.dot }
        let base = try PixelBuffer.of(PixelSize(1, 1), .rgb8, [10, 20, 200])
        let alpha = 128.0 / 255 * 0.5
        let expected = zip([250.0, 100, 0], [10.0, 20, 200]).map { Int(($0 * alpha + $1 * (1 - alpha)).rounded()) }

        let result = TransformImage.samples(try Overlay(dot, opacity: 0.5).transform(base))

        for (value, wanted) in zip(result, expected) { #expect(abs(value - wanted) <= 1) }
        #expect(TransformImage.samples(try Overlay(dot, opacity: 0).transform(base)) == [10, 20, 200])
    }

    @Test func `with colors makes a gray image RGB, and a gray one keeps it`() throws {
        let base = try gray(PixelSize(8, 8), 90)
        let dot = try TransformImage.paint(PixelSize(2, 2)) { _, _ in Self.dot }

        #expect(try Overlay(dot).transform(base).format == .rgb8)
        #expect(try Overlay(try gray(PixelSize(2, 2), 5)).transform(base).format == .gray8)
        #expect(base.packed == [UInt8](repeating: 90, count: 64))
    }

    @Test func `is repeated over the whole image if tiled`() throws {
        let base = try gray(PixelSize(10, 7), 0)

        let result = try Overlay(try gray(PixelSize(2, 2), 9), margin: 1, isTiled: true).transform(base)

        let line: [UInt8] = [0, 9, 9, 0, 9, 9, 0, 9, 9, 0]
        let blank = [UInt8](repeating: 0, count: 10)
        #expect(result.packed == blank + line + line + blank + line + line + blank)
    }

    @Test(arguments: [0, 1, 3], [1.0, 0.3])
    func `draws tiles as one overlay with the same pattern would`(margin: Int, opacity: Double) throws {
        let size = PixelSize(23, 17)
        let image = try TransformImage.noise(size, PixelFormat(.rgba, bits: 16, alpha: .straight))
        func color(_ x: Int, _ y: Int) -> RGBAColor {
            RGBAColor(red: UInt8(x * 80), green: UInt8(y * 120), blue: 9, alpha: UInt8(90 + x * 50))
        }
        let tile = try TransformImage.paint(PixelSize(3, 2)) { color($0, $1) }
        func isBetween(_ place: Int, _ side: Int) -> Bool {
            place < margin || (place - margin) % (side + margin) >= side
        }
        let pattern = try TransformImage.paint(size) { x, y in
            isBetween(x, 3) || isBetween(y, 2)
                ? TransformImage.clear : color((x - margin) % (3 + margin), (y - margin) % (2 + margin))
        }

        let tiled = TransformImage.samples(
            try Overlay(tile, opacity: opacity, margin: margin, isTiled: true).transform(image))
        let drawn = TransformImage.samples(try Overlay(pattern, opacity: opacity).transform(image))
        let old = TransformImage.samples(image)

        for y in 0..<size.height {
            for x in 0..<size.width {
                let place = (y * size.width + x) * 4
                // Between the tiles, pixels stay exactly as they were.
                let wanted = isBetween(x, 3) || isBetween(y, 2) ? old : drawn
                #expect(tiled[place..<place + 4] == wanted[place..<place + 4], "\(x),\(y)")
            }
        }
    }

    @Test func `costs about the same with tiles of one pixel as with large tiles`() throws {
        let image = try gray(PixelSize(600, 600), 0)
        func time(_ side: Int) throws -> Duration {
            let overlay = Overlay(try gray(PixelSize(side, side), 9), isTiled: true)
            return try (0..<3).map { _ in try ContinuousClock().measure { _ = try overlay.transform(image) } }.min()!
        }
        let (small, large) = (try time(1), try time(100))
        #expect(small < large * 30, "\(small) instead of \(large)")
    }

    @Test func `that is too large is reduced into the margins`() throws {
        let result = try Overlay(try gray(PixelSize(400, 100), 9), gravity: .center, margin: 1).transform(
            try gray(PixelSize(10, 10), 0))

        let rows = (0..<10).map { y in Array(result.packed[y * 10..<y * 10 + 10]) }
        #expect(rows.filter { $0.contains(9) } == [[UInt8]](repeating: [0, 9, 9, 9, 9, 9, 9, 9, 9, 0], count: 2))
    }

    @Test(arguments: TransformImage.integerFormats)
    func `works on every integer format`(format: PixelFormat) throws {
        let image = try TransformImage.noise(PixelSize(9, 8), format)
        let dot = try TransformImage.paint(PixelSize(4, 4)) { _, _ in Self.dot }

        #expect(try Overlay(dot, margin: 1).transform(image).size == image.size)
        #expect(try Overlay(dot, margin: 60_000).transform(image).size == image.size)
    }

    @Test func `has a key that names all that changes pixels`() throws {
        let dot = try TransformImage.paint(PixelSize(2, 2)) { _, _ in Self.dot }
        let other = try TransformImage.paint(PixelSize(2, 2)) { x, _ in x == 0 ? Self.dot : TransformImage.red }
        let overlays = [
            Overlay(dot), Overlay(other), Overlay(dot, gravity: .north), Overlay(dot, opacity: 0.5),
            Overlay(dot, margin: 3), Overlay(dot, isTiled: true),
        ]

        #expect(Set(overlays.map(\.key)).count == overlays.count)
        #expect(Overlay(dot).key.hasPrefix("Overlay(2x2,"))
        #expect(transformedKey("a.png", Overlay(dot, opacity: 0.5).key).hasSuffix(").png"))
    }

    @Test func `is refused with invalid numbers`() throws {
        let dot = try TransformImage.paint(PixelSize(2, 2)) { _, _ in Self.dot }
        let image = try gray(PixelSize(4, 4), 0)
        for overlay in [Overlay(dot, opacity: .nan), Overlay(dot, opacity: 1.1), Overlay(dot, margin: -1)] {
            #expect(overlay.outputSize(for: image.size) == .zero)
            let error = #expect(throws: CoderError.self) { try overlay.transform(image) }
            #expect(error?.code == .invalidArgument)
        }
    }
}

@Suite struct `An extended canvas` {
    @Test func `has a border of the color`() throws {
        let image = try PixelBuffer.of(PixelSize(2, 1), .gray8, [7, 8])

        let result = try Extending(by: 1, color: RGBAColor(red: 3, green: 3, blue: 3)).transform(image)

        #expect(result.packed == [3, 3, 3, 3, 3, 7, 8, 3, 3, 3, 3, 3])
        #expect(Extending(by: 1).outputSize(for: image.size) == result.size)
    }

    @Test func `is transparent without a color`() throws {
        let image = try PixelBuffer.of(PixelSize(1, 1), .rgb8, [7, 8, 9])

        let result = try Extending(to: PixelSize(2, 0), gravity: .east).transform(image)

        #expect(result.size == PixelSize(2, 1) && result.format.hasTransparency)
        #expect(result.packed == [0, 0, 0, 0, 7, 8, 9, 255])
    }

    @Test func `never cuts the image`() throws {
        let image = try TransformImage.noise(PixelSize(9, 8), .rgba8)

        #expect(try Extending(to: PixelSize(4, 8)).transform(image) === image)
    }

    @Test(arguments: [Extending(by: -1), Extending(to: PixelSize(-1, 5)), Extending(by: 1 << 25)])
    func `is refused with invalid numbers`(step: Extending) throws {
        let image = try TransformImage.noise(PixelSize(9, 8), .rgba8)
        let error = #expect(throws: CoderError.self) { try step.transform(image) }
        #expect(error?.code == .invalidArgument)
        #expect(step.outputSize(for: image.size) == .zero)
    }
}

@Suite struct `A border to trim` {
    private func frame(_ format: PixelFormat, _ border: RGBAColor) throws -> PixelBuffer {
        let image = try TransformImage.paint(PixelSize(12, 9)) { x, y in
            (3..<10).contains(x) && (2..<7).contains(y) ? TransformImage.red : border
        }
        return try PixelConverter.convert(image, to: format)
    }

    @Test(arguments: [PixelFormat.rgb8, .rgba8, .gray8, PixelFormat(.rgb, bits: 16)])
    func `is found in every format`(format: PixelFormat) throws {
        let found = try Trim.content(of: try frame(format, TransformImage.white), tolerance: 0)
        #expect(found == PixelRect(x: 3, y: 2, width: 7, height: 5))
    }

    @Test func `can be transparent in different colors`() throws {
        let image = try TransformImage.paint(PixelSize(12, 9)) { x, y in
            x == 5 && y == 4
                ? TransformImage.red : RGBAColor(red: UInt8(20 * x), green: UInt8(9 * y), blue: 0, alpha: 0)
        }
        #expect(try Trim.content(of: image, tolerance: 0) == PixelRect(x: 5, y: 4, width: 1, height: 1))
    }

    @Test func `has the tolerance that was asked for`() throws {
        let image = try PixelBuffer.of(PixelSize(5, 1), .gray8, [100, 104, 200, 96, 100])
        #expect(try Trim.content(of: image, tolerance: 0) == PixelRect(x: 1, y: 0, width: 3, height: 1))
        #expect(try Trim.content(of: image, tolerance: 0.02) == PixelRect(x: 2, y: 0, width: 1, height: 1))
    }

    @Test func `is nothing in an image of one color`() throws {
        #expect(try Trim.content(of: try .of(PixelSize(3, 1), .gray8, [5, 5, 5]), tolerance: 0) == nil)
    }
}
