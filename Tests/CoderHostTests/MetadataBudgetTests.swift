import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// The total metadata of one image.
@Suite(.timeLimit(.minutes(40))) struct `All metadata of an image` {
    @Test(arguments: [IsolationPolicy.Mode.off, .require])
    func `is limited when a plugin returns 4 MiB blobs endlessly`(mode: IsolationPolicy.Mode) throws {
        let folder = TemporaryDirectory()
        try PluginBuilder.build("isolation/endless-metadata.c", into: folder.path)
        let host = testHost(folder.path, isolation: IsolationPolicy(mode, needed: []))
        for allowed in [DecodeLimits.default.maxTotalMetadataBytes, 5 << 20] {
            var limits = DecodeLimits.default
            limits.maxTotalMetadataBytes = allowed
            let (bytes, warnings) = try host.manager.withSession(badImage, limits: limits) {
                session throws(CoderError) in
                (try session.metadata().reduce(0) { $0 + $1.bytes.count }, session.context.warnings)
            }
            #expect(bytes == allowed / (4 << 20) * (4 << 20))
            #expect(warnings.contains { $0.contains("the limit of \(allowed)") && $0.contains("all-metadata=N") })
            #expect(warnings.contains("the metadata after the first 256 blobs is left out"))
        }
    }

    @Test func `is limited when it is written`() throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 300
        limits.maxTotalMetadataBytes = 700
        let host = testHost(Repository.products, limits: limits)
        let pixels = try PixelBuffer(size: PixelSize(2, 2), format: .rgb8)
        let texts = (0..<4).map { MetadataBlob(.text, [UInt8](repeating: 0x61, count: 300), key: "T\($0)") }
        let long = MetadataBlob(.xmp, [UInt8](repeating: 0x20, count: 301))
        let image = DecodedImage(
            info: ImageInfo(size: pixels.size, nativeFormat: .rgb8), pixels: pixels, metadata: texts + [long],
            format: "png", coder: "")
        let sink = MemorySink(limits: limits)

        let report = try host.manager.encode(image, to: "png", into: sink)
        let back = try testHost(Repository.products).manager.decode(ImageSource(sink.bytes))

        #expect(back.metadata == Array(texts.prefix(2)))
        #expect(report.warnings.contains { $0.contains("the limit of 700") })
        #expect(report.warnings.contains { $0.contains("the limit for one piece is 300") })
    }
}
