import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Netpbm` {
    static let formats: [ImageFormat] = ["pam", "pnm", "pbm", "pgm", "ppm", "netpbm"]
    static let valid = Fixture.valid.filter { formats.contains($0.format) }
    static let bad = Fixture.bad.filter { formats.contains($0.format) || $0.name.hasPrefix("netpbm/") }

    private let manager = testHost().manager

    @Test func `has fixtures`() {
        #expect(Self.valid.count >= 40)
        #expect(Self.bad.count >= 29)
    }

    @Test(arguments: valid) func `decodes to the pixels of another decoder`(fixture: Fixture) throws {
        let expect = try #require(fixture.expect)

        let image = try manager.decode(ImageSource(fixture.bytes, name: fixture.name))

        #expect(image.info.size == expect.size)
        #expect(image.info.frameCount == 1)
        if let bits = expect.bitDepth { #expect(image.info.bitDepth == bits) }
        if let alpha = expect.hasAlpha { #expect(image.info.hasAlpha == alpha) }
        #expect(
            PixelDigest.of(image.pixels) == expect.pixelSHA256,
            "\(FailureArtifact.keep(image.pixels, as: fixture.name))")
    }

    @Test(arguments: bad) func `refuses`(fixture: Fixture) throws {
        let error = #expect(throws: CoderError.self) {
            try manager.decode(ImageSource(fixture.bytes, name: fixture.name))
        }

        #expect(error.map(fixture.accepts) == true, "\(String(describing: error)) is not one of \(fixture.errors)")
    }

    @Test(arguments: bad + valid) func `handles truncation anywhere`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        for count in Array(0..<min(bytes.count, 80)) + Array(stride(from: 80, to: bytes.count, by: 61)) {
            let source = ImageSource(Array(bytes[..<count]))
            // A file that is truncated within trailing data still decodes.
            do throws(CoderError) { _ = try manager.decode(source) } catch {
                #expect(
                    [.truncated, .corrupt, .unrecognizedFormat, .limitExceeded, .unsupportedFeature].contains(
                        error.code))
            }
        }
    }

    @Test(arguments: valid) func `waits for a source that grows`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let source = try ImageSource(growingTo: bytes.count, name: fixture.name)
        var suspensions = 0
        let step = max(1, bytes.count / 40)
        for start in stride(from: 0, to: bytes.count, by: step) {
            do throws(CoderError) { _ = try manager.decode(source) } catch {
                if error.code == .needsInput { suspensions += 1 } else { #expect(source.count < 3, "\(error)") }
            }
            try source.append(Array(bytes[start..<min(start + step, bytes.count)]))
        }
        source.finish()

        #expect(PixelDigest.of(try manager.decode(source).pixels) == fixture.expect?.pixelSHA256)
        #expect(suspensions > 0)
    }

    // MARK: Parts

    @Test(arguments: valid) func `decodes a part to the pixels of the whole`(fixture: Fixture) throws {
        let source = ImageSource(fixture.bytes, name: fixture.name)
        let whole = try manager.decode(source).pixels
        let (width, height) = (whole.size.width, whole.size.height)
        let parts = [
            PixelRect(x: 0, y: height / 2, width: width, height: height - height / 2),
            PixelRect(x: width / 3, y: 0, width: width - width / 3, height: (height + 1) / 2),
            PixelRect(x: width - 1, y: height - 1, width: 1, height: 1),
        ]
        for part in parts {
            var options = DecodeOptions()
            options.region = part
            let pixels = try manager.decode(source, options).pixels
            #expect(pixels.size == part.size)
            let (bytes, bytesPerPixel) = (pixels.packed, whole.format.bytesPerPixel)
            for y in 0..<part.height {
                for x in 0..<part.width {
                    let first = (y * part.width + x) * bytesPerPixel
                    #expect(
                        Array(bytes[first..<first + bytesPerPixel]) == whole.pixel(part.x + x, part.y + y), "\(part)")
                }
            }
        }
    }

    @Test func `reads only the part`() throws {
        let header = Array("P6 1000 1000 255\n".utf8)
        // The rows below the part are missing.
        let source = ImageSource(header + [UInt8](repeating: 7, count: 3 * 1000 * 20))
        var options = DecodeOptions()
        options.region = PixelRect(x: 990, y: 10, width: 10, height: 10)

        #expect(try manager.decode(source, options).pixels.packed == [UInt8](repeating: 7, count: 300))
        options.region?.y = 11
        #expect { try manager.decode(source, options) } throws: { ($0 as? CoderError)?.code == .truncated }
    }

    @Test(arguments: valid) func `delivers the rows of the whole image`(fixture: Fixture) throws {
        let source = ImageSource(fixture.bytes, name: fixture.name)
        let whole = try manager.decode(source).pixels
        let header = Array(fixture.bytes.prefix(2))
        try manager.withSession(source) { session throws(CoderError) in
            let image = try session.rowImage(DecodeOptions())
            // Text samples are read sequentially from the start.
            #expect((image == nil) == (header[1] < UInt8(ascii: "4")))
            guard let image else { return }
            var bytes: [UInt8] = []
            for y in 0..<image.info.size.height { try image.rows.withRow(y) { bytes += copyBytes($0) } }
            #expect(bytes == whole.packed)
        }
    }

    // MARK: Writing

    static let pixelFormats: [PixelFormat] = [
        .gray8, .gray16, .grayAlpha8, .grayAlpha16, .rgb8, .rgb16, .rgba8, .rgba16,
    ]

    private func image(_ format: PixelFormat, _ size: PixelSize) throws -> DecodedImage {
        var random = SeededRandom(3)
        let bytes = (0..<size.width * size.height * format.bytesPerPixel).map { _ in
            UInt8.random(in: 0...255, using: &random)
        }
        return DecodedImage(
            info: ImageInfo(size: size, nativeFormat: format, bitDepth: format.bits),
            pixels: try .of(size, format, bytes),
            format: "x", coder: "x")
    }

    @Test(arguments: pixelFormats, [PixelSize(1, 1), PixelSize(7, 5), PixelSize(300, 200)])
    func `keeps every sample in PAM`(format: PixelFormat, size: PixelSize) throws {
        let image = try image(format, size)

        let bytes = try manager.encode(image, to: "pam")
        let again = try manager.decode(ImageSource(bytes))

        let type = ["GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"][format.channels.count - 1]
        let header =
            "P7\nWIDTH \(size.width)\nHEIGHT \(size.height)\nDEPTH \(format.channels.count)\n"
            + "MAXVAL \(format.bits == 8 ? 255 : 65_535)\nTUPLTYPE \(type)\nENDHDR\n"
        #expect(bytes.starts(with: Array(header.utf8)))
        #expect(bytes.count == header.utf8.count + size.width * size.height * format.bytesPerPixel)
        #expect(again.pixels.format == format)
        #expect(again.pixels.packed == image.pixels.packed)
        #expect(again.info.bitDepth == format.bits)
        #expect(again.info.hasAlpha == format.channels.hasAlpha)
    }

    @Test(arguments: pixelFormats) func `keeps every sample in PNM except alpha, which is drawn over white`(
        format: PixelFormat
    ) throws {
        let size = PixelSize(7, 5)
        let image = try image(format, size)
        let sink = MemorySink()

        let report = try manager.encode(image, to: "pnm", into: sink)
        let again = try manager.decode(ImageSource(sink.bytes))

        let isGray = format.channels.count < 3
        #expect(sink.bytes.starts(with: Array("P\(isGray ? 5 : 6)\n7 5\n\(format.bits == 8 ? 255 : 65_535)\n".utf8)))
        #expect(again.pixels.format == PixelFormat(isGray ? .gray : .rgb, bits: format.bits))
        if !format.channels.hasAlpha { #expect(again.pixels.packed == image.pixels.packed) }
        #expect(
            report.warnings
                == (format.channels.hasAlpha ? ["the format has no alpha: the image is drawn over white"] : []))
        #expect(report.coder == "coderhost.pnm")
    }

    @Test func `stores 16 bits with the high byte first`() throws {
        let buffer = try PixelBuffer(size: PixelSize(1, 1), format: .gray16)
        buffer.withMutableRow(0) { $0.storeBytes(of: UInt16(0x1234), toByteOffset: 0, as: UInt16.self) }
        let image = DecodedImage(
            info: ImageInfo(size: PixelSize(1, 1), nativeFormat: .gray16, bitDepth: 16), pixels: buffer, format: "x",
            coder: "x")

        #expect(try manager.encode(image, to: "pnm").suffix(2) == [0x12, 0x34])
        #expect(try manager.encode(image, to: "pam").suffix(2) == [0x12, 0x34])
    }

    @Test(
        .enabled(if: (try? run(["pamtopnm", "-version"])) != nil, "Netpbm is not installed"), arguments: pixelFormats)
    func `is understood by Netpbm's own tools`(format: PixelFormat) throws {
        let image = try image(format, PixelSize(7, 5))

        let result = try run(["pamfile"], input: try manager.encode(image, to: "pam"))

        #expect(result.stdout.contains("7 by 5 by \(format.channels.count) maxval \(format.bits == 8 ? 255 : 65_535)"))
    }
}
