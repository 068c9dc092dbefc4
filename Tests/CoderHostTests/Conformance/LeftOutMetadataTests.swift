import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite struct `Metadata that a format cannot store` {
    @Test(arguments: ["webp", "gif", "farbfeld"] as [ImageFormat])
    func `is named in one warning for each kind`(format: ImageFormat) throws {
        let plain = try Bench.manager.decode(Bench.source(Fixture.named("images/f.png")))
        let texts = ["Author", "Copyright"].map { MetadataBlob(.text, Array("somebody".utf8), key: $0) }
        let image = DecodedImage(
            info: plain.info, pixels: plain.pixels, metadata: texts + [MetadataBlob(.raw, [1, 2, 3], key: "prVt")],
            format: "png", coder: plain.coder)

        let warnings = try Bench.manager.encode(image, to: format, EncodeOptions(), into: MemorySink()).warnings

        let named = warnings.filter { $0.contains("metadata") }
        #expect(named == ["the format cannot store text metadata: it is left out"], "\(warnings)")
    }
}
