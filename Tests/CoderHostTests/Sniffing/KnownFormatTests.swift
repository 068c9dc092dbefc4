import ImageModel
import TestSupport
import Testing

@testable import CoderHost
@testable import PluginCatalogue

/// Formats that are recognized without a plugin; the samples follow the specifications, not the table.
@Suite struct `Formats without a plugin` {
    /// The first bytes of a file of a format.
    struct Sample: Sendable, CustomTestStringConvertible {
        let id: String
        let bytes: [UInt8]
        let fileExtension: String?

        /// - Parameters:
        ///   - offset: the number of zeros before the bytes.
        ///   - fileExtension: the extension of the file name, for a format that needs it.
        init(_ id: String, _ digits: String, at offset: Int = 0, fileExtension: String? = nil) {
            self.id = id
            self.fileExtension = fileExtension
            let numbers = digits.utf8.map { UInt8(Character(UnicodeScalar($0)).hexDigitValue ?? 0) }
            bytes =
                [UInt8](repeating: 0, count: offset)
                + stride(from: 0, to: numbers.count, by: 2).map { numbers[$0] << 4 | numbers[$0 + 1] }
        }

        var testDescription: String { id }
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    static let samples: [Sample] = [
        Sample("jpeg", "ffd8ffe0"),
        Sample("jpeg-ls", "ffd8fff7000b"),
        Sample("png", "89504e470d0a1a0a"),
        Sample("mng", "8a4d4e470d0a1a0a"),
        Sample("jng", "8b4a4e470d0a1a0a"),
        Sample("gif", "474946383961"),
        Sample("webp", "5249464628000000574542500000000000000000"),
        Sample("avif", "00000018667479706d69663100000000617669666d696166000000086d646174"),
        Sample("avif", "000000186674797061766973000000006d73663169736f38000000086d646174"),
        Sample("heic", "000000146674797068656963000000006d696631000000086d646174"),
        Sample("heic", "00000014667479706d6966310000000068656963000000086d646174"),
        Sample("vvic", "00000018667479707676696300000000766d696631000000086d646174"),
        Sample("vvic", "00000014667479706d6966310000000076766963000000086d646174"),
        Sample("hej2k", "00000014667479706d696631000000006a326b69000000086d646174"),
        Sample("heif", "00000014667479706d696631000000006d696166000000086d646174"),
        Sample("jxl", "ff0afa1f"),
        Sample("jxl", "0000000c4a584c200d0a870a"),
        Sample("jp2", "0000000c6a5020200d0a870a"),
        Sample("jp2", "ff4fff51002f"),
        Sample("jxr", "4949bc01"),
        Sample("jbig2", "974a42320d0a1a0a01"),
        Sample("tiff", "49492a0008000000010000010300010000000100000000000000"),
        Sample("tiff", "4d4d002a00000008000101000003000000010000000100000000"),
        Sample(
            "tiff",
            "49492b00080000001000000000000000010000000000000000010300010000000000000001000000000000000000000000000000"),
        Sample(
            "tiff",
            "4d4d002b000800000000000000000010000000000000000101000003000000000000000100000000000000010000000000000000"),
        Sample("dng", "49492a0008000000020000010300010000000100000012c60300010000000100000000000000"),
        Sample(
            "bmp",
            "424d46020000000000003600000028000000080000000800000001001800000000000000000000000000000000000000000000000000"
        ),
        Sample(
            "bmp",
            "424d4602000000000000360000000c000000080000000800000001001800000000000000000000000000000000000000000000000000"
        ),
        Sample(
            "bmp",
            "424d4602000000000000360000007c000000080000000800000001001800000000000000000000000000000000000000000000000000"
        ),
        Sample("ico", "00000100030010100000010020006804000016000000"),
        Sample("cur", "00000200010010100000010020006804000016000000"),
        Sample("ani", "524946462800000041434f4e0000000000000000"),
        Sample("icns", "69636e7300000100"),
        Sample("tga", "54525545564953494f4e2d5846494c452e00", at: 90),
        Sample("pcx", "0a050108000000000000000000000000"),
        Sample("dcx", "b168de3a"),
        Sample("sgi", "01da01010003"),
        Sample("sgi", "01da00020002"),
        Sample("ras", "59a66a95"),
        Sample("qoi", "716f6966"),
        Sample("flif", "464c4946"),
        Sample("bpg", "425047fb"),
        Sample("farbfeld", "6661726266656c64"),
        Sample("exr", "762f31010200"),
        Sample("hdr", "233f52414449414e43450a"),
        Sample("hdr", "233f524742450a"),
        Sample("pfm", "50460a3320340a2d312e300a"),
        Sample("phm", "50480a3320340a2d312e300a"),
        Sample("phm", "50680a3320340a2d312e300a"),
        Sample("dpx", "53445058"),
        Sample("dpx", "58504453"),
        Sample("cineon", "802a5fd7"),
        Sample("dds", "444453207c000000"),
        Sample("ktx", "ab4b5458203131bb0d0a1a0a"),
        Sample("ktx2", "ab4b5458203230bb0d0a1a0a"),
        Sample("astc", "13aba15c040401"),
        Sample("pvr", "50565203"),
        Sample("vtf", "56544600"),
        Sample("blp", "424c5032"),
        Sample("ilbm", "464f524d00000100494c424d424d4844"),
        Sample("miff", "69643d496d6167654d616769636b"),
        Sample("xpm", "2f2a2058504d202a2f0a7374617469632063686172"),
        Sample("xbm", "23646566696e6520615f776964746820380a23646566696e6520615f68656967687420380a"),
        // An image of 32 × 32 pixels with 24 bits, and one of 64 × 2 pixels with 1 bit.
        Sample(
            "xwd",
            "00000076000000070000000200000018000000200000002000000000000000010000002000000001000000200000001800000060"
                + "0000000500ff00000000ff00000000ff"),
        Sample(
            "xwd",
            "0000016b000000070000000000000001000000400000000200000000000000000000000800000000000000080000000100000008"
                + "00000000000000000000000000000000"),
        Sample("wbmp", "00000b08ffe0", fileExtension: "wbmp"),
        Sample("pcd", "5043445f495049", at: 2048),
        Sample("rle", "52cc0000000008000800020308"),
        Sample("cr2", "49492a001000000043520200"),
        Sample("cr3", "0000001466747970637278200000000069736f6d000000086d646174"),
        Sample("raf", "46554a4946494c4d4343442d5241572030323031"),
        Sample("rw2", "49495500"),
        Sample("orf", "4949524f"),
        Sample("x3f", "464f5662"),
        Sample("mrw", "004d524d"),
        Sample("psd", "384250530001"),
        Sample("psb", "384250530002"),
        Sample("xcf", "67696d70207863662076303131"),
        Sample(
            "ora",
            "504b030400000000000000000000000000000000000000000000000000006d696d6574797065696d6167652f6f70656e726173746572"
        ),
        Sample(
            "kra",
            "504b030400000000000000000000000000000000000000000000000000006d696d65747970656170706c69636174696f6e2f782d6b72697461"
        ),
        Sample("svg", "3c3f786d6c2076657273696f6e3d27312e30273f3e3c7376672f3e"),
        // Compressed by gzip -n9.
        Sample(
            "svg",
            "1f8b0800000000000203b3b1afc8cd51284b2d2acecccfb35532d43350b2b7b3292e4b57008ae715db2a6594941458e9eb979797"
                + "eb951bebe517a5eb1b191818e8035528e9db01004af85c9b3e000000"),
        Sample("pdf", "255044462d312e370a"),
        Sample("eps", "252150532d41646f62652d332e3020455053462d332e300a"),
        Sample("eps", "c5d0d3c6"),
        Sample("ps", "252150532d41646f62652d332e300a"),
        Sample("emf", "0100000000000000000000000000000000000000000000000000000000000000000000000000000020454d46"),
        Sample("wmf", "d7cdc69a"),
        Sample("pict", "001102ff0c00", at: 522),
        Sample("djvu", "41542654464f524d00000100444a5655"),
        Sample("fits", "53494d504c4520203d202020202020202020202020202020202020202054"),
        Sample("dicom", "4449434d", at: 128),
        Sample("vicar", "4c424c53495a453d31303234"),
        Sample("mj2", "0000000c6a5020200d0a870a00000014667479706d6a7032000000006d6a7032"),
        Sample("mj2", "0000000c6a5020200d0a870a00000014667479706d6a3273000000006d6a3273"),
        Sample("mj2", "00000014667479706d6a7032000000006d6a703200000008"),
        Sample("mov", "00000010667479707174202000000000000000086d646174"),
        Sample("mp4", "000000146674797069736f6d0000000061766331000000086d646174"),
        Sample("mp4", "00000010667479706d70343200000000000000086d646174"),
        Sample("webm", "1a45dfa300000000000000007765626d"),
        Sample("mkv", "1a45dfa300000000000000006d6174726f736b61"),
        Sample("avi", "5249464628000000415649200000000000000000"),
        Sample("flic", "0001000012af09004000400008000300"),
        Sample("html", "3c21444f43545950452068746d6c3e0a3c68746d6c3e"),
        Sample("html", "0a3c68746d6c206c616e673d27656e273e"),
        Sample("html", "3c48544d4c3e"),
        Sample("zip", "504b0304"),
        Sample("gzip", "1f8b0800"),
        Sample("7z", "377abcaf271c"),
        Sample("rar", "526172211a070100"),
        Sample("elf", "7f454c46"),
    ]

    private func recognized(_ bytes: [UInt8], fileExtension: String? = nil) -> RecognizedFormat? {
        KnownFormat.recognized(
            by: FormatSniffer(
                head: Array(bytes.prefix(FormatSniffer.headCount)), tail: bytes.suffix(FormatSniffer.tailCount)),
            fileExtension: fileExtension)
    }

    @Test(arguments: samples) func `are recognized by`(sample: Sample) {
        #expect(recognized(sample.bytes, fileExtension: sample.fileExtension)?.format.id == sample.id)
    }

    @Test func `with a short signature are recognized by the file name extension too`() throws {
        let bytes: [UInt8] = [0, 0, 0x0B, 0x08, 0xFF, 0xE0]
        for fileExtension in [nil, "bin", "png"] { #expect(recognized(bytes, fileExtension: fileExtension) == nil) }
        // A longer signature has precedence.
        let icon = try #require(Self.samples.first { $0.id == "ico" }).bytes
        #expect(recognized(icon, fileExtension: "wbmp")?.format == "ico")

        let source = ImageSource(bytes, name: "folder/a.WBMP")
        let place = TemporaryDirectory()
        let plugin = "libcoder-farbfeld.so"
        place.write(try #require(readFile("\(Repository.products)/\(plugin)")), to: plugin)
        let small = testHost(place.path).manager
        let error = #expect(throws: CoderError.self) { try small.decode(source) }
        #expect(error?.message == "this looks like WBMP (image/vnd.wap.wbmp), which no installed plugin reads")
    }

    @Test func `are more than sixty images, each with its names and a sample`() {
        let all = KnownFormat.all.map(\.names)
        let ids = all.map(\.format.id)
        #expect(all.filter(\.isImage).count > 60)
        #expect(Set(ids).count == ids.count)
        #expect(Set(Self.samples.map(\.id)) == Set(ids))
        for format in all {
            #expect(!format.name.isEmpty && !format.extensions.isEmpty, "\(format.format)")
            #expect(format.mimeType.map { $0.split(separator: "/").count == 2 } ?? false, "\(format.format)")
            #expect(format.typeIdentifier.map { $0.contains(".") } ?? true, "\(format.format)")
        }
    }

    @Test(arguments: [
        "", "BM and some words", "II and more", "GIF", "RIFF", "hello, world", "P", "\u{0}\u{0}\u{1}\u{0}\u{0}\u{0}",
    ])
    func `are not seen in`(start: String) {
        #expect(recognized(Self.text(start)) == nil)
        #expect(recognized(Self.text(start) + [UInt8](repeating: 0, count: 4096)) == nil)
    }

    @Test func `are the formats of the fixtures`() throws {
        var seen: Set<String> = []
        for fixture in Fixture.valid where fixture.format != "pnm" && fixture.format != "pam" {
            let found = try #require(recognized(fixture.bytes), "\(fixture.name)")
            // An animated PNG is a PNG for programs that do not know animations.
            #expect(found.format == (fixture.format == "apng" ? "png" : fixture.format), "\(fixture.name)")
            seen.insert(found.format.id)
        }
        #expect(
            seen == [
                "jpeg", "png", "gif", "webp", "heic", "avif", "farbfeld", "bmp", "tiff", "qoi", "tga", "pcx", "sgi",
                "ras", "xbm", "xpm", "jxl", "ico", "cur", "icns", "dds", "psd", "psb", "jp2", "exr", "dcx",
            ])
    }

    // MARK: The host

    private static let host = testHost(Repository.products)

    @Test func `are named in the error`() throws {
        let raw = ImageSource(Self.text("FUJIFILMCCD-RAW 0201"), name: "a.jpg")

        let error = #expect(throws: CoderError.self) { try Self.host.manager.decode(raw) }

        #expect(error?.code == .noCoder)
        #expect(error?.message == "this looks like Fujifilm RAF (image/x-fuji-raf), which no installed plugin reads")
        #expect(error?.hint?.contains("coderhost list --formats") == true)
        #expect(error?.recognizedFormat == Self.host.manager.recognizedFormat(of: raw))
        #expect(error?.recognizedFormat?.typeIdentifier == "com.fuji.raw-image")
    }

    @Test func `are no images if they are pages, videos or archives`() throws {
        let page = ImageSource(Self.text("<!DOCTYPE html><html></html>"))
        let error = #expect(throws: CoderError.self) { try Self.host.manager.decode(page) }
        #expect(error?.code == .unrecognizedFormat)
        #expect(error?.message == "this looks like an HTML page (text/html), which is not an image")
        #expect(error?.recognizedFormat?.isImage == false)
    }

    @Test func `never precede the format of an installed plugin`() throws {
        let manager = Self.host.manager
        let png = ImageSource(Fixture.named("apng/three-frames.png").bytes)
        #expect(manager.recognizedFormat(of: png)?.format == "apng")
        let photo = try #require(manager.recognizedFormat(of: ImageSource(Fixture.named("images/photo.jpg").bytes)))
        #expect(photo.name == "JPEG" && photo.mimeType == "image/jpeg" && photo.typeIdentifier == "public.jpeg")
        #expect(photo.extensions.first == "jpg")
        // Without any plugin, the table answers.
        let empty = testHost("/nonexistent/folder").manager
        #expect(empty.recognizedFormat(of: png)?.format == "png")
        #expect(empty.recognizedFormat(of: ImageSource(Self.text("nothing"))) == nil)
    }
}
