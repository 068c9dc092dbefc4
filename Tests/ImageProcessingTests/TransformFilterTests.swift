import Glibc
import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

@Suite struct `Blurs and color filters` {
    /// Boxes one after the other in each direction, with edges that go on, in doubles.
    private func boxes(_ values: [Double], _ size: PixelSize, channels: Int, box: Int, passes: Int) -> [Double] {
        let reach = box / 2
        var values = values
        for _ in 0..<passes {
            for isAcross in [true, false] {
                var next = values
                for y in 0..<size.height {
                    for x in 0..<size.width {
                        for channel in 0..<channels {
                            var sum = 0.0
                            for step in -reach...reach {
                                let column = isAcross ? min(max(x + step, 0), size.width - 1) : x
                                let row = isAcross ? y : min(max(y + step, 0), size.height - 1)
                                sum += values[(row * size.width + column) * channels + channel]
                            }
                            next[(y * size.width + x) * channels + channel] = sum / Double(box)
                        }
                    }
                }
                values = next
            }
        }
        return values
    }

    /// Radius, box and passes: from floor(r·3·√(2π)/4 + ½), made odd.
    @Test(arguments: [(2.0, 5, 3), (3, 7, 3), (0.7, 3, 1), (1.2, 3, 2), (1.9, 3, 3), (12, 23, 3)])
    func `average with three boxes`(radius: Double, box: Int, passes: Int) throws {
        for size in [PixelSize(1, 1), PixelSize(1, 9), PixelSize(12, 1), PixelSize(9, 7), PixelSize(4, 20)] {
            let picture = try TransformPicture.noise(size, .work)
            let expected = boxes(
                TransformPicture.samples(picture).map(Double.init), size, channels: 4, box: box, passes: passes)
            let found = TransformPicture.samples(try Blur(radius: radius).transform(picture))
            for (value, reference) in zip(found, expected) {
                // Half a unit for each of the six times that it is rounded, halved by the averages behind it.
                #expect(abs(Double(value) - reference) <= 2, "\(size)")
            }
        }
    }

    @Test(arguments: TransformPicture.integerFormats)
    func `blur every format as it is`(format: PixelFormat) throws {
        let size = PixelSize(13, 11)
        let picture = PixelBuffer.padded(try TransformPicture.noise(size, format), by: 2)
        let blurred = try Blur(radius: 2).transform(picture)
        #expect(blurred.format == format)
        let (count, most) = (format.channels.count, format.bits == 8 ? 255.0 : 65_535.0)
        var values = TransformPicture.samples(picture).map(Double.init)
        let isStraight = format.alpha == .straight
        func eachPixel(_ body: (_ at: Int, _ alpha: Double) -> Void) {
            for at in stride(from: 0, to: values.count, by: count) { body(at, values[at + count - 1] / most) }
        }
        if isStraight {
            eachPixel { at, alpha in for channel in 0..<count - 1 { values[at + channel] *= alpha } }
        }
        values = boxes(values, size, channels: count, box: 5, passes: 3)
        if isStraight {
            eachPixel { at, alpha in for channel in 0..<count - 1 { values[at + channel] /= alpha } }
        }
        for (value, reference) in zip(TransformPicture.samples(blurred), values) {
            #expect(abs(Double(value) - reference) <= (format.bits == 8 ? 0.55 : 6))
        }
    }

    @Test func `blur an even color into itself, however far`() throws {
        let picture = try PixelBuffer.of(PixelSize(5, 4), .rgba8, [201, 17, 255, 99])
        for radius in [0, 0.1, 1, 10, 1000] {
            #expect(try Blur(radius: radius).transform(picture).packed == picture.packed, "\(radius)")
        }
        #expect(try Blur(radius: 0).transform(picture) === picture)
    }

    @Test func `let no clear pixel darken its neighbors`() throws {
        let picture = try TransformPicture.paint(PixelSize(20, 1)) { x, _ in
            x < 10 ? RGBAColor(red: 200, green: 100, blue: 50) : TransformPicture.clear
        }
        let blurred = try Blur(radius: 3).transform(picture)
        let edge = try #require(blurred.color(at: (10, 0)))
        #expect((80..<128).contains(edge.alpha))
        #expect((edge.red, edge.green, edge.blue) == (200, 100, 50))
    }

    @Test func `come close to a Gaussian`() throws {
        let (middle, radius) = (60, 6.0)
        let picture = try TransformPicture.paint(PixelSize(121, 1)) { x, _ in
            x == middle ? TransformPicture.white : TransformPicture.black
        }
        let wide = try PixelConverter.convert(picture, to: .gray16)
        let found = TransformPicture.samples(try Blur(radius: radius).transform(wide)).map { Double($0) / 65_535 }
        let sum = found.reduce(0, +)
        #expect(abs(sum - 1) < 0.001)
        for x in 0..<121 {
            let distance = Double(x - middle) / radius
            let expected = exp(-distance * distance / 2) / (radius * (2 * Double.pi).squareRoot())
            // A box has a whole number of pixels: within a twentieth of the peak of 0.066.
            #expect(abs(found[x] - expected) < 0.0033)
        }
    }

    // MARK: Colors

    private func filtered(_ filter: ColorFilter, _ bytes: [UInt8], _ format: PixelFormat = .rgba8) throws -> [UInt8] {
        try filter.transform(try PixelBuffer.of(PixelSize(1, 1), format, bytes)).packed
    }

    @Test func `have worked values`() throws {
        #expect(try filtered(.invert, [38, 2, 255, 255]) == [217, 253, 0, 255])
        #expect(try filtered(.invert, [38, 2, 255, 7]) == [217, 253, 0, 7])
        // 0.2126·100 + 0.7152·150 + 0.0722·200 = 142.98
        #expect(try filtered(.grayscale, [100, 150, 200, 255]) == [143, 143, 143, 255])
        // Rows 0.393 0.769 0.189, 0.349 0.686 0.168, 0.272 0.534 0.131: 192.45, 171.4, 133.5
        #expect(try filtered(.sepia(1), [100, 150, 200, 255]) == [192, 171, 134, 255])
        #expect(try filtered(.sepia(0), [100, 150, 200, 255]) == [100, 150, 200, 255])
        // 1.5·(v + 0.1·255 − 127.5) + 127.5 = 124.5, 199.5, 274.5
        #expect(
            try filtered(.adjust(brightness: 0.1, contrast: 1.5), [100, 150, 200, 255]) == [125, 200, 255, 255])
        #expect(try filtered(.adjust(saturation: 0), [100, 150, 200, 255]) == [143, 143, 143, 255])
        // (100/255 as sRGB: 0.12744; twice that: 0.25488, which is 0.54231 or 138.29)
        #expect(try filtered(.exposure(1), [100, 0, 255, 255]) == [138, 0, 255, 255])
        #expect(try filtered(.exposure(0), [100, 1, 255, 9]) == [100, 1, 255, 9])
    }

    @Test(arguments: TransformPicture.integerFormats)
    func `invert every format, and twice is nothing`(format: PixelFormat) throws {
        let picture = try TransformPicture.noise(PixelSize(17, 3), format)
        let inverted = try ColorFilter.invert.transform(picture)
        #expect(inverted.format == (format.channels == .cmyk ? PixelFormat(.rgb, bits: format.bits) : format))
        guard format.channels != .cmyk else { return }
        let (count, most) = (format.channels.count, format.bits == 8 ? 255 : 65_535)
        let (before, after) = (TransformPicture.samples(picture), TransformPicture.samples(inverted))
        for at in stride(from: 0, to: before.count, by: count) {
            let alpha = format.channels.hasAlpha ? before[at + count - 1] : most
            let top = format.alpha == .premultiplied ? alpha : most
            for channel in 0..<(format.channels.hasAlpha ? count - 1 : count) where alpha > 0 {
                let isExact = format.bits == 8 || format.alpha != .straight
                let error = isExact ? 0 : 65_535 / alpha + 1
                #expect(abs(after[at + channel] - (top - before[at + channel])) <= error)
            }
        }
    }

    @Test func `make gray colored only where they must`() throws {
        let gray = try PixelBuffer.of(PixelSize(2, 2), .gray8, [9, 99])
        #expect(try ColorFilter.sepia(0.5).transform(gray).format == .rgb8)
        #expect(try ColorFilter.exposure(1).transform(gray).format == .gray8)
        #expect(try ColorFilter.adjust(contrast: 2).transform(gray).format == .gray8)
    }
}
