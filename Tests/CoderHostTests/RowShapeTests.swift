import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// A change of an image, and whether it is possible with a few rows in memory.
struct RowChange: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let isPossible: Bool
    var options = DecodeOptions()
    var finish = ImageFinish()

    init(
        _ name: String, isPossible: Bool = true, _ change: (inout DecodeOptions, inout ImageFinish) -> Void
    ) {
        testDescription = name
        self.isPossible = isPossible
        change(&options, &finish)
    }

    /// Changes whose rows are independent of the rest of the image, alone and in chains.
    static let all = [
        RowChange("nothing") { _, _ in },
        RowChange("crop") { options, _ in options.region = PixelRect(x: 3, y: 5, width: 17, height: 11) },
        RowChange("resize") { options, _ in options.size = .box(PixelSize(13, 9), .fill) },
        RowChange("crop and resize") { options, _ in
            options.region = PixelRect(x: 1, y: 2, width: 20, height: 13)
            options.size = .box(PixelSize(9, 7), .fill)
        },
        RowChange("cover") { options, _ in options.size = .box(PixelSize(8, 8), .cover) },
        RowChange("to sRGB") { options, _ in options.colors = .sRGB },
        RowChange("to Display P3") { _, finish in finish.colors = (.displayP3, embeds: true) },
        RowChange("flip") { _, finish in finish.transformer = Flipping(horizontal: true) },
        RowChange("filters") { _, finish in
            finish.transformer = Pipeline(ColorFilter.grayscale, ColorFilter.exposure(0.5), ColorFilter.sepia(0.7))
        },
        RowChange("tint") { _, finish in
            finish.transformer = Tint(RGBAColor(red: 200, green: 30, blue: 9, alpha: 128))
        },
        RowChange("weighted blur") { _, finish in finish.transformer = Blur(radius: 1.5) },
        RowChange("box blur") { _, finish in finish.transformer = Blur(radius: 6) },
        RowChange("blur larger than the image") { _, finish in finish.transformer = Blur(radius: 60) },
        RowChange("background") { _, finish in finish.background = RGBAColor(red: 10, green: 200, blue: 30) },
        RowChange("all of them") { options, finish in
            options.region = PixelRect(x: 2, y: 1, width: 22, height: 14)
            options.size = .box(PixelSize(15, 10), .cover)
            finish.colors = (.displayP3, embeds: true)
            finish.transformer = Pipeline(Flipping(horizontal: true), Blur(radius: 4.5), ColorFilter.invert)
            finish.background = RGBAColor(red: 10, green: 200, blue: 30)
        },
        RowChange("vertical flip", isPossible: false) { _, finish in
            finish.transformer = Flipping(vertical: true)
        },
        RowChange("rotation", isPossible: false) { _, finish in finish.transformer = Rotation(radians: 0.3) },
        RowChange("padding", isPossible: false) { options, _ in options.size = .box(PixelSize(9, 9), .contain) },
        RowChange("crop by content", isPossible: false) { options, _ in
            options.size = .box(PixelSize(8, 8), .cover)
            options.cropPosition = .attention
        },
    ]
}

@Suite struct `Rows of a changed image` {
    static let images = [
        "images/icc-wide.png", "images/rgba.png", "images/graya.png", "images/sixteen.png", "images/f.jpg",
        "images/gray.jpg", "images/orientation-2.jpg", "images/rgba.pam", "images/sixteen.ppm",
    ]

    @Test(arguments: images, RowChange.all)
    func `equal the changed image in memory`(name: String, change: RowChange) throws {
        let source = Bench.source(Fixture.named(name))
        let (whole, rows) = try Bench.manager.withSession(source) { session throws(CoderError) in
            let shape = try session.shape(change.options, change.finish)
            return (try session.decodeImage(shape), try session.rowImage(shape)?.whole())
        }
        guard change.isPossible else {
            #expect(rows == nil)
            return
        }
        let image = try #require(rows)
        #expect(image.pixels.size == whole.pixels.size)
        #expect(image.pixels.format == whole.pixels.format)
        #expect(image.pixels.packed == whole.pixels.packed)
        #expect(image.info == whole.info)
        #expect(image.metadata == whole.metadata)
    }

    @Test func `are not available of an image that must be turned`() throws {
        let source = Bench.source(Fixture.named("images/orientation-6.jpg"))
        try Bench.manager.withSession(source) { session throws(CoderError) in
            var options = DecodeOptions()
            options.appliesOrientation = true
            #expect(try session.rowImage(options) == nil)
        }
    }
}
