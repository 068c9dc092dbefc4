import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite struct `Thumbnails passed to an encoder` {
    /// Encodes a flat image with its own thumbnail; returns whether the coder accepted it.
    private func encode(_ format: ImageFormat) throws -> (took: Bool, bytes: [UInt8]) {
        let coder = try #require(Bench.manager.encoders(for: format).first?.coder)
        let encoder = try coder.makeEncoder(SessionContext(options: ["effort": .integer(1)]))
        let sink = MemorySink()
        let size = PixelSize(96, 64)
        let info = ImageInfo(size: size, nativeFormat: .rgb8)
        #expect(try encoder.acceptedFormats(for: info).contains(.rgb8))
        try encoder.begin(info, to: sink)
        let small = try PixelBuffer(size: PixelSize(48, 32), format: .rgb8)
        for y in 0..<32 {
            small.withMutableRow(y) { row in
                for offset in row.byteOffsets { row.storeBytes(of: 200, toByteOffset: offset, as: UInt8.self) }
            }
        }
        let took = try encoder.addThumbnail(small)
        try encoder.add(
            FrameInfo(index: 0, rect: PixelRect(size)), pixels: PixelBuffer(size: size, format: .rgb8))
        try encoder.finish()
        return (took, sink.bytes)
    }

    @Test(arguments: ["jpeg", "heic", "avif"] as [ImageFormat]) func `are stored`(format: ImageFormat) throws {
        let (took, bytes) = try encode(format)
        #expect(took)
        let found = try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
            (sizes: try session.thumbnails().map(\.size), pixels: try session.decodeThumbnail(0))
        }
        #expect(found.sizes == [PixelSize(48, 32)])
        let sample = found.pixels.withRow(16) { unsafe $0.unsafeLoad(fromByteOffset: 60, as: UInt8.self) }
        #expect(abs(Int(sample) - 200) <= 4)
    }

    @Test(arguments: ["heic", "avif"] as [ImageFormat])
    func `are the first preview, before the file is complete`(format: ImageFormat) throws {
        let bytes = try encode(format).bytes
        let source = try ImageSource(growingTo: bytes.count + 5000)
        try source.append(bytes)
        let session = try Bench.manager.openSession(source)
        let preview = try #require(try session.thumbnailPreview(DecodeOptions()))
        #expect(preview.pixels.size == PixelSize(96, 64))
        // The image itself is black.
        let sample = preview.pixels.withRow(32) { unsafe $0.unsafeLoad(fromByteOffset: 120, as: UInt8.self) }
        #expect(abs(Int(sample) - 200) <= 4)
    }

    @Test func `are refused if the format cannot store them`() throws {
        let (took, bytes) = try encode("png")
        #expect(!took)
        let size = try Bench.manager.decode(ImageSource(bytes)).pixels.size
        #expect(size == PixelSize(96, 64))
    }
}
