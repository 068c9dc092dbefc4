import ClassicsCodec
import CoderPluginKit
import Foundation
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

    /// Decodes a file of linear light as floats, and undoes the curve of sRGB; values are rounded to 1/256.
    static func light(_ name: String, _ bytes: [UInt8]) throws -> (info: ImageInfo, samples: [Float]) {
        let decoder = try decoder(name, ByteSource(bytes))
        let info = try decoder.readHeader()
        #expect(info.nativeFormat.bits == 16 && decoder.pixelFormats[0] == info.nativeFormat)
        let format = PixelFormat(info.nativeFormat.channels, bits: 32, numeric: .float)
        let buffer = try PixelBuffer(size: info.size, format: format)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        return (info, floats(buffer.packed).map { (linear($0) * 256).rounded() / 256 })
    }

    /// Returns the floats in bytes, the lowest byte first.
    static func floats(_ bytes: [UInt8]) -> [Float] {
        stride(from: 0, to: bytes.count, by: 4).map { at in
            Float(bitPattern: (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << (8 * UInt32($1)) })
        }
    }

    /// Returns the light of a value of sRGB.
    static func linear(_ value: Float) -> Float {
        let size = Double(abs(value))
        let light = size <= 0.040_45 ? size / 12.92 : pow((size + 0.055) / 1.055, 2.4)
        return Float(value < 0 ? -light : light)
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
