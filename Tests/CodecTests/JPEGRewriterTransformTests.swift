import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

private func reverses(_ transform: Orientation) -> (columns: Bool, rows: Bool) {
    let corner = transform.source(x: 0, y: 0, in: PixelSize(2, 2))
    return (corner.x == 1, corner.y == 1)
}

/// The kept blocks of a component.
private func kept(
    _ kept: PixelRect, of image: HandmadeJPEG, _ index: Int, _ transform: Orientation
) -> [[[Int16]]] {
    func blocks(_ start: Int, _ count: Int, _ factor: Int, _ most: Int, _ isReversed: Bool) -> Range<Int> {
        let number = (count * factor).dividedUp(by: 8 * most)
        let first = isReversed ? (start + count) * factor / (8 * most) - number : start * factor / (8 * most)
        return first..<first + number
    }
    let component = image.components[index]
    let reverses = reverses(transform)
    let columns = blocks(kept.x, kept.width, component.across, image.mostAcross, reverses.columns)
    let rows = blocks(kept.y, kept.height, component.down, image.mostDown, reverses.rows)
    return image.rows(of: index)[rows].map { Array($0[columns]) }
}

/// Compares every component with its kept part.
private func check(_ result: Rewritten, of image: HandmadeJPEG, _ transform: Orientation) throws {
    let file = try #require(JPEGCoefficients(result.bytes))
    #expect(PixelSize(file.width, file.height) == transform.applied(to: result.kept.size))
    #expect(file.components.map(\.id) == image.components.indices.map { UInt8($0 + 1) })
    for (index, component) in file.components.enumerated() {
        let part = kept(result.kept, of: image, index, transform)
        #expect(component.rows == JPEGBlocks.turned(part, transform))
        let table = image.table(of: index)
        #expect(component.table == (transform.swapsSides ? JPEGBlocks.transposed(table) : table))
    }
}

@Suite struct `JPEG transforms` {
    @Test(arguments: Orientation.allCases)
    func `move samples according to the orientation`(transform: Orientation) throws {
        let image = Sampling.mixed.image(64, 32)
        let request = RewriteRequest(transform: transform, optimizes: transform == .up)
        let file = try #require(JPEGCoefficients(rewrite(image.file, request).bytes))
        for (index, component) in file.components.enumerated() {
            let before = JPEGBlocks.samples(image.rows(of: index), image.table(of: index))
            let after = JPEGBlocks.samples(component.rows, component.table)
            let expected = JPEGBlocks.moved(before, transform)

            try #require(expected.count == after.count && expected[0].count == after[0].count)
            let differences = zip(expected, after).flatMap { zip($0, $1).map { abs($0 - $1) } }
            #expect(differences.max() ?? 1 < 1e-6)
        }
    }

    @Test(arguments: Sampling.all)
    func `move every block of every sampling to its position`(sampling: Sampling) throws {
        for (width, height) in [(96, 64), (75, 53), (33, 17)] {
            let image = sampling.image(width, height)
            for transform in Orientation.allCases {
                let reverses = reverses(transform)
                let whole = PixelSize(
                    reverses.columns ? width / sampling.unit.width * sampling.unit.width : width,
                    reverses.rows ? height / sampling.unit.height * sampling.unit.height : height)
                let request = RewriteRequest(transform: transform, optimizes: transform == .up)
                let result = try rewrite(image.file, request)

                #expect(result.kept == PixelRect(whole))
                try check(result, of: image, transform)
            }
        }
    }

    @Test(arguments: Sampling.all)
    func `crop to the request and the rest of the blocks at two edges`(sampling: Sampling) throws {
        let image = sampling.image(150, 110)
        let unit = sampling.unit
        for crop in [
            PixelRect(x: 0, y: 0, width: 37, height: 41), PixelRect(x: 33, y: 35, width: 40, height: 33),
            PixelRect(x: 64, y: 32, width: 64, height: 64), PixelRect(x: 50, y: 21, width: 100, height: 89),
        ] {
            for transform in Orientation.allCases {
                let (across, down) = reverses(transform)
                let kept = try rewrite(image.file, RewriteRequest(transform: transform, crop: crop))
                let (right, bottom) = (crop.x + crop.width, crop.y + crop.height)
                let left = across ? crop.x : crop.x / unit.width * unit.width
                let top = down ? crop.y : crop.y / unit.height * unit.height
                let end = (
                    across ? min(right.dividedUp(by: unit.width), 150 / unit.width) * unit.width : right,
                    down ? min(bottom.dividedUp(by: unit.height), 110 / unit.height) * unit.height : bottom
                )

                #expect(kept.kept == PixelRect(x: left, y: top, width: end.0 - left, height: end.1 - top))
                try check(kept, of: image, transform)
            }
        }
    }

    @Test(arguments: Sampling.all)
    func `are reversed by their inverses`(sampling: Sampling) throws {
        let image = sampling.image(96, 64, seed: 5)
        let original = try #require(JPEGCoefficients(image.file)).components
        for transform in Orientation.allCases {
            let inverse: Orientation = transform == .right ? .left : transform == .left ? .right : transform
            let there = try rewrite(image.file, RewriteRequest(transform: transform)).bytes
            let back = try rewrite(there, RewriteRequest(transform: inverse)).bytes

            #expect(JPEGCoefficients(back)?.components == original)
        }
        let turned = try (0..<4).reduce(image.file) { bytes, _ in
            try rewrite(bytes, RewriteRequest(transform: .right)).bytes
        }
        #expect(JPEGCoefficients(turned)?.components == original)
    }

    /// A decoder rounds halves upwards, twice, so a sample of a mirrored image may differ by one.
    @Test(arguments: [PixelFormat.gray8, .rgb8])
    func `transform the decoded pixels`(format: PixelFormat) throws {
        let file = try photograph(64, 40, format)
        let before = try pixels(of: file)
        for transform in Orientation.allCases {
            let after = try pixels(of: rewrite(file, RewriteRequest(transform: transform)).bytes)
            try #require(after.size == transform.applied(to: before.size))
            var differences: [Int] = []
            for y in 0..<after.size.height {
                for x in 0..<after.size.width {
                    let place = transform.source(x: x, y: y, in: before.size)
                    for channel in 0..<before.channels {
                        let new = after.samples[(y * after.size.width + x) * after.channels + channel]
                        let old = before.samples[(place.y * before.size.width + place.x) * before.channels + channel]
                        differences.append(abs(Int(new) - Int(old)))
                    }
                }
            }
            // Chroma that is off by one moves blue by two (ITU-T T.871 section 7: 1.772).
            #expect(differences.max() ?? 0 <= (format == .gray8 ? 1 : 3))
            #expect(differences.filter { $0 > 0 }.count * 10 < differences.count)
        }
    }

    @Test func `refuse any loss if the request must be exact`() throws {
        let file = Sampling.quarter.image(75, 53).file
        let perfect = { RewriteRequest(transform: $0, crop: $1, isPerfect: true) }

        let mirrored = try #require(refusal(file, perfect(.upMirrored, nil)))
        #expect(mirrored.code == .refused)
        #expect(mirrored.message.contains("11 columns and 0 rows would be lost"))
        #expect(mirrored.hint?.contains("16x16") == true)
        let cropped = try #require(refusal(file, perfect(.up, PixelRect(x: 20, y: 16, width: 16, height: 16))))
        #expect(cropped.code == .refused)
        #expect(cropped.message.contains("4 columns and 0 rows would be added"))

        #expect(refusal(file, perfect(.leftMirrored, nil)) == nil)
        #expect(refusal(file, perfect(.up, PixelRect(x: 16, y: 32, width: 59, height: 21))) == nil)
        #expect(refusal(file, perfect(.down, PixelRect(x: 5, y: 7, width: 59, height: 41))) == nil)
    }

    @Test(arguments: [Orientation.upMirrored, .down, .rightMirrored, .left])
    func `refuse an empty result`(transform: Orientation) throws {
        #expect(refusal(Sampling.quarter.image(15, 40).file, RewriteRequest(transform: transform))?.code == .refused)
    }

    @Test(arguments: [
        PixelRect(x: -1, y: 0, width: 8, height: 8), PixelRect(x: 0, y: 0, width: 76, height: 8),
        PixelRect(x: 70, y: 0, width: 8, height: 8), PixelRect(x: 0, y: 0, width: 0, height: 8),
        PixelRect(x: 0, y: .max, width: 8, height: 8), PixelRect(x: .max, y: 0, width: .max, height: 1),
        PixelRect(x: 0, y: 0, width: 8, height: -8),
    ])
    func `refuse a crop outside of the image`(crop: PixelRect) throws {
        let error = try #require(refusal(Sampling.quarter.image(75, 53).file, RewriteRequest(crop: crop)))

        #expect(error.code == .invalidArgument)
    }

    @Test func `with a crop of the whole image copy the file`() throws {
        let file = Sampling.quarter.image(75, 53).file

        #expect(
            try rewrite(file, RewriteRequest(crop: PixelRect(x: 0, y: 0, width: 75, height: 53))).bytes == file)
    }

    @Test(arguments: [1, 4, 5, 12])
    func `keep restart markers`(interval: Int) throws {
        // 5 x 4 MCUs, so that markers at the ends of rows stay there: 4 in a row after rotation.
        var image = Sampling.quarter.image(80, 64)
        image.restartInterval = interval
        let result = try rewrite(image.file, RewriteRequest(transform: .right))

        #expect(JPEGCoefficients(result.bytes)?.restartInterval == (interval == 5 ? 4 : interval))
        try check(result, of: image, .right)
    }

    @Test(arguments: [true, false])
    func `keep sequential and progressive coding`(isProgressive: Bool) throws {
        let file = try photograph(75, 53, options: ["jpeg.progressive": .bool(isProgressive)])
        let before = try #require(JPEGCoefficients(file))
        let after = try #require(JPEGCoefficients(rewrite(file, RewriteRequest(transform: .leftMirrored)).bytes))

        #expect(before.isProgressive == isProgressive && after.isProgressive == isProgressive)
        for (old, new) in zip(before.components, after.components) {
            #expect(new.rows == JPEGBlocks.turned(old.rows, .leftMirrored))
        }
    }

    @Test func `keep arithmetic coding`() throws {
        // Its sides are multiples of 8, not of 16, so only a part of it is transformed.
        let file = try jpegFixture("jpeg/arithmetic-420.jpg")
        let crop = PixelRect(x: 0, y: 0, width: 32, height: 16)
        let part = try rewrite(file, RewriteRequest(crop: crop)).bytes
        let turned = try (0..<4).reduce(part) { bytes, _ in
            try rewrite(bytes, RewriteRequest(transform: .right)).bytes
        }

        #expect(turned.indices.dropLast().contains { turned[$0] == 0xFF && turned[$0 + 1] == 0xC9 })
        #expect(try pixels(of: turned).samples == pixels(of: part).samples)
        // Chroma at the cut is interpolated from the remaining samples, so the columns next to it differ.
        let (whole, kept) = (try pixels(of: file), try pixels(of: part))
        for y in 0..<14 {
            let (old, new) = (y * 40 * 3, y * 32 * 3)
            #expect(kept.samples[new..<new + 30 * 3] == whole.samples[old..<old + 30 * 3])
        }
    }

    @Test func `give each component its own table if a file redefines them`() throws {
        var image = HandmadeJPEG(64, 48, (0..<3).map { .init(across: 1, down: 1, table: $0) })
        image.isSeparate = true
        image.redefinesTables = true
        let result = try rewrite(image.file, RewriteRequest(transform: .rightMirrored))

        try check(result, of: image, .rightMirrored)
    }

    @Test(arguments: ["cmyk", "ycck", "cmyk-progressive"])
    func `keep CMYK colors`(name: String) throws {
        let file = try jpegFixture("jpeg/\(name).jpg")
        let turned = try rewrite(file, RewriteRequest(transform: .leftMirrored)).bytes
        let before = try pixels(of: file)
        let back = try pixels(of: rewrite(turned, RewriteRequest(transform: .leftMirrored)).bytes)

        #expect(try pixels(of: turned).channels == 4)
        #expect(back.samples == before.samples)
    }

    @Test func `exchange densities and drop thumbnails of the image before the change`() throws {
        let thumbnail = [2, 1] + [UInt8](repeating: 90, count: 2 * 1 * 3)
        let resolution = JPEGSegments.resource(0x03ED, [1, 2])
        let digest = JPEGSegments.resource(0x0425, [3, 4])
        var image = Sampling.gray.image(16, 8)
        image.segments =
            JPEGSegments.jfif(72, 300, thumbnail: thumbnail) + JPEGSegments.jfifExtension
            + JPEGSegments.photoshop(resolution + JPEGSegments.resource(0x040C, [9, 9, 9, 9]) + digest)
        let result = try rewrite(image.file, RewriteRequest(transform: .right))

        let expected = JPEGSegments.jfif(300, 72) + JPEGSegments.photoshop(resolution + digest)
        #expect(Array(result.bytes[2..<2 + expected.count]) == expected)
        #expect(result.bytes[2 + expected.count + 1] == 0xDB)
        #expect(result.warnings.contains { $0.contains("Photoshop thumbnail") })
        // Without a change of pixels all of them stay.
        let copied = try rewrite(image.file, RewriteRequest(removed: [.exif])).bytes
        #expect(copied == image.file)
    }
}
