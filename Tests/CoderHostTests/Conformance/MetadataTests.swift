import CoderHost
import ImageModel
import TestSupport
import Testing

/// Exif, XMP and ICC in conversions between formats.
@Suite struct `Metadata through the host` {
    static let carriers: [ImageFormat] = ["jpeg", "png", "webp", "heic", "avif"]
    /// The markers of a profile, Exif and XMP in the bytes of each format.
    static let marks: [ImageFormat: (icc: String, exif: String, xmp: String)] = [
        "jpeg": ("ICC_PROFILE\0", "Exif\0\0", "http://ns.adobe.com/xap/1.0/\0"),
        "png": ("iCCP", "eXIf", "XML:com.adobe.xmp"), "webp": ("ICCP", "EXIF", "XMP "),
        "heic": ("prof", "Exif", "application/rdf+xml"), "avif": ("prof", "Exif", "application/rdf+xml"),
    ]
    static let xmp = Array(
        """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
        <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" dc:format="ünï"/></rdf:RDF></x:xmpmeta>
        """.utf8)
    /// TIFF, little endian: orientation 1 and a copyright notice outside the directory.
    static let exif: [UInt8] =
        [0x49, 0x49, 42, 0, 8, 0, 0, 0, 2, 0]
        + [0x12, 0x01, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0]
        + [0x98, 0x82, 2, 0, 8, 0, 0, 0, 38, 0, 0, 0]
        + [0, 0, 0, 0] + Array("nobody\0\0".utf8)

    private func loaded() throws -> DecodedImage {
        var image = try Bench.decode("images/icc-wide.png")
        image.metadata = [
            MetadataBlob(.icc, try #require(image.blob(.icc))), MetadataBlob(.exif, Self.exif),
            MetadataBlob(.xmp, Self.xmp),
        ]
        image.info.orientation = .up
        return image
    }

    @Test(arguments: carriers, carriers)
    func `is kept byte for byte`(first: ImageFormat, second: ImageFormat) throws {
        let image = try loaded()

        let middle = try Bench.passThrough(image, first)
        let (bytes, warnings) = try Bench.encode(middle, to: second)
        let last = try Bench.decode(bytes)

        #expect(last.blob(.icc) == image.blob(.icc))
        #expect(last.blob(.exif) == Self.exif)
        #expect(last.blob(.xmp) == Self.xmp)
        #expect(last.info.color.hasProfile)
        #expect(warnings.isEmpty)
    }

    @Test(arguments: carriers)
    func `is stored where readers of the format expect it`(format: ImageFormat) throws {
        let mark = try #require(Self.marks[format])

        let bytes = try Bench.encode(try loaded(), to: format).bytes
        let bare = try Bench.encode(try Bench.decode("images/f.png"), to: format).bytes

        for text in [mark.icc, mark.exif, mark.xmp] {
            #expect(bytes.firstRange(of: Array(text.utf8)) != nil)
            #expect(bare.firstRange(of: Array(text.utf8)) == nil)
        }
    }

    @Test(arguments: ["farbfeld", "pam", "pnm"] as [ImageFormat])
    func `is left out with a warning if the format cannot store it`(format: ImageFormat) throws {
        let (bytes, warnings) = try Bench.encode(try loaded(), to: format)

        #expect(try Bench.decode(bytes).metadata.isEmpty)
        for kind in ["exif", "xmp", "color profile"] { #expect(warnings.contains { $0.contains(kind) }) }
    }

    @Test func `of GIF is XMP, the rest is left out with a warning`() throws {
        let (bytes, warnings) = try Bench.encode(try loaded(), to: "gif")

        #expect(try Bench.decode(bytes).blob(.xmp) == Self.xmp)
        for kind in ["exif", "color profile"] { #expect(warnings.contains { $0.contains(kind) }) }
    }

    @Test func `a profile in three segments of JPEG is joined in order`() throws {
        let jpeg = try Bench.decode("images/icc-wide-in-three-segments.jpg")
        let png = try Bench.decode("images/icc-wide.png")

        #expect(jpeg.blob(.icc) == png.blob(.icc))
    }

    @Test func `a profile longer than one segment of JPEG is kept completely`() throws {
        var image = try loaded()
        let profile = try #require(image.blob(.icc))
        // The length in the header must match the profile.
        var long = profile + (0..<150_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for index in 0..<4 { long[index] = UInt8(truncatingIfNeeded: long.count >> (24 - 8 * index)) }
        image.metadata = [MetadataBlob(.icc, long)]

        #expect(try Bench.passThrough(image, "jpeg").blob(.icc) == long)
    }

    @Test(arguments: carriers)
    func `a profile for another color model is left out with a warning`(format: ImageFormat) throws {
        var image = try loaded()
        var gray = try #require(image.blob(.icc))
        gray.replaceSubrange(16..<20, with: Array("GRAY".utf8))
        image.metadata = [MetadataBlob(.icc, gray)]

        let (bytes, warnings) = try Bench.encode(image, to: format)

        #expect(try Bench.decode(bytes).blob(.icc) == nil)
        #expect(warnings.contains { $0.contains("GRAY") })
    }

    @Test(arguments: carriers)
    func `a profile for RGB is not written with gray pixels`(format: ImageFormat) throws {
        let wide = try #require(try loaded().blob(.icc))
        var image = try Bench.decode("images/gray.png")
        image.metadata = [MetadataBlob(.icc, wide)]

        let (bytes, warnings) = try Bench.encode(image, to: format)
        let again = try Bench.decode(bytes)

        // WebP has no gray, so the pixels became RGB and the profile fits.
        #expect((again.blob(.icc) != nil) == (format == "webp"))
        #expect(warnings.isEmpty == (format == "webp"))
    }

    @Test(arguments: carriers)
    func `a CMYK profile is left out if the pixels become RGB`(format: ImageFormat) throws {
        var image = try Bench.decode("images/cmyk.jpg")
        var profile = try #require(try loaded().blob(.icc))
        profile.replaceSubrange(16..<20, with: Array("CMYK".utf8))
        image.metadata = [MetadataBlob(.icc, profile)]

        let (bytes, warnings) = try Bench.encode(image, to: format)
        let again = try Bench.decode(bytes)

        let isKept = again.pixels.format.channels == .cmyk
        #expect((again.blob(.icc) != nil) == isKept)
        #expect(warnings.contains { $0.contains("CMYK") } == !isKept)
    }
}

extension [UInt8] {
    /// The first occurrence of some bytes.
    func firstRange(of part: [UInt8]) -> Range<Int>? {
        guard count >= part.count else { return nil }
        return (0...count - part.count).lazy
            .first { self[$0..<$0 + part.count].elementsEqual(part) }.map { $0..<$0 + part.count }
    }
}
