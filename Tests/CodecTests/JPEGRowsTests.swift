import CoderPluginKit
import ImageModel
import JPEGCodec
import Testing

/// Encodes an image as a whole, or in bands of this many rows.
private func encode(
    _ buffer: PixelBuffer, _ options: CoderOptions, bands: [Int]? = nil, blobs: [MetadataBlob] = [],
    host: HostServices = HostServices()
) throws -> [UInt8] {
    let encoder = try JPEGEncoder(EncoderSession(options: options, host: host))
    let sink = ByteSink()
    let frame = FrameInfo(index: 0, rect: PixelRect(buffer.size))
    try encoder.begin(ImageInfo(size: buffer.size, nativeFormat: buffer.format), to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    var multiple: Int?
    if let bands {
        multiple = try encoder.beginRows(frame)
        var (row, number) = (0, 0)
        while row < buffer.size.height {
            let count = min(bands[number % bands.count], buffer.size.height - row)
            try encoder.addRows(Surface(buffer.band(row..<row + count)))
            (row, number) = (row + count, number + 1)
        }
    } else {
        try encoder.add(frame, pixels: Surface(buffer))
    }
    try encoder.finish()
    if let multiple { #expect(try multiple == 8 * tallestFactor(in: sink.written)) }
    return sink.written
}

/// The largest vertical sampling factor in the frame header (ITU-T T.81, B.2.2).
private func tallestFactor(in jpeg: [UInt8]) throws -> Int {
    var place = 2
    while true {
        let marker = try #require(place + 10 < jpeg.count ? jpeg[place + 1] : nil)
        if [0xC0, 0xC1, 0xC2, 0xC9, 0xCA].contains(marker) { break }
        place += 2 + (Int(jpeg[place + 2]) << 8 | Int(jpeg[place + 3]))
    }
    return (0..<Int(jpeg[place + 9])).map { Int(jpeg[place + 11 + 3 * $0] & 15) }.max() ?? 0
}

@Suite struct `JPEG encoding by rows` {
    private static let options: [CoderOptions] = [
        [:], ["quality": .real(40)], ["jpeg.progressive": .bool(true)], ["jpeg.optimize": .bool(true)],
        ["jpeg.arithmetic": .bool(true)], ["jpeg.subsampling": .string("444")], ["jpeg.subsampling": .string("422")],
        ["jpeg.progressive": .bool(true), "jpeg.subsampling": .string("444"), "jpeg.optimize": .bool(true)],
    ]

    @Test(arguments: options, [PixelFormat.gray8, .rgb8, .cmyk8, PixelFormat(.bgra, alpha: .opaque)])
    func `has the same bytes by rows and as a whole`(_ options: CoderOptions, _ format: PixelFormat) throws {
        for size in [PixelSize(61, 131), PixelSize(1, 1), PixelSize(17, 16)] {
            let source = try pngPattern(size, format)
            let whole = try encode(source, options)
            for bands in [[16], [1], [7, 3, 40], [1000]] {
                #expect(try encode(source, options, bands: bands) == whole, "\(size), bands of \(bands)")
            }
        }
    }

    @Test func `carries metadata by rows`() throws {
        let source = try pngPattern(PixelSize(40, 50), .rgb8)
        let blobs = [MetadataBlob(.exif, ExifOrientation.blob(.left)), MetadataBlob(.xmp, Array("<x/>".utf8))]
        let bytes = try encode(source, [:], bands: [16], blobs: blobs)
        #expect(try bytes == encode(source, [:], blobs: blobs))
        let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(bytes)))
        #expect(try decoder.readHeader().orientation == .left)
        #expect(Set(try decoder.metadata()) == Set(blobs))
    }

    @Test func `can be cancelled, and frees its reserved memory`() throws {
        let source = try pngPattern(PixelSize(40, 5000), .rgb8)
        let options: CoderOptions = ["jpeg.progressive": .bool(true)]
        let host = RecordingHost()
        _ = try encode(source, options, bands: [64], host: host.services())
        #expect(host.reserved == 0 && host.mostReserved > 40 * 5000)
        let error = #expect(throws: CoderError.self) {
            try encode(source, options, bands: [64], host: RecordingHost(allowedPolls: 3).services())
        }
        #expect(error?.code == .cancelled)
    }

    @Test func `accepts each row once`() throws {
        let source = try pngPattern(PixelSize(20, 20), .rgb8)
        let encoder = try JPEGEncoder(EncoderSession())
        try encoder.begin(ImageInfo(size: source.size, nativeFormat: .rgb8), to: ByteSink())
        #expect(throws: CoderError.self) { try encoder.addRows(Surface(source)) }
        _ = try encoder.beginRows(FrameInfo(index: 0, rect: PixelRect(source.size)))
        #expect(throws: CoderError.self) { try encoder.finish() }
        try encoder.addRows(Surface(source))
        #expect(throws: CoderError.self) { try encoder.addRows(Surface(source)) }
        try encoder.finish()
    }
}
