import CoderPluginKit
import FarbfeldCodec
import ImageModel
import Testing

/// The expected bytes follow from farbfeld(5) by hand.
@Suite struct `Farbfeld codec` {
    /// 2×2: red, half-clear green / blue, a color with eight different bytes.
    static let file: [UInt8] =
        Array("farbfeld".utf8) + [0, 0, 0, 2, 0, 0, 0, 2] + [
            0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0xFF, 0xFF, 0, 0, 0x80, 0x00,
            0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
        ]
    static let samples: [UInt16] = [
        0xFFFF, 0, 0, 0xFFFF, 0, 0xFFFF, 0, 0x8000, 0, 0, 0xFFFF, 0xFFFF, 0x0102, 0x0304, 0x0506, 0x0708,
    ]

    private func decoder(_ bytes: [UInt8]) -> FarbfeldDecoder {
        FarbfeldDecoder(DecoderSession(source: ByteSource(bytes)))
    }

    private func canvas() throws -> PixelBuffer { try PixelBuffer(size: PixelSize(2, 2), format: .rgba16) }

    /// The samples in native byte order.
    private func samples(_ buffer: PixelBuffer) -> [UInt16] {
        (0..<buffer.size.height).flatMap { y in
            buffer.withRow(y) { row in
                stride(from: 0, to: row.byteCount, by: 2).map { at in
                    unsafe row.unsafeLoad(fromByteOffset: at, as: UInt16.self)
                }
            }
        }
    }

    @Test func `reports size and depth`() throws {
        let info = try decoder(Self.file).readHeader()

        #expect(info == ImageInfo(size: PixelSize(2, 2), nativeFormat: .rgba16, bitDepth: 16))
        #expect(info.hasAlpha && info.frameCount == 1)
    }

    @Test func `decodes every sample`() throws {
        let canvas = try canvas()
        let decoder = decoder(Self.file)
        _ = try decoder.readHeader()

        #expect(try decoder.decode(DecodeRequest(), into: Surface(canvas)) == .complete)
        #expect(samples(canvas) == Self.samples)
    }

    @Test func `decodes a second time from the beginning`() throws {
        let decoder = decoder(Self.file)
        _ = try decoder.decode(DecodeRequest(), into: Surface(try canvas()))
        let second = try canvas()

        #expect(try decoder.decode(DecodeRequest(), into: Surface(second)) == .complete)
        #expect(samples(second) == Self.samples)
    }

    // MARK: Incomplete bytes

    @Test func `delivers complete rows as they arrive`() throws {
        let source = ByteSource(Self.file, arrived: 16)
        let decoder = FarbfeldDecoder(DecoderSession(source: source))
        let canvas = try canvas()
        let request = DecodeRequest(wantsPartial: true)
        _ = try decoder.readHeader()

        source.arrive(15)
        #expect(throws: CoderError.needsInput) { try decoder.decode(request, into: Surface(canvas)) }
        source.arrive(1)
        let first = try decoder.decode(request, into: Surface(canvas))
        #expect(first == .partial(PixelRect(x: 0, y: 0, width: 2, height: 1)))
        #expect(samples(canvas) == Self.samples[..<8] + [UInt16](repeating: 0, count: 8))
        #expect(throws: CoderError.needsInput) { try decoder.decode(request, into: Surface(canvas)) }
        source.arrive()
        #expect(try decoder.decode(request, into: Surface(canvas)) == .complete)
        #expect(samples(canvas) == Self.samples)
    }

    @Test(arguments: 0..<48) func `waits while a file grows and reports a cut file as truncated`(count: Int) {
        func attempt(_ source: ByteSource) throws(CoderError) {
            let decoder = FarbfeldDecoder(DecoderSession(source: source))
            _ = try decoder.readHeader()
            let canvas = try PixelBuffer(size: PixelSize(2, 2), format: .rgba16)
            _ = try decoder.decode(DecodeRequest(), into: Surface(canvas))
        }

        #expect(throws: CoderError.needsInput) { try attempt(ByteSource(Self.file, arrived: count)) }
        #expect { try attempt(ByteSource(Array(Self.file[..<count]))) } throws: {
            ($0 as? CoderError)?.code == .truncated
        }
    }

    @Test func `delivers the rows of a cut file`() throws {
        let decoder = decoder(Array(Self.file.dropLast()))
        let canvas = try canvas()

        #expect { try decoder.decode(DecodeRequest(), into: Surface(canvas)) } throws: {
            ($0 as? CoderError)?.code == .truncated
        }
        #expect(samples(canvas)[..<8] == Self.samples[..<8])
    }

    // MARK: Invalid bytes

    @Test(arguments: [Array("farbfelf".utf8), Array("f".utf8) + [0], [0x89, 0x50]])
    func `refuses another signature as not its own`(bytes: [UInt8]) {
        #expect { try decoder(bytes).readHeader() } throws: { ($0 as? CoderError)?.code == .notMine }
    }

    @Test(arguments: [[0, 0, 0, 0, 0, 0, 0, 2], [0, 0, 0, 2, 0, 0, 0, 0], [UInt8](repeating: 0xFF, count: 8)])
    func `reports a size that exceeds memory as corrupt`(size: [UInt8]) {
        let file = Array("farbfeld".utf8) + size

        #expect { try decoder(file).readHeader() } throws: { ($0 as? CoderError)?.code == .corrupt }
    }

    // MARK: Encoding

    @Test func `encodes what it decodes, byte for byte`() throws {
        let decoder = decoder(Self.file)
        let info = try decoder.readHeader()
        let canvas = try canvas()
        let sink = ByteSink()
        let encoder = FarbfeldEncoder(EncoderSession())
        _ = try decoder.decode(DecodeRequest(), into: Surface(canvas))

        #expect(encoder.acceptedFormats(for: info) == [.rgba16])
        try encoder.begin(info, to: sink)
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(info.size)), pixels: Surface(canvas))

        #expect(sink.written == Self.file)
    }
}
