import ClassicsCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// Short ways to the coders of the room of classics.
enum Classic {
    static let fixtures = Fixture.valid.filter { $0.name.hasPrefix("classics/") }

    static func decoder(_ name: String, _ source: ByteSource) throws -> any ImageDecoder {
        let coder = try #require(Classics.coders.first { $0.id == "org.coderhost.\(name)" })
        return try #require(coder.decoder).init(DecoderSession(source: source))
    }

    /// Decodes a file to its stored bytes.
    static func decode(_ name: String, _ bytes: [UInt8]) throws -> (info: ImageInfo, pixels: [UInt8]) {
        let decoder = try decoder(name, ByteSource(bytes))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        return (info, buffer.packed)
    }

    /// Decodes a file of floats.
    static func floats(_ name: String, _ bytes: [UInt8]) throws -> (info: ImageInfo, samples: [Float]) {
        let (info, pixels) = try decode(name, bytes)
        #expect(info.nativeFormat.numeric == .float && info.nativeFormat.bits == 32)
        let samples = stride(from: 0, to: pixels.count, by: 4).map { at in
            Float(bitPattern: (0..<4).reduce(0) { $0 | UInt32(pixels[at + $1]) << (8 * UInt32($1)) })
        }
        return (info, samples)
    }

    /// Encodes pixels, whole or in bands of a number of rows.
    static func encode(
        _ name: String, _ buffer: PixelBuffer, color: ColorDescription = ColorDescription(),
        options: CoderOptions = CoderOptions(), bands: Int? = nil
    ) throws -> [UInt8] {
        let coder = try #require(Classics.coders.first { $0.id == "org.coderhost.\(name)" })
        let encoder = try #require(coder.encoder).init(EncoderSession(options: options))
        let info = ImageInfo(size: buffer.size, nativeFormat: buffer.format, color: color)
        #expect(try encoder.acceptedFormats(for: info).contains(buffer.format))
        let sink = ByteSink()
        try encoder.begin(info, to: sink)
        let frame = FrameInfo(index: 0, rect: PixelRect(buffer.size))
        if let bands {
            let rows = try #require(encoder as? any RowEncoder)
            #expect(try rows.beginRows(frame) == 1)
            for y in stride(from: 0, to: buffer.size.height, by: bands) {
                let height = min(bands, buffer.size.height - y)
                let part = Array(buffer.packed[y * rowBytes(buffer)..<(y + height) * rowBytes(buffer)])
                try rows.addRows(Surface(try Self.buffer(PixelSize(buffer.size.width, height), buffer.format, part)))
            }
        } else {
            try encoder.add(frame, pixels: Surface(buffer))
        }
        try encoder.finish()
        return sink.written
    }

    private static func rowBytes(_ buffer: PixelBuffer) -> Int { buffer.size.width * buffer.format.bytesPerPixel }

    static func buffer(_ size: PixelSize, _ format: PixelFormat, _ bytes: [UInt8]) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for at in row.byteOffsets {
                    row.storeBytes(of: bytes[y * row.byteCount + at], toByteOffset: at, as: UInt8.self)
                }
            }
        }
        return buffer
    }

    static func buffer(_ size: PixelSize, gray: Bool = false, _ samples: [Float]) throws -> PixelBuffer {
        let bytes = samples.flatMap { sample in
            (0..<4).map { UInt8(truncatingIfNeeded: sample.bitPattern >> (8 * UInt32($0))) }
        }
        return try buffer(size, PixelFormat(gray ? .gray : .rgb, bits: 32, numeric: .float), bytes)
    }
}
