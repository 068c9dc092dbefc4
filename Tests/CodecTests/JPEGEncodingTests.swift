import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("jpeg/\(name)"))) }

/// A buffer of pixels that `sample` returns by row and byte of the row.
private func buffer(
    _ size: PixelSize, _ format: PixelFormat, _ sample: (Int, Int) -> UInt8
) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: format)
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for offset in row.byteOffsets {
                row.storeBytes(of: sample(y, offset), toByteOffset: offset, as: UInt8.self)
            }
        }
    }
    return buffer
}

/// The fixtures' image: red to the right, green downwards, blue in squares.
private func gradient(_ format: PixelFormat = .rgb8) throws -> PixelBuffer {
    try buffer(PixelSize(40, 24), format) { y, offset in
        let x = offset / format.bytesPerPixel
        let blue: UInt8 = (x / 8 + y / 8) % 2 == 1 ? 200 : 40
        let rgb = [UInt8(x * 6), UInt8(y * 10), blue, 77]
        let channel = offset % format.bytesPerPixel
        return rgb[format.channels == .bgra && channel < 3 ? 2 - channel : channel]
    }
}

private func encode(
    _ buffer: PixelBuffer, _ options: CoderOptions = [:], blobs: [MetadataBlob] = [],
    change: (inout ImageInfo) -> Void = { _ in }
) throws -> [UInt8] {
    let encoder = try JPEGEncoder(EncoderSession(options: options))
    var info = ImageInfo(size: buffer.size, nativeFormat: buffer.format)
    change(&info)
    let sink = ByteSink()
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    let surface = Surface(buffer)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: surface)
    try encoder.finish()
    return sink.written
}

/// The error of encoding.
private func failure(_ size: PixelSize, _ options: CoderOptions) -> CoderError? {
    do throws(CoderError) {
        let encoder = try JPEGEncoder(EncoderSession(options: options))
        try encoder.begin(ImageInfo(size: size, nativeFormat: .gray8), to: ByteSink())
        let surface = Surface(try PixelBuffer(size: size, format: .gray8))
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: surface)
        return nil
    } catch {
        return error
    }
}

/// The segments up to the first scan: marker and body.
private func segments(_ bytes: [UInt8]) -> [(marker: UInt8, body: [UInt8])] {
    var found: [(marker: UInt8, body: [UInt8])] = []
    var at = 2
    while at + 4 <= bytes.count, found.last?.marker != 0xDA {
        let length = Int(bytes[at + 2]) << 8 + Int(bytes[at + 3])
        found.append((bytes[at + 1], Array(bytes[at + 4..<at + 2 + length])))
        at += 2 + length
    }
    return found
}

@Suite struct `JPEG encoding` {
    @Test func `writes the same bytes as libjpeg-turbo's own program`() throws {
        #expect(try encode(gradient(), ["quality": .real(95)]) == file("baseline-420.jpg"))
        #expect(
            try encode(
                gradient(),
                [
                    "quality": .integer(95), "jpeg.progressive": .bool(true), "jpeg.subsampling": .string("422"),
                ]) == file("progressive-422.jpg"))
        #expect(
            try encode(gradient(), ["quality": .real(95), "jpeg.arithmetic": .bool(true)])
                == file("arithmetic-420.jpg"))
    }

    @Test(arguments: [PixelFormat(.rgba, alpha: .opaque), PixelFormat(.bgra, alpha: .opaque)])
    func `encodes opaque four-byte pixels to the same image`(format: PixelFormat) throws {
        #expect(try encode(gradient(format), ["quality": .real(95)]) == file("baseline-420.jpg"))
    }

    @Test(arguments: [("444", 0x11), ("422", 0x21), ("420", 0x22)] as [(String, UInt8)])
    func `subsamples chroma as requested`(name: String, factors: UInt8) throws {
        let bytes = try encode(gradient(), ["jpeg.subsampling": .string(name)])
        let frame = try #require(segments(bytes).first { $0.marker == 0xC0 })

        // precision | height 2 | width 2 | components | id, factors, table | …
        #expect(frame.body == [8, 0, 24, 0, 40, 3, 1, factors, 0, 2, 0x11, 1, 3, 0x11, 1])
    }

    @Test func `is smaller with optimized tables`() throws {
        #expect(try encode(gradient(), ["jpeg.optimize": .bool(true)]).count < encode(gradient()).count)
    }

    @Test func `uses quality 90 by default`() throws {
        #expect(try encode(gradient()) == encode(gradient(), ["quality": .real(90)]))
        #expect(try encode(gradient()).count > encode(gradient(), ["quality": .real(40)]).count)
    }

    @Test func `stores ink inverted behind an Adobe marker`() throws {
        let ink: [UInt8] = [0, 128, 255, 64]
        let bytes = try encode(buffer(PixelSize(8, 8), .cmyk8) { ink[$1 % 4] }, ["quality": .real(100)])
        let adobe = try #require(segments(bytes).first { $0.marker == 0xEE })
        #expect(Array(adobe.body.prefix(5)) == Array("Adobe".utf8) && adobe.body.last == 0)

        let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(bytes)))
        #expect(try decoder.readHeader().nativeFormat == .cmyk8)
        let decoded = try PixelBuffer(size: PixelSize(8, 8), format: .rgb8)
        let surface = Surface(decoded)
        _ = try decoder.decode(DecodeRequest(), into: surface)
        // (255 - ink) · (255 - 64) / 255
        let distance = decoded.withRow(3) { row in
            zip([191, 95, 0], row.byteOffsets).map { expected, offset in
                abs(expected - Int(unsafe row.unsafeLoad(fromByteOffset: offset, as: UInt8.self)))
            }
        }
        #expect(distance.max()! <= 2)
    }

    @Test func `embeds Exif, XMP and a profile in this order`() throws {
        let profile = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
        let exif = ExifOrientation.blob(.left)
        let blobs = [MetadataBlob(.icc, profile), MetadataBlob(.xmp, Array("<x/>".utf8)), MetadataBlob(.exif, exif)]
        let bytes = try encode(gradient(), blobs: blobs)

        let found = segments(bytes)
        #expect(found.prefix(5).map(\.marker) == [0xE0, 0xE1, 0xE1, 0xE2, 0xE2])
        #expect(found[1].body == Array("Exif\0\0".utf8) + exif)
        #expect(found[2].body == Array("http://ns.adobe.com/xap/1.0/\0<x/>".utf8))
        #expect(Array(found[3].body.prefix(14)) == Array("ICC_PROFILE\0".utf8) + [1, 2])
        #expect(Array(found[3].body.dropFirst(14) + found[4].body.dropFirst(14)) == profile)
    }

    @Test func `stores the orientation of the pixels`() throws {
        func exif(_ orientation: Orientation?, _ blobs: [MetadataBlob]) throws -> [UInt8]? {
            let bytes = try encode(gradient(), blobs: blobs) { $0.orientation = orientation }
            return segments(bytes).first { $0.marker == 0xE1 }.map { Array($0.body.dropFirst(6)) }
        }
        let left = MetadataBlob(.exif, ExifOrientation.blob(.left))

        #expect(try exif(nil, []) == nil)
        #expect(try exif(.up, []) == nil)
        #expect(try exif(.right, []) == ExifOrientation.blob(.right))
        #expect(try exif(.up, [left]) == ExifOrientation.blob(.up))
        #expect(try exif(nil, [left]) == left.bytes)
    }

    @Test func `refuses metadata that fits no segment`() throws {
        let encoder = try JPEGEncoder(EncoderSession())
        let large = [UInt8](repeating: 0, count: 65_533)

        #expect(try encoder.add(MetadataBlob(.exif, large)) == false)
        #expect(try encoder.add(MetadataBlob(.exif, Array(large.dropLast(6)))))
        #expect(try encoder.add(MetadataBlob(.xmp, large)) == false)
        #expect(try encoder.add(MetadataBlob(.text, [1], key: "Title")) == false)
    }

    @Test(
        arguments: [
            (PixelDensity.perMeter(x: 2835, y: 11811), [1, 0, 72, 1, 0x2C]),
            (.perMeter(x: 7200, y: 30000), [2, 0, 72, 1, 0x2C]), (.aspect(x: 3, y: 2), [0, 0, 3, 0, 2]),
            (.perMeter(x: 4_000_000_000, y: 1), [0, 0, 1, 0, 1]),
        ] as [(PixelDensity, [UInt8])])
    func `writes the density into JFIF`(density: PixelDensity, field: [UInt8]) throws {
        let bytes = try encode(gradient()) { $0.density = density }
        #expect(Array(bytes[13..<18]) == field)
    }

    @Test func `accepts formats without transparency`() throws {
        let encoder = try JPEGEncoder(EncoderSession())
        func accepted(_ format: PixelFormat) throws -> [PixelFormat] {
            try encoder.acceptedFormats(for: ImageInfo(size: PixelSize(1, 1), nativeFormat: format))
        }

        #expect(try accepted(.rgba8) == [.rgb8])
        #expect(try accepted(.rgb16) == [.rgb8])
        #expect(try accepted(.gray16) == [.gray8])
        #expect(try accepted(.grayAlpha8) == [.rgb8])
        #expect(try accepted(.cmyk8) == [.cmyk8])
        #expect(try accepted(PixelFormat(.bgra, alpha: .opaque)).first == PixelFormat(.bgra, alpha: .opaque))
    }

    @Test(arguments: [
        CoderOptions(["quality": .real(101)]), CoderOptions(["quality": .real(-1)]),
        CoderOptions(["jpeg.subsampling": .string("411")]),
    ])
    func `refuses invalid options`(options: CoderOptions) {
        #expect(failure(PixelSize(1, 1), options)?.code == .invalidArgument)
    }

    @Test(arguments: [PixelSize(65_501, 1), PixelSize(1, 65_501), PixelSize(0, 1)])
    func `refuses sides that the library does not support`(size: PixelSize) throws {
        let encoder = try JPEGEncoder(EncoderSession())
        var failure: CoderError?
        do throws(CoderError) {
            try encoder.begin(ImageInfo(size: size, nativeFormat: .gray8), to: ByteSink())
        } catch { failure = error }
        #expect(failure?.code == .invalidArgument && failure?.message.contains("65500") == true)
    }

    @Test func `encodes the widest image it allows`() {
        #expect(failure(PixelSize(65_500, 1), [:]) == nil)
    }
}
