import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("jpeg/\(name)"))) }

/// The samples of a PNM file with the header of libjpeg-turbo's programs: three lines.
private func samples(_ name: String) throws -> [UInt8] {
    let bytes = try file(name)
    return Array(bytes.split(separator: 0x0A, maxSplits: 3, omittingEmptySubsequences: false)[3])
}

private func session(_ bytes: [UInt8], limits: DecodeLimits = .default) -> DecoderSession {
    DecoderSession(source: ByteSource(bytes), limits: limits)
}

private func pixels(_ buffer: PixelBuffer) -> [UInt8] {
    var all: [UInt8] = []
    for y in 0..<buffer.size.height {
        buffer.withRow(y) { row in
            for offset in row.byteOffsets {
                all.append(unsafe row.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
            }
        }
    }
    return all
}

private func decode(_ bytes: [UInt8], to format: PixelFormat, reducedTo size: PixelSize? = nil) throws -> [UInt8] {
    let decoder = try JPEGDecoder(session(bytes))
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: size ?? info.size, format: format)
    let surface = Surface(buffer)
    let outcome = try decoder.decode(DecodeRequest(scaledSize: size), into: surface)
    #expect(outcome == .complete)
    return pixels(buffer)
}

/// The code of the decoding error; nil for none.
private func failure(_ bytes: [UInt8], limits: DecodeLimits = .default) -> CoderError.Code? {
    do throws(CoderError) {
        let decoder = try JPEGDecoder(session(bytes, limits: limits))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        let surface = Surface(buffer)
        _ = try decoder.decode(DecodeRequest(), into: surface)
        _ = try decoder.metadata()
        return nil
    } catch {
        return error.code
    }
}

/// A segment `FF marker`, its length and its body.
private func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
    [0xFF, marker, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 0xFF)] + body
}

/// The file with segments put behind its first marker.
private func inserting(_ segments: [UInt8], into bytes: [UInt8]) -> [UInt8] {
    Array(bytes[..<2]) + segments + Array(bytes[2...])
}

/// The first position of a marker.
private func offset(of marker: UInt8, in bytes: [UInt8]) -> Int? {
    bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == marker }
}

private let xmpName = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
private let exifWithoutOrientation: [UInt8] =
    Array("Exif\0\0".utf8) + [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0]

@Suite struct `JPEG decoding` {
    @Test(arguments: [
        "baseline-420", "baseline-444-restart", "progressive-422", "progressive-420-restart", "arithmetic-420",
        "sequential-3-scans", "cmyk", "ycck",
    ])
    func `equals the colors of another program`(name: String) throws {
        #expect(try decode(file("\(name).jpg"), to: .rgb8) == samples("\(name).ppm"))
    }

    @Test func `keeps gray as one channel`() throws {
        let decoder = try JPEGDecoder(session(file("gray.jpg")))

        #expect(try decoder.readHeader().nativeFormat == .gray8)
        #expect(decoder.pixelFormats.first == .gray8)
        #expect(try decode(file("gray.jpg"), to: .gray8) == samples("gray.pgm"))
    }

    @Test func `writes the channels in the requested order and fills alpha`() throws {
        let rgb = try samples("baseline-420.ppm")
        var rgba: [UInt8] = []
        var bgra: [UInt8] = []
        for at in stride(from: 0, to: rgb.count, by: 3) {
            rgba += [rgb[at], rgb[at + 1], rgb[at + 2], 255]
            bgra += [rgb[at + 2], rgb[at + 1], rgb[at], 255]
        }

        #expect(try decode(file("baseline-420.jpg"), to: PixelFormat(.rgba, alpha: .opaque)) == rgba)
        #expect(try decode(file("baseline-420.jpg"), to: PixelFormat(.bgra, alpha: .opaque)) == bgra)
        let cmyk = try decode(file("cmyk.jpg"), to: PixelFormat(.bgra, alpha: .opaque))
        #expect(Array(cmyk[..<4]) == [0, 95, 191, 255])
    }

    @Test(arguments: ["cmyk", "ycck"])
    func `delivers ink with 0 for none`(name: String) throws {
        let ink = try decode(file("\(name).jpg"), to: .cmyk8)

        // The recipe's colors, at the far corners, out of reach of the other half's chroma.
        let left = zip(ink[..<4], [0, 128, 255, 64]).map { abs(Int($0) - $1) }
        let right = zip(ink[60..<64], [255, 0, 32, 0]).map { abs(Int($0) - $1) }
        #expect(left.max()! <= 2 && right.max()! <= 2)
    }

    @Test func `reduces while decoding`() throws {
        let decoder = try JPEGDecoder(session(file("baseline-420.jpg")))
        let size = try decoder.readHeader().size

        #expect(
            decoder.scaledSize(atLeast: PixelSize(11, 8), of: size)
                == PixelSize((size.width + 1) / 2, (size.height + 1) / 2))
        #expect(decoder.scaledSize(atLeast: PixelSize(1, 1), of: size) == PixelSize(5, 3))
        #expect(decoder.scaledSize(atLeast: PixelSize(36, 1), of: size) == size)
        #expect(
            try decode(file("baseline-420.jpg"), to: .rgb8, reducedTo: PixelSize(15, 9))
                == samples("baseline-420-3of8.ppm"))
    }

    @Test(arguments: ["baseline-420.jpg", "cmyk.jpg"])
    func `does not change the padding between rows`(name: String) throws {
        let decoder = try JPEGDecoder(session(file(name)))
        let size = try decoder.readHeader().size
        let stride = size.width * 3 + 7
        let count = stride * size.height
        let memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0x5A, count: count)
        let buffer = unsafe PixelBuffer(
            size: size, format: .rgb8, stride: stride, memory: memory, byteCount: count
        ) { memory, _ in unsafe memory.deallocate() }

        let surface = Surface(buffer)
        _ = try decoder.decode(DecodeRequest(), into: surface)

        let gaps = unsafe buffer.withUnsafeMutableBytes { bytes in
            (0..<size.height).allSatisfy { y in
                unsafe bytes[y * stride + size.width * 3..<(y + 1) * stride].allSatisfy { $0 == 0x5A }
            }
        }
        #expect(gaps)
    }

    @Test func `can be called again with other settings`() throws {
        let decoder = try JPEGDecoder(session(file("progressive-422.jpg")))
        let size = try decoder.readHeader().size
        for format in [PixelFormat.rgb8, PixelFormat(.rgba, alpha: .opaque), .rgb8] {
            let buffer = try PixelBuffer(size: size, format: format)
            let surface = Surface(buffer)
            #expect(try decoder.decode(DecodeRequest(), into: surface) == .complete)
            if format == .rgb8 { #expect(try pixels(buffer) == samples("progressive-422.ppm")) }
        }
    }

    @Test func `refuses a surface of another size`() throws {
        let decoder = try JPEGDecoder(session(file("baseline-420.jpg")))
        _ = try decoder.readHeader()
        let surface = Surface(try PixelBuffer(size: PixelSize(39, 24), format: .rgb8))
        var code: CoderError.Code?
        do throws(CoderError) { _ = try decoder.decode(DecodeRequest(), into: surface) } catch { code = error.code }
        #expect(code == .misuse)
    }

    @Test func `reads the density of JFIF`() throws {
        var bytes = try file("baseline-420.jpg")
        func density() throws -> PixelDensity? { try JPEGDecoder(session(bytes)).readHeader().density }

        // FF D8 FF E0 len "JFIF" 0 version 2 | unit 1 | x 2 | y 2
        #expect(try density() == .aspect(x: 1, y: 1))
        bytes.replaceSubrange(13..<18, with: [1, 0, 72, 1, 0x2C])
        #expect(try density() == .perMeter(x: 2835, y: 11811))
        bytes.replaceSubrange(13..<18, with: [2, 0, 72, 1, 0x2C])
        #expect(try density() == .perMeter(x: 7200, y: 30000))
    }
}

@Suite struct `JPEG metadata` {
    private func orientation(_ segments: [UInt8]) throws -> Orientation? {
        try JPEGDecoder(session(inserting(segments, into: file("gray.jpg")))).readHeader().orientation
    }

    private func exif(_ orientation: Orientation) -> [UInt8] {
        segment(0xE1, Array("Exif\0\0".utf8) + ExifOrientation.blob(orientation))
    }

    private func xmp(_ text: String) -> [UInt8] { segment(0xE1, xmpName + Array(text.utf8)) }

    @Test func `takes the orientation from Exif`() throws {
        #expect(try orientation([]) == nil)
        #expect(try orientation(exif(.right)) == .right)
        #expect(try orientation(exif(.right) + xmp("<r tiff:Orientation=\"3\"/>")) == .right)
    }

    @Test(arguments: [
        "<r tiff:Orientation=\"3\"/>", "<tiff:Orientation> 3</tiff:Orientation>", "tiff:Orientation = '3'",
    ])
    func `takes the orientation from XMP if Exif has none`(packet: String) throws {
        #expect(try orientation(xmp(packet)) == .down)
        #expect(try orientation(segment(0xE1, exifWithoutOrientation) + xmp(packet)) == .down)
    }

    @Test(arguments: ["", "tiff:Orientation", "tiff:Orientation='9'", "tiff:Orientation='31'", "tiff:Orientation=''"])
    func `finds no orientation in XMP that has none`(packet: String) throws {
        #expect(try orientation(xmp(packet)) == nil)
    }

    @Test func `joins a profile in the order of its numbers`() throws {
        let name = Array("ICC_PROFILE\0".utf8)
        let first = segment(0xE2, name + [1, 2, 10, 11])
        let second = segment(0xE2, name + [2, 2, 12])
        let decoder = try JPEGDecoder(session(inserting(second + first, into: file("gray.jpg"))))

        #expect(try decoder.readHeader().color.hasProfile)
        #expect(try decoder.metadata() == [MetadataBlob(.icc, [10, 11, 12])])
    }

    @Test(
        arguments: [[[1, 2]], [[1, 2], [1, 2]], [[1, 2], [3, 2]], [[0, 1]], [[1, 1], [2, 2]]] as [[[UInt8]]])
    func `ignores a profile with a missing part`(parts: [[UInt8]]) throws {
        let segments = parts.flatMap { segment(0xE2, Array("ICC_PROFILE\0".utf8) + $0 + [7]) }
        let decoder = try JPEGDecoder(session(inserting(segments, into: file("gray.jpg"))))

        #expect(try decoder.readHeader().color.hasProfile == false)
        #expect(try decoder.metadata().isEmpty)
    }

    @Test func `reports Exif without its prefix, XMP, extended XMP and IPTC`() throws {
        let guid = Array("0123456789ABCDEF0123456789ABCDEF".utf8)
        let extended = Array("http://ns.adobe.com/xmp/extension/\0".utf8) + guid + [0, 0, 0, 3]
        let resources =
            Array("Photoshop 3.0\0".utf8) + Array("8BIM".utf8) + [0x03, 0xED, 0, 0, 0, 0, 0, 1, 9, 0]
            + Array("8BIM".utf8) + [0x04, 0x04, 1, 0x41, 0, 0, 0, 2, 0x1C, 0x02]
        let packet = Array("<x HasExtendedXMP=\"".utf8) + guid + Array("\"/>".utf8)
        let segments =
            exif(.left) + segment(0xE1, xmpName + packet) + segment(0xE1, extended + [0, 0, 0, 2, 33])
            + segment(0xE1, extended + [0, 0, 0, 0, 31, 32]) + segment(0xED, resources)

        #expect(
            try JPEGDecoder(session(inserting(segments, into: file("gray.jpg")))).metadata() == [
                MetadataBlob(.exif, ExifOrientation.blob(.left)), MetadataBlob(.xmp, packet),
                MetadataBlob(.iptc, [0x1C, 0x02]), MetadataBlob(.raw, [31, 32, 33], key: "xmp-extension"),
            ])
    }

    @Test func `refuses a blob above the limit`() throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 10
        let bytes = try inserting(xmp("twelve bytes"), into: file("gray.jpg"))

        #expect(failure(bytes, limits: limits) == .limitExceeded)
        limits.maxMetadataBytes = 12
        #expect(failure(bytes, limits: limits) == nil)
    }
}

@Suite struct `Damaged JPEG` {
    @Test(arguments: ["baseline-420", "baseline-444-restart"])
    func `keeps the rows before a cut`(name: String) throws {
        let whole = try file("\(name).jpg")
        let expected = try samples("\(name).ppm")
        let cut = Array(whole[..<(whole.count - 110)])
        #expect(failure(cut) == .truncated)

        let decoder = try JPEGDecoder(session(cut))
        let buffer = try PixelBuffer(size: decoder.readHeader().size, format: .rgb8)
        let surface = Surface(buffer)
        guard case .partial(let rect) = try decoder.decode(DecodeRequest(wantsPartial: true), into: surface) else {
            Issue.record("the decoder reports a cut file as complete")
            return
        }
        #expect(rect.y == 0 && rect.width == 40 && rect.height > 0 && rect.height < 24)
        #expect(Array(pixels(buffer)[..<(rect.height * 120)]) == Array(expected[..<(rect.height * 120)]))
    }

    @Test(arguments: ["baseline-420", "progressive-422", "sequential-3-scans"])
    func `accepts a missing end marker`(name: String) throws {
        let cut = try Array(file("\(name).jpg").dropLast(2))
        #expect(try decode(cut, to: .rgb8) == samples("\(name).ppm"))
    }

    @Test func `reports missing scans`() throws {
        let whole = try file("progressive-422.jpg")
        #expect(failure(Array(whole[..<(whole.count - 60)])) == .truncated)
    }

    @Test func `refuses other formats and unsupported features`() throws {
        let whole = try file("gray.jpg")
        let frame = try #require(offset(of: 0xC0, in: whole))
        func changed(_ at: Int, _ value: UInt8) -> [UInt8] {
            var copy = whole
            copy[at] = value
            return copy
        }

        #expect(failure(Array("GIF89a".utf8)) == .notMine)
        #expect(failure([]) == .truncated)
        #expect(failure([0xFF]) == .truncated)
        #expect(failure(changed(frame + 1, 0xC5)) == .unsupportedFeature)  // hierarchical
        #expect(failure(changed(frame + 1, 0xCB)) == .unsupportedFeature)  // lossless with arithmetic coding
        #expect(failure(changed(frame + 1, 0xC3)) == .corrupt)  // lossless, without a predictor
        #expect(failure(changed(frame + 4, 10)) == .unsupportedFeature)  // 10 bits
        #expect(failure(changed(frame + 6, 0)) == .unsupportedFeature)  // a height of 0, for DNL
        #expect(failure(changed(frame + 9, 7)) == .corrupt)  // components
    }

    /// - Source: ITU-T T.87 C.1.1 and H.3: an image of 4 × 4 gray samples; SPIFF in its application segment.
    @Test(arguments: [[], segment(0xE8, Array("SPIFF\0".utf8) + [UInt8](repeating: 0, count: 24))])
    func `names JPEG-LS`(head: [UInt8]) throws {
        let frame = segment(0xF7, [8, 0, 4, 0, 4, 1, 1, 0x11, 0])
        let scan = segment(0xDA, [1, 1, 0, 0, 0, 0]) + [0xC0, 0, 0, 0x6C, 0x80, 0x20, 0x8E, 1, 0xC0]
        let decoder = try JPEGDecoder(session([0xFF, 0xD8] + head + frame + scan + [0xFF, 0xD9]))

        let error = #expect(throws: CoderError.self) { try decoder.readHeader() }
        #expect(error?.code == .unsupportedFeature)
        #expect(error?.message.contains("JPEG-LS") == true)
    }

    @Test func `counts scans`() throws {
        var limits = DecodeLimits.default
        limits.maxScans = 3
        #expect(failure(try file("sequential-3-scans.jpg"), limits: limits) == nil)
        limits.maxScans = 2
        #expect(failure(try file("sequential-3-scans.jpg"), limits: limits) == .limitExceeded)
        #expect(failure(try file("progressive-422.jpg"), limits: limits) == .limitExceeded)
        limits.maxScans = 0
        #expect(failure(try file("progressive-422.jpg"), limits: limits) == nil)
    }

    @Test(arguments: ["baseline-420", "baseline-444-restart", "progressive-422", "arithmetic-420", "cmyk"])
    func `ends with an error at any length`(name: String) throws {
        let whole = try file("\(name).jpg")
        let scan = try #require(offset(of: 0xDA, in: whole))
        for length in 0..<scan {
            #expect(failure(Array(whole[..<length])) == .truncated, "\(length) bytes")
        }
        for length in scan..<whole.count {
            let code = failure(Array(whole[..<length]))
            #expect(code == nil || code == .truncated, "\(length) bytes")
        }
    }

    @Test(arguments: ["baseline-420", "baseline-444-restart", "progressive-422", "arithmetic-420", "cmyk"])
    func `ends for any flipped bit`(name: String) throws {
        let whole = try file("\(name).jpg")
        let allowed: Set<CoderError.Code?> = [nil, .corrupt, .truncated, .unsupportedFeature, .notMine, .limitExceeded]
        for at in whole.indices {
            var copy = whole
            copy[at] ^= 1 << (at % 8)
            // A flip in the frame header may request gigabytes; the host refuses that.
            if (try? JPEGDecoder(session(copy)).readHeader().size.area ?? .max) ?? 0 > 1 << 22 { continue }
            #expect(allowed.contains(failure(copy)), "byte \(at)")
        }
    }
}
