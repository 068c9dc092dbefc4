import CoderPluginKit
import ImageModel
import JXLCodec
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `JPEG XL transcoder` {
    private func transcoded(_ direction: TranscodeDirection, _ bytes: [UInt8]) throws -> [UInt8] {
        let sink = ByteSink()
        try JXLTranscoder.transcode(direction, "jpeg", RewriteSession(source: ByteSource(bytes), sink: sink))
        return sink.written
    }

    private func fixture(_ path: String) throws -> [UInt8] {
        try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
    }

    private static let streams = [
        "images/f.jpg", "images/f-progressive.jpg", "images/photo.jpg", "images/gray.jpg", "images/orientation-6.jpg",
        "images/icc-srgb-like.jpg", "images/trailing-garbage.jpg", "jpeg/baseline-444-restart.jpg",
        "jpeg/progressive-422.jpg", "jpeg/progressive-420-restart.jpg", "jpeg/sequential-3-scans.jpg",
    ]

    @Test(arguments: streams) func `restores a JPEG byte by byte`(path: String) throws {
        let original = try fixture(path)
        let packed = try transcoded(.pack, original)

        #expect(packed.starts(with: [0, 0, 0, 12]) && packed != original)
        #expect(try transcoded(.unpack, packed) == original)
        #expect(try jxlDecoder(packed).readHeader().bitDepth == 8)
    }

    /// Packed by cjxl 0.7.0.
    @Test(arguments: [
        ("packed-jpeg-orientation-6", "images/orientation-6.jpg"),
        ("packed-jpeg-progressive", "jpeg/progressive-420-restart.jpg"),
    ]) func `restores a JPEG that another program packed`(name: String, path: String) throws {
        #expect(try transcoded(.unpack, jxlFixture(name)) == fixture(path))
    }

    @Test(arguments: ["images/cmyk.jpg", "jpeg/arithmetic-420.jpg"])
    func `refuses a JPEG that the format cannot store`(path: String) throws {
        let error = #expect(throws: CoderError.self) { try transcoded(.pack, fixture(path)) }
        #expect(error?.code == .refused)
    }

    @Test func `refuses to unpack an image that was encoded from pixels`() throws {
        let error = #expect(throws: CoderError.self) { try transcoded(.unpack, jxlFixture("lossy")) }
        #expect(error?.code == .refused)
    }

    @Test func `reports a cut file`() throws {
        let bytes = try jxlFixture("packed-jpeg-progressive")
        for count in stride(from: 20, to: bytes.count - 60, by: 37) {
            let error = #expect(throws: CoderError.self) { try transcoded(.unpack, Array(bytes.prefix(count))) }
            #expect([.truncated, .needsInput, .corrupt, .refused].contains(error?.code))
        }
    }
}
