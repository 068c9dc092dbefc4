import CoderPluginKit
import HEIFCodec
import ImageModel
import Testing

private enum Kind: CaseIterable, Sendable {
    case heic, avif

    func make(_ options: CoderOptions) throws -> any ImageEncoder {
        let session = EncoderSession(options: options)
        return switch self {
        case .heic: try HEICEncoder(session)
        case .avif: try AVIFEncoder(session)
        }
    }

    var name: String { self == .heic ? "heif" : "heif-avif" }
}

/// Pixels with structure that no codec predicts: a ramp, or noise from a fixed seed.
private func image(_ size: PixelSize, _ format: PixelFormat, noise: Bool = false) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: format)
    var state: UInt32 = 12345
    for y in 0..<size.height {
        buffer.withMutableRow(y) { (row: inout MutableRawSpan) in
            for x in 0..<size.width {
                for channel in 0..<format.channels.count {
                    state = state &* 1_664_525 &+ 1_013_904_223
                    let ramps = [
                        x * 160 / size.width + 40, y * 160 / size.height + 40, 128, 255 - x * 200 / size.width,
                    ]
                    let value = noise ? Int(state >> 24) : ramps[channel]
                    let index = x * format.channels.count + channel
                    if format.bits == 8 {
                        row.storeBytes(of: UInt8(value), toByteOffset: index, as: UInt8.self)
                    } else {
                        row.storeBytes(of: UInt16(value * 257), toByteOffset: 2 * index, as: UInt16.self)
                    }
                }
            }
        }
    }
    return buffer
}

private func encode(
    _ buffer: PixelBuffer, _ kind: Kind, _ options: CoderOptions = [:], blobs: [MetadataBlob] = [],
    color: ColorDescription = ColorDescription()
) throws -> [UInt8] {
    let encoder = try kind.make(options)
    let info = ImageInfo(size: buffer.size, nativeFormat: buffer.format, color: color)
    let accepted = try encoder.acceptedFormats(for: info)
    try #require(accepted.contains(buffer.format))
    let sink = ByteSink()
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: Surface(buffer))
    try encoder.finish()
    return sink.written
}

/// The largest and the mean difference in 8-bit steps.
private func difference(_ decoded: DecodedHEIF, _ source: PixelBuffer) -> (largest: Int, mean: Double) {
    let original = DecodedHEIF(info: decoded.info, pixels: source)
    var largest = 0
    var sum = 0
    var count = 0
    for y in 0..<source.size.height {
        for x in 0..<source.size.width {
            let got = decoded.samples(x, y).map { decoded.pixels.format.bits == 16 ? $0 / 257 : $0 }
            let want = original.samples(x, y).map { source.format.bits == 16 ? $0 / 257 : $0 }
            for (a, b) in zip(got, want) {
                largest = max(largest, abs(a - b))
                sum += abs(a - b)
                count += 1
            }
        }
    }
    return (largest, Double(sum) / Double(count))
}

@Suite struct `HEIC and AVIF encoders` {
    @Test(
        arguments: Kind.allCases,
        [PixelSize(64, 48), PixelSize(33, 21), PixelSize(1, 1), PixelSize(17, 150), PixelSize(130, 70)])
    private func `keep the size and the pixels of an image`(kind: Kind, size: PixelSize) throws {
        for format in [PixelFormat.rgb8, .rgba8] {
            let source = try image(size, format)
            let decoded = try decodeHEIF(try encode(source, kind, [OptionKey.effort: .integer(2)]))
            #expect(decoded.info.size == size)
            #expect(decoded.info.nativeFormat == format)
            #expect(difference(decoded, source).mean < 3)
        }
    }

    @Test(arguments: Kind.allCases, [PixelFormat.rgb8, .rgba8, .gray8])
    private func `keep every sample if lossless`(kind: Kind, format: PixelFormat) throws {
        for size in [PixelSize(64, 64), PixelSize(37, 23)] {
            let source = try image(size, format, noise: true)
            let bytes = try encode(source, kind, [OptionKey.lossless: .bool(true), OptionKey.effort: .integer(1)])
            let decoder = try heifDecoder(bytes)
            let info = try decoder.readHeader()
            let decoded = try decodeHEIF(bytes)
            let original = DecodedHEIF(info: info, pixels: source)
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let want = original.samples(x, y)
                    let got = decoded.samples(x, y)
                    #expect(got == (got.count > want.count && format == .gray8 ? [want[0], want[0], want[0]] : want))
                }
            }
        }
    }

    @Test(arguments: Kind.allCases, [10, 12])
    private func `keep more than eight bits of sixteen`(kind: Kind, depth: Int) throws {
        for chroma in ["420", "422", "444"] {
            for format in [PixelFormat.rgb16, .rgba16] {
                let source = try image(PixelSize(66, 50), format)
                var options: CoderOptions = [
                    OptionKey.quality: .real(95), OptionKey.effort: .integer(2), "\(kind.name).chroma": .string(chroma),
                ]
                if depth != 10 { options["\(kind.name).bit-depth"] = .integer(Int64(depth)) }
                let decoded = try decodeHEIF(try encode(source, kind, options))
                #expect(decoded.info.bitDepth == depth)
                #expect(decoded.info.nativeFormat == format)
                #expect(difference(decoded, source).mean < 2)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    private func `keep gray of ten bits in one plane`(kind: Kind) throws {
        let source = try image(PixelSize(64, 64), .gray16)
        let decoded = try decodeHEIF(try encode(source, kind, [OptionKey.effort: .integer(2)]))
        #expect(decoded.info.nativeFormat == .gray16)
        #expect(difference(decoded, source).mean < 2)
    }

    @Test(arguments: Kind.allCases)
    private func `carry metadata unchanged`(kind: Kind) throws {
        let exif = ExifOrientation.blob(.left)
        let xmp = Array("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>".utf8)
        var profile = [UInt8](repeating: 0, count: 200)
        profile.replaceSubrange(36..<40, with: Array("acsp".utf8))
        let bytes = try encode(
            try image(PixelSize(64, 48), .rgb8), kind, [OptionKey.effort: .integer(1)],
            blobs: [MetadataBlob(.exif, exif), MetadataBlob(.xmp, xmp), MetadataBlob(.icc, profile)],
            color: ColorDescription(
                codePoints: CodePoints(primaries: 12, transfer: 13, matrix: 0, isFullRange: true), hasProfile: true))
        let decoder = try heifDecoder(bytes)
        let info = try decoder.readHeader()
        let blobs = try decoder.metadata()
        #expect(blobs.first { $0.kind == .exif }?.bytes == exif)
        #expect(blobs.first { $0.kind == .xmp }?.bytes == xmp)
        #expect(blobs.first { $0.kind == .icc }?.bytes == profile)
        // Not rotated: only the transforms of the format rotate.
        #expect(info.size == PixelSize(64, 48) && info.orientation == .up)
        #expect(info.color.codePoints?.primaries == 12 && info.color.codePoints?.transfer == 13)
        // The image is coded with loss, so it has a matrix.
        #expect(info.color.codePoints?.matrix == 6)
    }

    @Test(arguments: Kind.allCases)
    private func `embed a thumbnail within its bound`(kind: Kind) throws {
        let source = try image(PixelSize(144, 96), .rgba8)
        let options: CoderOptions = ["\(kind.name).thumbnail": .integer(32), OptionKey.effort: .integer(1)]
        let decoder = try heifDecoder(try encode(source, kind, options))
        #expect(try decoder.readHeader().hasItems)
        // 96 x 32 / 144 = 21, made even.
        let info = try #require(try decoder.item(at: 1)).info
        #expect(info.size == PixelSize(32, 20))
        try decoder.select(item: 1)
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        let small = DecodedHEIF(info: info, pixels: buffer)
        #expect(abs(small.samples(0, 0)[0] - 40) < 20 && abs(small.samples(31, 10)[0] - 200) < 20)
    }

    @Test(arguments: Kind.allCases)
    private func `mark alpha as premultiplied`(kind: Kind) throws {
        let format = PixelFormat(.rgba, alpha: .premultiplied)
        let decoded = try decodeHEIF(try encode(try image(PixelSize(64, 64), format), kind))
        #expect(decoded.info.nativeFormat == format)
    }

    @Test(arguments: Kind.allCases)
    private func `make smaller files of lower quality`(kind: Kind) throws {
        let source = try image(PixelSize(96, 96), .rgb8, noise: true)
        let sizes = try [10.0, 50, 90].map {
            try encode(source, kind, [OptionKey.quality: .real($0), OptionKey.effort: .integer(1)]).count
        }
        #expect(sizes[0] < sizes[1] && sizes[1] < sizes[2])
    }

    @Test(arguments: Kind.allCases)
    private func `refuse unsupported input`(kind: Kind) throws {
        func code(_ format: PixelFormat, _ options: CoderOptions) throws -> CoderError.Code? {
            let source = try image(PixelSize(16, 16), format)
            let error = #expect(throws: CoderError.self) { try encode(source, kind, options) }
            return error?.code
        }
        #expect(try code(.rgb16, [OptionKey.lossless: .bool(true)]) == .invalidArgument)
        let chroma: CoderOptions = [OptionKey.lossless: .bool(true), "\(kind.name).chroma": .string("420")]
        #expect(try code(.rgb8, chroma) == .invalidArgument)
        #expect(try code(.rgb8, ["\(kind.name).bit-depth": .integer(9)]) == .invalidArgument)
        #expect(try code(.rgb8, [OptionKey.quality: .real(101)]) == .invalidArgument)
    }

    @Test(arguments: Kind.allCases)
    private func `accept exactly one frame`(kind: Kind) throws {
        let source = try image(PixelSize(16, 16), .rgb8)
        let encoder = try kind.make([OptionKey.effort: .integer(0)])
        try encoder.begin(ImageInfo(size: source.size, nativeFormat: source.format), to: ByteSink())
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(source.size)), pixels: Surface(source))
        let error = #expect(throws: CoderError.self) {
            try encoder.add(FrameInfo(index: 1, rect: PixelRect(source.size)), pixels: Surface(source))
        }
        #expect(error?.code == .unsupportedFeature)
    }
}
