import Glibc
import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Moving pixels` {
    static let sizes = [
        PixelSize(1, 1), PixelSize(1, 9), PixelSize(19, 1), PixelSize(7, 5), PixelSize(16, 16), PixelSize(35, 33),
    ]

    /// Returns the pixels as bytes, by the definition of the orientation.
    private func moved(_ image: PixelBuffer, _ orientation: Orientation) -> [UInt8] {
        let (bytes, width) = (image.format.bytesPerPixel, image.size.width)
        let stored = image.packed
        let size = orientation.applied(to: image.size)
        var result: [UInt8] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                let place = orientation.source(x: x, y: y, in: image.size)
                let at = (place.y * width + place.x) * bytes
                result += stored[at..<at + bytes]
            }
        }
        return result
    }

    @Test(arguments: TransformImage.formats)
    func `changes no pixel in any format`(format: PixelFormat) throws {
        for size in Self.sizes {
            let packed = try TransformImage.noise(size, format)
            for image in [packed, .padded(packed, by: 3 * format.bytesPerSample)] {
                for orientation in Orientation.allCases {
                    let turned = try PixelConverter.upright(image, orientation)
                    #expect(turned.packed == moved(image, orientation), "\(size) \(orientation)")
                }
            }
        }
    }

    @Test func `is right for any width`() throws {
        for width in 1...67 {
            let image = try TransformImage.noise(PixelSize(width, 18), .rgba8)
            for orientation in [Orientation.upMirrored, .right] {
                #expect(try PixelConverter.upright(image, orientation).packed == moved(image, orientation))
            }
        }
    }

    @Test(arguments: TransformImage.formats)
    func `restores the original`(format: PixelFormat) throws {
        for size in Self.sizes {
            let image = try TransformImage.noise(size, format)
            for flip in [
                Flipping(horizontal: true), Flipping(vertical: true), Flipping(horizontal: true, vertical: true),
            ] {
                #expect(try Pipeline(flip, flip).transform(image).packed == image.packed)
            }
            let quarter = Rotation(radians: .pi / 2)
            let back = try Pipeline(quarter, quarter, quarter, quarter).transform(image)
            #expect(back.packed == image.packed && back.format == format && back.size == size)
            let half = try Rotation(radians: -.pi, fitsSize: false).transform(image)
            #expect(half.packed == moved(image, .down))
        }
    }

    @Test func `rotates quarter turns counterclockwise`() throws {
        let image = try PixelBuffer.of(PixelSize(3, 2), .gray8, [1, 2, 3, 4, 5, 6])
        #expect(try Rotation(radians: .pi / 2).transform(image).packed == [3, 6, 2, 5, 1, 4])
        #expect(try Rotation(radians: -.pi / 2).transform(image).packed == [4, 1, 5, 2, 6, 3])
        #expect(try Rotation(radians: 5 * .pi / 2).transform(image).packed == [3, 6, 2, 5, 1, 4])
        #expect(try Rotation(radians: 0).transform(image) === image)
    }

    @Test func `centers a quarter turn on the same canvas`() throws {
        let image = try PixelBuffer.of(PixelSize(3, 1), .gray8, [1, 2, 3])
        let turned = try Rotation(radians: .pi / 2, fitsSize: false).transform(image)
        #expect(turned.format == .grayAlpha8)
        #expect(turned.packed == [0, 0, 2, 255, 0, 0])
        let square = try PixelBuffer.of(PixelSize(2, 2), .rgb8, Array(1...12))
        #expect(try Rotation(radians: .pi / 2, fitsSize: false).transform(square).format == .rgb8)
    }

    @Test(arguments: TransformImage.formats)
    func `copies rows unchanged`(format: PixelFormat) throws {
        let image = PixelBuffer.padded(try TransformImage.noise(PixelSize(9, 6), format), by: 4)
        let part = try Cropping(PixelRect(x: 2, y: 1, width: 5, height: 3)).transform(image)
        let (bytes, all) = (format.bytesPerPixel, image.packed)
        var expected: [UInt8] = []
        for y in 1..<4 { expected += all[(y * 9 + 2) * bytes..<(y * 9 + 7) * bytes] }
        #expect(part.packed == expected && part.format == format)
    }

    @Test(arguments: [
        (PixelRect(x: -2, y: -1, width: 4, height: 3), PixelSize(2, 2)),
        (PixelRect(x: 8, y: 5, width: Int.max, height: Int.max), PixelSize(1, 1)),
        (PixelRect(x: Int.min + 5, y: 0, width: Int.max, height: 1), PixelSize(4, 1)),
        (PixelRect(x: -1, y: 0, width: Int.max, height: 1), PixelSize(9, 1)),
        (PixelRect(x: 9, y: 0, width: 1, height: 1), nil),
        (PixelRect(x: 0, y: -1, width: 1, height: 1), nil),
        (PixelRect(x: 0, y: 0, width: 0, height: 1), nil),
        (PixelRect(x: 0, y: 0, width: 1, height: -1), nil),
    ])
    func `crops to the image, and refuses an empty result`(rect: PixelRect, size: PixelSize?) throws {
        let image = try TransformImage.noise(PixelSize(9, 6), .rgb8)
        let cropping = Cropping(rect)
        #expect(cropping.outputSize(for: image.size) == size ?? .zero)
        if let size {
            #expect(try cropping.transform(image).size == size)
        } else {
            let error = #expect(throws: CoderError.self) { try cropping.transform(image) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test(arguments: TransformImage.integerFormats)
    func `keeps the depth when a corner becomes transparent`(format: PixelFormat) throws {
        let image = try TransformImage.noise(PixelSize(11, 8), format)
        let turned = try Rotation(radians: 0.5).transform(image)
        #expect(turned.format.bits == format.bits && turned.format.hasTransparency)
        #expect(turned.format.alpha == (format.hasTransparency ? format.alpha : .straight))
        let (samples, count) = (TransformImage.samples(turned), turned.format.channels.count)
        #expect(samples[count - 1] == 0)
    }

    @Test func `keeps a uniform color at any angle`() throws {
        let color = RGBAColor(red: 200, green: 30, blue: 90)
        let image = try TransformImage.paint(PixelSize(40, 30)) { _, _ in color }
        for angle in stride(from: 0.1, to: 6.2, by: 0.7) {
            let turned = try Rotation(radians: angle).transform(image)
            let colors = try #require(turned.colors(in: PixelRect(turned.size)))
            // Near the edge alpha falls; at low alpha the color is imprecise.
            for found in colors where found.alpha > 64 {
                #expect(abs(Int(found.red) - 200) <= 1 && abs(Int(found.green) - 30) <= 1)
            }
            let sum = colors.reduce(0.0) { $0 + Double($1.alpha) / 255 }
            #expect(abs(sum - 1200) < 6, "\(angle)")
            #expect(turned.color(at: (turned.size.width / 2, turned.size.height / 2)) == color)
        }
    }

    /// Returns the value at a place between pixels; transparent outside.
    private func bilinear(_ samples: [Int], _ size: PixelSize, _ x: Double, _ y: Double, _ channel: Int) -> Double {
        let (left, top) = (Int(x.rounded(.down)), Int(y.rounded(.down)))
        var sum = 0.0
        for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let (column, row) = (left + dx, top + dy)
            guard column >= 0, row >= 0, column < size.width, row < size.height else { continue }
            let weight = (1 - abs(x - Double(column))) * (1 - abs(y - Double(row)))
            sum += weight * Double(samples[(row * size.width + column) * 4 + channel])
        }
        return sum
    }

    @Test(arguments: [0.3, 1.2, 2.5, -0.7, 4.0], [true, false])
    func `is bilinear between pixels`(angle: Double, fits: Bool) throws {
        let image = try TransformImage.noise(PixelSize(21, 13), .work)
        let turned = try Rotation(radians: angle, fitsSize: fits).transform(image)
        let (source, found) = (TransformImage.samples(image), TransformImage.samples(turned))
        // Unit vectors of the rotated image: its right is the old right rotated by the angle.
        let (right, down) = ((x: cos(angle), y: -sin(angle)), (x: sin(angle), y: cos(angle)))
        for y in 0..<turned.size.height {
            for x in 0..<turned.size.width {
                let dx = Double(x) + 0.5 - Double(turned.size.width) / 2
                let dy = Double(y) + 0.5 - Double(turned.size.height) / 2
                let (u, v) = (dx * right.x + dy * right.y, dx * down.x + dy * down.y)
                for channel in 0..<4 {
                    let expected = bilinear(source, image.size, u + 10.5 - 0.5, v + 6.5 - 0.5, channel)
                    let value = Double(found[(y * turned.size.width + x) * 4 + channel])
                    #expect(abs(value - expected) < 0.6, "\(x) \(y) \(channel)")
                }
            }
        }
    }
}
