import CoderHost
import ImageModel
import TestSupport
import Testing

/// The displayed image stays the same, whether or not a format can store the orientation.
@Suite struct `Orientation through the host` {
    /// The stored pixels as decoded by djpeg, the same in all eight files.
    static let stored = Result { try Pixels(Bench.decode("images/orientation-1.jpg").pixels) }

    @Test func `the eight orientations look different`() throws {
        let stored = try Self.stored.get()
        let all = (1...8).map { stored.upright($0) }

        for first in 0..<8 {
            for second in 0..<first { #expect(all[first].difference(all[second]) > 20) }
        }
    }

    @Test(arguments: 1...8, Bench.targets)
    func `is applied exactly once`(orientation: Int, target: Bench.Target) throws {
        let expected = try Self.stored.get().upright(orientation)
        let image = try Bench.decode("images/orientation-\(orientation).jpg")
        #expect(image.info.orientation?.rawValue == orientation)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try again.seen().size == expected.size)
        #expect(try again.seen().difference(expected) <= target.tolerance)
    }

    @Test(arguments: 1...8, ["jpeg", "png"] as [ImageFormat])
    func `is stored as a tag if possible, without changing the pixels`(
        orientation: Int, format: ImageFormat
    ) throws {
        let image = try Bench.decode("images/orientation-\(orientation).jpg")

        let again = try Bench.passThrough(image, format, options: Bench.target(format).options)

        #expect(again.info.orientation?.rawValue == orientation)
        #expect(again.blob(.exif) == image.blob(.exif))
        #expect(try Pixels(again.pixels).difference(Self.stored.get()) <= 1)
    }

    @Test(arguments: ["webp", "heic", "avif"] as [ImageFormat])
    func `is 1 in the Exif data if the pixels were turned`(format: ImageFormat) throws {
        let image = try Bench.decode("images/orientation-6.jpg")

        let again = try Bench.passThrough(image, format, options: Bench.target(format).options)

        #expect(ExifOrientation.read(try #require(again.blob(.exif))) == .up)
        #expect(again.pixels.size == PixelSize(17, 31))
    }

    @Test(arguments: ["png", "webp"] as [ImageFormat], Bench.targets)
    func `survives conversion to another format`(source: ImageFormat, target: Bench.Target) throws {
        let image = try Bench.decode("images/orientation-6.\(source)")
        let expected = try Pixels(image.pixels).upright(6)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try again.seen().difference(expected) <= target.tolerance)
    }

    @Test(arguments: Bench.targets)
    func `stored only in XMP is applied once and removed`(target: Bench.Target) throws {
        let image = try Bench.decode("images/orientation-3-in-xmp-only.jpg")
        #expect(image.info.orientation == .down)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try again.seen().difference(Self.stored.get().upright(3)) <= target.tolerance)
        if let xmp = again.blob(.xmp) { #expect(XMPOrientation.read(xmp) == .up) }
    }

    @Test(arguments: Bench.targets)
    func `of Exif has precedence over XMP`(target: Bench.Target) throws {
        let image = try Bench.decode("images/orientation-6-in-exif-3-in-xmp.jpg")
        #expect(image.info.orientation == .right)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try again.seen().difference(Self.stored.get().upright(6)) <= target.tolerance)
    }

    @Test(arguments: ["heic", "avif"] as [ImageFormat], ["jpeg", "png", "webp"] as [ImageFormat])
    func `of Exif is ignored if the format turns the pixels itself`(
        source: ImageFormat, target: ImageFormat
    ) throws {
        var image = try Bench.decode("images/f.png")
        let expected = try Pixels(image.pixels)
        image.metadata = [MetadataBlob(.exif, ExifOrientation.blob(.right))]
        // The image is upright already: phones leave a stale tag in HEIC files.
        image.info.orientation = .right
        image.info.orientationApplied = true
        let file = try Bench.encode(image, to: source, options: Bench.target(source).options).bytes
        let middle = try Bench.decode(file)
        #expect(middle.info.orientationApplied)

        let last = try Bench.passThrough(middle, target, options: Bench.target(target).options)

        #expect(try last.seen().difference(expected) <= Bench.target(target).tolerance)
    }
}
