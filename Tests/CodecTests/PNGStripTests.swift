import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

/// Textures of pixels; each produces other kinds of deflate blocks.
enum PNGTexture: CaseIterable {
    case flat, slope, noise, lines

    /// An image of the texture; `format` has samples of 8 or 16 bits.
    func image(_ size: PixelSize, _ format: PixelFormat) throws -> PixelBuffer {
        var noise = PNGNoise(state: 5)
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for offset in 0..<row.byteCount {
                    let value =
                        switch self {
                        case .flat: UInt8(7)
                        case .slope: UInt8(truncatingIfNeeded: offset / 3 + y * 2) &+ noise.next() >> 5
                        case .noise: noise.next()
                        case .lines: y % 40 < 3 ? noise.next() & 0x80 : 255
                        }
                    row.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
                }
            }
        }
        return buffer
    }
}

/// Encodes an image in bands, each `bands` times the encoder's preferred height.
private func encodeBands(
    _ buffer: PixelBuffer, _ options: CoderOptions = [:], bands: [Int] = [1], blobs: [MetadataBlob] = [],
    host: HostServices = HostServices()
) throws -> [UInt8] {
    let encoder = try PNGEncoder(EncoderSession(options: options, host: host))
    let sink = ByteSink()
    try encoder.begin(ImageInfo(size: buffer.size, nativeFormat: buffer.format), to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    let multiple = try encoder.beginRows(FrameInfo(index: 0, rect: PixelRect(buffer.size)))
    var (row, number) = (0, 0)
    while row < buffer.size.height {
        let count = min(multiple * bands[number % bands.count], buffer.size.height - row)
        try encoder.addRows(Surface(buffer.band(row..<row + count)))
        (row, number) = (row + count, number + 1)
    }
    try encoder.finish()
    return sink.written
}

@Suite struct `PNG in strips` {
    /// About five mebibytes, so that there are three strips of an odd number of rows.
    private static let size = PixelSize(1201, 1459)
    private static let options: [CoderOptions] =
        (0...6).map { ["effort": .integer($0)] }
        + ["none", "sub", "up", "avg", "paeth"].map { ["png.filter": .string($0)] }

    @Test(arguments: PNGTexture.allCases, options)
    func `has the same bytes by rows and as a whole, which libpng reads`(
        _ texture: PNGTexture, _ options: CoderOptions
    ) throws {
        let source = try texture.image(Self.size, .rgb8)
        let whole = try encodePNG(source, options)
        let read = try #require(try pngReference(whole, size: source.size, format: .rgb8))
        #expect(pngBytes(read) == pngBytes(source))
        #expect(try encodeBands(source, options) == whole)
        #expect(try encodeBands(source, options, bands: [2, 1]) == whole)
    }

    @Test(arguments: [
        PixelFormat.gray8, .grayAlpha8, .rgba8, .gray16, .rgb16, .rgba16, PixelFormat(.rgba, alpha: .opaque),
    ])
    func `has the same bytes by rows in every format`(_ format: PixelFormat) throws {
        let source = try PNGTexture.slope.image(PixelSize(1201, 5_000_000 / 1201 / format.bytesPerPixel), format)
        let whole = try encodePNG(source)
        let shown = format.alpha == .opaque ? PixelFormat.rgb8 : format
        let read = try #require(try pngReference(whole, size: source.size, format: shown))
        #expect(try encodeBands(source) == whole)
        #expect(
            try decodePNG(whole, as: shown).samples
                == DecodedPNG(info: decodePNG(whole).info, buffer: read, blobs: []).samples)
    }

    @Test(arguments: [1, 2, 3, 8, 64])
    func `has the same bytes for any number of threads`(_ threads: Int) throws {
        let source = try PNGTexture.slope.image(Self.size, .rgb8)
        let host = RecordingHost(threads: threads)
        #expect(try encodeBands(source, host: host.services()) == encodePNG(source))
        #expect(try encodeBands(source, bands: [2], host: host.services()) == encodePNG(source))
        #expect(host.reserved == 0)
    }

    @Test func `has the same bytes by rows and as a whole at the highest effort`() throws {
        for size in [PixelSize(40, 30), PixelSize(1, 1), PixelSize(3, 4000)] {
            let source = try PNGTexture.lines.image(size, .rgb8)
            for effort in 0...6 {
                let options: CoderOptions = ["effort": .integer(Int64(effort))]
                #expect(try encodeBands(source, options) == encodePNG(source, options), "\(size), effort \(effort)")
            }
        }
        let source = try PNGTexture.slope.image(Self.size, .rgb8)
        let hardest = try encodePNG(source, ["effort": .integer(9)])
        let read = try #require(try pngReference(hardest, size: source.size, format: .rgb8))
        #expect(pngBytes(read) == pngBytes(source))
    }

    @Test func `falls back on zlib with little memory, with the same bytes by rows`() throws {
        let source = try PNGTexture.slope.image(Self.size, .rgb8)
        let host = RecordingHost(allowedMemory: 1 << 20, threads: 2)
        let bytes = try encodeBands(source, host: host.services())
        let read = try #require(try pngReference(bytes, size: source.size, format: .rgb8))
        #expect(pngBytes(read) == pngBytes(source))
        #expect(try encodeBands(source, host: RecordingHost(allowedMemory: 1 << 20).services()) == bytes)
        #expect(host.mostReserved == 0)
    }

    @Test(
        arguments: [
            ["png.interlaced": .bool(true)], ["png.palette": .bool(true)], ["effort": .integer(7)],
            ["effort": .integer(9)],
        ] as [CoderOptions])
    func `refuses rows if it needs the whole image`(_ options: CoderOptions) throws {
        let source = try PNGTexture.lines.image(PixelSize(30, 20), .rgb8)
        let encoder = try PNGEncoder(EncoderSession(options: options))
        let sink = ByteSink()
        try encoder.begin(ImageInfo(size: source.size, nativeFormat: .rgb8), to: sink)
        let frame = FrameInfo(index: 0, rect: PixelRect(source.size))
        let error = #expect(throws: CoderError.self) { try encoder.beginRows(frame) }
        #expect(error?.code == .refused && sink.written.isEmpty)
        try encoder.add(frame, pixels: Surface(source))
        try encoder.finish()
        #expect(try sink.written == encodePNG(source, options))
    }

    @Test func `carries metadata by rows`() throws {
        let source = try PNGTexture.slope.image(PixelSize(30, 20), .rgb8)
        let blobs = [MetadataBlob(.icc, iccProfile()), MetadataBlob(.exif, ExifOrientation.blob(.left))]
        let bytes = try encodeBands(source, blobs: blobs)
        #expect(try bytes == encodePNG(source, blobs: blobs))
        #expect(Set(try decodePNG(bytes).blobs) == Set(blobs))
    }

    @Test func `can be cancelled between strips`() throws {
        let source = try PNGTexture.slope.image(Self.size, .rgb8)
        let host = RecordingHost(allowedPolls: 1)
        let error = #expect(throws: CoderError.self) { try encodeBands(source, host: host.services()) }
        #expect(error?.code == .cancelled)
    }

    @Test func `accepts each row once`() throws {
        let source = try PNGTexture.slope.image(PixelSize(30, 20), .rgb8)
        let encoder = try PNGEncoder(EncoderSession())
        try encoder.begin(ImageInfo(size: source.size, nativeFormat: .rgb8), to: ByteSink())
        #expect(throws: CoderError.self) { try encoder.addRows(Surface(source)) }
        _ = try encoder.beginRows(FrameInfo(index: 0, rect: PixelRect(source.size)))
        #expect(throws: CoderError.self) { try encoder.finish() }
        try encoder.addRows(Surface(source))
        #expect(throws: CoderError.self) { try encoder.addRows(Surface(source)) }
        try encoder.finish()
    }
}
