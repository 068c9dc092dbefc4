import CoderHost
import ImageModel
import TestSupport
import Testing

/// However a format tells the orientation, or cannot, what is seen stays what was seen.
@Suite struct `Orientation through the host` {
    /// What djpeg makes of the stored pixels, which are the same in all eight files.
    static let stored = Result { try Pixels(Bench.decode("pictures/orientation-1.jpg").pixels) }

    @Test func `the eight ways to turn the picture look different`() throws {
        let stored = try Self.stored.get()
        let all = (1...8).map { stored.upright($0) }

        for first in 0..<8 {
            for second in 0..<first { #expect(all[first].difference(all[second]) > 20) }
        }
    }

    @Test(arguments: 1...8, Bench.targets)
    func `is applied exactly once`(orientation: Int, target: Bench.Target) throws {
        let expected = try Self.stored.get().upright(orientation)
        let image = try Bench.decode("pictures/orientation-\(orientation).jpg")
        #expect(image.info.orientation?.rawValue == orientation)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try again.seen().size == expected.size)
        #expect(try again.seen().difference(expected) <= target.tolerance)
    }

    @Test(arguments: 1...8, ["jpeg", "png"] as [ImageFormat])
    func `stays a tag where the format can say it, and the pixels stay as stored`(
        orientation: Int, format: ImageFormat
    ) throws {
        let image = try Bench.decode("pictures/orientation-\(orientation).jpg")

        let again = try Bench.passThrough(image, format, options: Bench.target(format).options)

        #expect(again.info.orientation?.rawValue == orientation)
        #expect(again.blob(.exif) == image.blob(.exif))
        #expect(try Pixels(again.pixels).difference(Self.stored.get()) <= 1)
    }

    @Test(arguments: ["webp", "heic", "avif"] as [ImageFormat])
    func `is 1 in the Exif data of a picture whose pixels were turned`(format: ImageFormat) throws {
        let image = try Bench.decode("pictures/orientation-6.jpg")

        let again = try Bench.passThrough(image, format, options: Bench.target(format).options)

        #expect(ExifOrientation.read(try #require(again.blob(.exif))) == .up)
        #expect(again.pixels.size == PixelSize(17, 31))
    }

    @Test(arguments: ["png", "webp"] as [ImageFormat], Bench.targets)
    func `survives from one format into another`(source: ImageFormat, target: Bench.Target) throws {
        let image = try Bench.decode("pictures/orientation-6.\(source)")
        let expected = try Pixels(image.pixels).upright(6)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try again.seen().difference(expected) <= target.tolerance)
    }

    @Test(arguments: Bench.targets)
    func `of XMP alone is applied once and not left behind`(target: Bench.Target) throws {
        let image = try Bench.decode("pictures/orientation-3-in-xmp-only.jpg")
        #expect(image.info.orientation == .down)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try again.seen().difference(Self.stored.get().upright(3)) <= target.tolerance)
        if let xmp = again.blob(.xmp) { #expect(XMPOrientation.read(xmp) == .up) }
    }

    @Test(arguments: Bench.targets)
    func `of Exif counts where XMP says something else`(target: Bench.Target) throws {
        let image = try Bench.decode("pictures/orientation-6-in-exif-3-in-xmp.jpg")
        #expect(image.info.orientation == .right)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try again.seen().difference(Self.stored.get().upright(6)) <= target.tolerance)
    }

    @Test(arguments: ["heic", "avif"] as [ImageFormat], ["jpeg", "png", "webp"] as [ImageFormat])
    func `of Exif in a format that turns the pixels itself is only for show`(
        source: ImageFormat, target: ImageFormat
    ) throws {
        var image = try Bench.decode("pictures/f.png")
        let expected = try Pixels(image.pixels)
        image.metadata = [MetadataBlob(.exif, ExifOrientation.blob(.right))]
        // Upright already: the tag is a leftover, as phones leave it in HEIC.
        image.info.orientation = .right
        image.info.orientationApplied = true
        let file = try Bench.encode(image, to: source, options: Bench.target(source).options).bytes
        let middle = try Bench.decode(file)
        #expect(middle.info.orientationApplied)

        let last = try Bench.passThrough(middle, target, options: Bench.target(target).options)

        #expect(try last.seen().difference(expected) <= Bench.target(target).tolerance)
    }
}
