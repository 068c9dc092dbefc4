import CoderPluginKit
import ImageModel
import TIFFCodec
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `TIFF encoder` {
    private static let size = PixelSize(53, 41)

    /// Pixels that no predictor and no codec leaves trivial.
    private static func pixels(_ format: PixelFormat) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                if format.numeric == .float {
                    for at in stride(from: 0, to: row.byteCount, by: 4) {
                        row.storeBytes(of: Float(at * y) / 7000 - 1, toByteOffset: at, as: Float.self)
                    }
                } else {
                    for at in row.byteOffsets {
                        row.storeBytes(
                            of: UInt8(truncatingIfNeeded: at * at / 3 + y * 31), toByteOffset: at, as: UInt8.self)
                    }
                }
            }
        }
        return buffer
    }

    private static func encoded(
        _ buffer: PixelBuffer, _ options: CoderOptions = [:], blobs: [MetadataBlob] = [], bandRows: Int? = nil,
        info: ImageInfo? = nil
    ) throws -> [UInt8] {
        let encoder = try TIFFEncoder(EncoderSession(options: options))
        let info = info ?? ImageInfo(size: buffer.size, nativeFormat: buffer.format)
        #expect(try encoder.acceptedFormats(for: info).contains(buffer.format))
        let sink = ByteSink()
        try encoder.begin(info, to: sink)
        for blob in blobs { #expect(try encoder.add(blob)) }
        let frame = FrameInfo(index: 0, rect: PixelRect(buffer.size))
        if let bandRows {
            let step = try encoder.beginRows(frame)
            let rows = step * bandRows
            for y in stride(from: 0, to: buffer.size.height, by: rows) {
                let band = try PixelBuffer(
                    size: PixelSize(buffer.size.width, min(rows, buffer.size.height - y)), format: buffer.format)
                for row in 0..<band.size.height {
                    buffer.withRow(y + row) { source in
                        band.withMutableRow(row) { target in
                            for at in source.byteOffsets {
                                target.storeBytes(of: source.byte(at: at), toByteOffset: at, as: UInt8.self)
                            }
                        }
                    }
                }
                try encoder.addRows(Surface(band))
            }
        } else {
            try encoder.add(frame, pixels: Surface(buffer))
        }
        try encoder.finish()
        return sink.written
    }

    private static func decoded(_ bytes: [UInt8]) throws -> (info: ImageInfo, pixels: [UInt8], blobs: [MetadataBlob]) {
        let decoder = try TIFFDecoder(
            DecoderSession(source: ByteSource(bytes), options: ["tiff.float": .bool(true)]))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        return (info, buffer.packed, try decoder.metadata())
    }

    private static let formats: [PixelFormat] = [
        .gray8, .gray16, .grayAlpha8, .rgb8, .rgb16, .rgba8, .rgba16, .cmyk8, PixelFormat(.rgba, alpha: .premultiplied),
        PixelFormat(.rgb, bits: 32, numeric: .float), PixelFormat(.gray, bits: 32, numeric: .float),
    ]

    @Test(arguments: formats, ["none", "lzw", "deflate", "zstd"])
    func `keeps every sample`(format: PixelFormat, compression: String) throws {
        let image = try Self.pixels(format)
        for tile in [0, 16, 32] {
            let options: CoderOptions = [
                "tiff.compression": .string(compression), "tiff.tile": .integer(Int64(tile)),
            ]
            let result = try Self.decoded(try Self.encoded(image, options))

            #expect(result.info.nativeFormat == format)
            #expect(result.pixels == image.packed, "tiles of \(tile)")
            #expect(result.info.tileSize == (tile > 0 ? PixelSize(tile, tile) : nil))
        }
    }

    @Test(arguments: [PixelFormat.rgb8, .rgba8]) func `keeps every pixel in lossless WebP`(format: PixelFormat) throws {
        let image = try Self.pixels(format)

        let bytes = try Self.encoded(image, ["tiff.compression": .string("webp"), "lossless": .bool(true)])

        let result = try Self.decoded(bytes)
        #expect(result.info.nativeFormat == format)
        // Colors of transparent pixels are free.
        if format == .rgb8 { #expect(result.pixels == image.packed) }
    }

    @Test(arguments: [0, 32]) func `stays close with JPEG`(tile: Int) throws {
        let image = try PixelBuffer(size: Self.size, format: .rgb8)
        for y in 0..<Self.size.height {
            image.withMutableRow(y) { row in
                for at in row.byteOffsets { row.storeBytes(of: UInt8(at + y), toByteOffset: at, as: UInt8.self) }
            }
        }

        let bytes = try Self.encoded(
            image,
            ["tiff.compression": .string("jpeg"), "quality": .real(95), "tiff.tile": .integer(Int64(tile))])

        let result = try Self.decoded(bytes)
        #expect(result.info.isLossy)
        for (mine, theirs) in zip(result.pixels, image.packed) { #expect(abs(Int(mine) - Int(theirs)) <= 6) }
    }

    @Test func `makes every pixel black or white for a fax`() throws {
        let image = try Self.pixels(.gray8)

        let result = try Self.decoded(try Self.encoded(image, ["tiff.compression": .string("group4")]))

        #expect(result.info.bitDepth == 1)
        #expect(result.pixels == image.packed.map { $0 < 128 ? 0 : 255 })
    }

    @Test(arguments: [1, 2]) func `writes the same bytes in bands`(bandRows: Int) throws {
        let image = try Self.pixels(.rgb8)
        for tile in [0, 16] {
            let options: CoderOptions = ["tiff.tile": .integer(Int64(tile))]

            #expect(try Self.encoded(image, options, bandRows: bandRows) == Self.encoded(image, options))
        }
    }

    @Test(arguments: [("on", 43), ("off", 42), ("auto", 42)] as [(String, UInt8)])
    func `writes BigTIFF on request`(value: String, number: UInt8) throws {
        let image = try Self.pixels(.rgb8)

        let bytes = try Self.encoded(image, ["tiff.bigtiff": .string(value)])

        #expect(bytes.prefix(4) == [0x49, 0x49, number, 0])
        #expect(try Self.decoded(bytes).pixels == image.packed)
    }

    /// 2835 pixels per meter are 72.009 per inch: the nearest number of meters to 72.
    @Test(arguments: [(2835, 72), (11_811, 300), (3780, 96)] as [(UInt32, Int)])
    func `stores whole numbers of pixels per inch`(perMeter: UInt32, perInch: Int) throws {
        let image = try Self.pixels(.rgb8)
        let info = ImageInfo(size: image.size, nativeFormat: .rgb8, density: .perMeter(x: perMeter, y: perMeter))

        let bytes = try Self.encoded(image, [:], info: info)

        let fraction = [UInt8(perInch & 255), UInt8(perInch >> 8), 0, 0, 1, 0, 0, 0]
        #expect(bytes.indices.count { bytes[$0...].starts(with: fraction) } >= 2)
    }

    @Test(arguments: ["on", "off"]) func `keeps metadata`(big: String) throws {
        let source = try TIFFDecoder(
            DecoderSession(source: ByteSource(Fixture.named("tiff/metadata.tif").bytes)))
        _ = try source.readHeader()
        let blobs = try source.metadata() + [MetadataBlob(.icc, [UInt8](repeating: 7, count: 300))]
        let image = try Self.pixels(.rgb8)
        let info = ImageInfo(
            size: image.size, nativeFormat: .rgb8, orientation: .right, density: .perMeter(x: 11_811, y: 11_811))

        let bytes = try Self.encoded(image, ["tiff.bigtiff": .string(big)], blobs: blobs, info: info)

        let result = try Self.decoded(bytes)
        #expect(result.info.orientation == .right)
        #expect(result.info.density == .perMeter(x: 11_811, y: 11_811))
        for kind in [MetadataBlob.Kind.xmp, .icc] {
            #expect(result.blobs.first { $0.kind == kind } == blobs.first { $0.kind == kind })
        }
        let iptc = try #require(blobs.first { $0.kind == .iptc }).bytes
        #expect(result.blobs.first { $0.kind == .iptc }?.bytes == iptc)
        let stored = try #require(result.blobs.first { $0.kind == .exif })
        let exif = try #require(TIFFStructure(stored.bytes))
        #expect(exif.field(271, in: exif.first)?.count == 6)
        let camera = try #require(exif.number(34_665, in: exif.first))
        #expect(exif.field(37_500, in: camera)?.count == 10)
        let place = try #require(exif.number(34_853, in: exif.first))
        let degrees = try #require(exif.field(2, in: place))
        #expect(exif.long(at: exif.long(at: degrees.place)) == 48)
    }

    @Test(
        arguments: [
            ["tiff.compression": .string("jpeg"), "lossless": .bool(true)], ["tiff.tile": .integer(17)],
            ["tiff.compression": .string("none"), "quality": .real(101)],
        ] as [CoderOptions])
    func `rejects options that contradict each other`(options: CoderOptions) throws {
        let error = #expect(throws: CoderError.self) { try TIFFEncoder(EncoderSession(options: options)) }

        #expect(error?.code == .invalidArgument)
        #expect(error?.hint != nil)
    }
}
