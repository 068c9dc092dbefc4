import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

@Suite struct `PNG encoder` {
    private static let formats: [PixelFormat] = [
        .gray8, .grayAlpha8, .rgb8, .rgba8, .gray16, .grayAlpha16, .rgb16, .rgba16,
    ]
    private static let options: [CoderOptions] = [
        [:], ["png.interlaced": .bool(true)], ["effort": .integer(0)], ["effort": .integer(9)],
        ["png.filter": .string("none")], ["png.filter": .string("sub")], ["png.filter": .string("up")],
        ["png.filter": .string("avg")], ["png.filter": .string("paeth"), "png.interlaced": .bool(true)],
    ]

    @Test(arguments: formats, options)
    func `keeps every sample`(_ format: PixelFormat, _ options: CoderOptions) throws {
        let source = try pngPattern(PixelSize(37, 70), format)
        let bytes = try encodePNG(source, options)
        let image = try decodePNG(bytes)
        #expect(image.info.nativeFormat == format)
        #expect(image.samples == DecodedPNG(info: image.info, buffer: source, blobs: []).samples)
        #expect(pngChunks(bytes)[0].data[12] == (options.bool("png.interlaced") == true ? 1 : 0))
    }

    @Test func `drops the alpha channel of an opaque pixel format`() throws {
        for (format, type) in [
            (PixelFormat(.rgba, alpha: .opaque), 2), (PixelFormat(.grayAlpha, bits: 16, alpha: .opaque), 0),
        ] {
            let source = try pngPattern(PixelSize(3, 2), format)
            let bytes = try encodePNG(source)
            #expect(Int(pngChunks(bytes)[0].data[9]) == type)
            let count = format.channels.count
            let image = try decodePNG(bytes)
            let all = DecodedPNG(info: image.info, buffer: source, blobs: []).samples
            #expect(image.samples == all.enumerated().filter { $0.offset % count != count - 1 }.map(\.element))
        }
    }

    @Test(arguments: [(1, 1), (2, 1), (3, 2), (16, 4), (17, 8), (256, 8)])
    func `writes the smallest palette that is exact`(_ colors: Int, _ depth: Int) throws {
        let source = try PixelBuffer(size: PixelSize(colors, 2), format: .rgba8)
        for y in 0..<2 {
            source.withMutableRow(y) { row in
                for x in 0..<colors {
                    let pixel: [UInt8] = [UInt8(x), UInt8(255 - x), 7, x % 3 == 1 ? UInt8(x / 2) : 255]
                    for (place, value) in pixel.enumerated() {
                        row.storeBytes(of: value, toByteOffset: 4 * x + place, as: UInt8.self)
                    }
                }
            }
        }
        for interlaced in [false, true] {
            let bytes = try encodePNG(source, ["png.palette": .bool(true), "png.interlaced": .bool(interlaced)])
            #expect(pngChunks(bytes)[0].data[8...9] == [UInt8(depth), 3])
            #expect(pngChunks(bytes).first { $0.name == "PLTE" }?.data.count == 3 * colors)
            let image = try decodePNG(bytes, as: .rgba8)
            #expect(image.samples == DecodedPNG(info: image.info, buffer: source, blobs: []).samples)
        }
    }

    @Test func `writes no palette for 257 colors`() throws {
        let source = try PixelBuffer(size: PixelSize(257, 1), format: .rgb8)
        source.withMutableRow(0) { row in
            for x in 0..<257 {
                row.storeBytes(of: UInt8(x & 0xFF), toByteOffset: 3 * x, as: UInt8.self)
                row.storeBytes(of: UInt8(x >> 8), toByteOffset: 3 * x + 1, as: UInt8.self)
            }
        }
        let bytes = try encodePNG(source, ["png.palette": .bool(true)])
        #expect(pngChunks(bytes)[0].data[9] == 2)
        #expect(
            try decodePNG(bytes).samples == DecodedPNG(info: decodePNG(bytes).info, buffer: source, blobs: []).samples)
    }

    @Test func `makes smaller files at higher effort`() throws {
        let source = try pngPattern(PixelSize(200, 200), .rgb8)
        let sizes = try [0, 1, 9].map { try encodePNG(source, ["effort": .integer(Int64($0))]).count }
        #expect(sizes[0] > 200 * 200 * 3 && sizes[1] < sizes[0] / 10 && sizes[2] <= sizes[1])
        #expect(throws: CoderError.self) { try encodePNG(source, ["effort": .integer(10)]) }
        #expect(throws: CoderError.self) { try encodePNG(source, ["png.filter": .string("best")]) }
    }

    @Test func `carries metadata`() throws {
        let blobs = [
            MetadataBlob(.icc, iccProfile()), MetadataBlob(.exif, ExifOrientation.blob(.left)),
            MetadataBlob(.xmp, Array("<ž/>".utf8)), MetadataBlob(.text, Array("plain".utf8), key: "Comment"),
            MetadataBlob(.text, Array("Žofie".utf8), key: "Author"),
            MetadataBlob(.text, [UInt8](repeating: 0x61, count: 5000), key: "Long"),
        ]
        let bytes = try encodePNG(try pngPattern(PixelSize(2, 2), .rgb8), blobs: blobs) {
            $0.density = .perMeter(x: 2835, y: 2836)
        }
        let image = try decodePNG(bytes)
        #expect(Set(image.blobs) == Set(blobs) && image.blobs.count == blobs.count)
        #expect(image.info.density == .perMeter(x: 2835, y: 2836))
        #expect(image.info.orientation == .left)
        #expect(image.info.color == ColorDescription(hasProfile: true))
        #expect(bytes.count < 5000, "long text is deflated")
    }

    @Test func `writes the color description before the pixels`() throws {
        let source = try pngPattern(PixelSize(2, 2), .rgb16)
        let srgb = try encodePNG(source) { $0.color = ColorDescription(codePoints: .sRGB) }
        #expect(pngChunks(srgb).map(\.name).contains("sRGB"))
        #expect(try decodePNG(srgb).info.color.codePoints == .sRGB)
        let video = CodePoints(primaries: 9, transfer: 18, matrix: 9, isFullRange: false)
        let hlg = try encodePNG(source) { $0.color = ColorDescription(codePoints: video, prefersCodePoints: true) }
        #expect(pngChunks(hlg)[1].name == "cICP" && pngChunks(hlg)[1].data == [9, 18, 0, 1])
    }

    @Test func `writes only one color description`() throws {
        let source = try pngPattern(PixelSize(2, 2), .rgb8)
        let points = PrimaryPoints(
            redX: 68_000, redY: 32_000, greenX: 26_500, greenY: 69_000, blueX: 15_000, blueY: 6000, whiteX: 31_270,
            whiteY: 32_900)
        let profile = MetadataBlob(.icc, iccProfile())
        func colors(_ blobs: [MetadataBlob], _ color: ColorDescription) throws -> Set<String> {
            let info = ImageInfo(size: source.size, nativeFormat: source.format, color: color)
            let carried = blobs.filter { PNGPreamble.carries($0, of: info) }
            let file = try encodePNG(source, blobs: carried) {
                $0.color = color
                $0.color.gamma = 100_000
                $0.color.primaries = points
            }
            return Set(pngChunks(file).map(\.name)).intersection(["cICP", "iCCP", "sRGB", "gAMA", "cHRM"])
        }
        let video = CodePoints(primaries: 1, transfer: 13, matrix: 6, isFullRange: false)
        let none = CodePoints(primaries: 2, transfer: 2, matrix: 2, isFullRange: true)
        let profiled = ColorDescription(hasProfile: true)
        #expect(try colors([], ColorDescription()) == ["gAMA", "cHRM"])
        #expect(try colors([], ColorDescription(codePoints: video)) == ["sRGB"])
        #expect(try colors([profile], profiled) == ["iCCP"])
        #expect(try colors([profile], ColorDescription()) == ["iCCP"])
        #expect(try colors([profile], ColorDescription(codePoints: video, hasProfile: true)) == ["iCCP"])
        #expect(try colors([], ColorDescription(codePoints: none)) == ["gAMA", "cHRM"])
    }

    @Test func `refuses images that PNG cannot store`() throws {
        let encoder = try PNGEncoder(EncoderSession())
        try encoder.begin(ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgb8), to: ByteSink())
        #expect(try !encoder.add(MetadataBlob(.iptc, [1, 2, 3])))
        #expect(try !encoder.add(MetadataBlob(.text, [0x61], key: "")))
        #expect(try !encoder.add(MetadataBlob(.text, [0x61, 0, 0x62], key: "Nul")))
        #expect(try !encoder.add(MetadataBlob(.text, [0xFF], key: "NotUTF8")))
        #expect(throws: CoderError.self) { try encoder.finish() }
        let animation = ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgb8, frameCount: 2)
        #expect(throws: CoderError.self) { try PNGEncoder(EncoderSession()).begin(animation, to: ByteSink()) }
        let float = ImageInfo(size: PixelSize(1, 1), nativeFormat: PixelFormat(.rgba, bits: 32, numeric: .float))
        #expect(try PNGEncoder(EncoderSession()).acceptedFormats(for: float) == [.rgba16, .rgba8])
    }
}
