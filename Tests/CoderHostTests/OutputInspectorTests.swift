import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// Coders that report success without writing a valid file.
@Suite struct `An invalid output` {
    /// Writes the same bytes for any input.
    private struct Writer: ImageCoder {
        let bytes: [UInt8]
        let descriptor: CoderDescriptor
        private let reader = ScriptedCoder("reader")

        init(_ bytes: [UInt8], signature: [UInt8]) {
            self.bytes = bytes
            let mask = [UInt8](repeating: 0xFF, count: signature.count)
            let signatures =
                signature.isEmpty ? [] : [Signature(rules: [.bytes(at: 0, signature, mask: mask)], rank: 0)]
            descriptor = CoderDescriptor(
                id: "org.example.writer", version: "1", tier: .user,
                roles: [.decode, .encode, .encodeAnimation, .rewrite],
                formats: [
                    PluginManifest.Format(
                        id: "out", name: "Out", mimeTypes: [], extensions: ["out"], typeIdentifiers: [],
                        signatures: signatures)
                ])
        }

        func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
            try reader.makeDecoder(source, context)
        }
        func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { Encoder(bytes) }
        func rewrite(
            _ source: ImageSource, to sink: any OutputSink, _ request: RewriteRequest, _ context: SessionContext
        ) throws(CoderError) -> RewriteOutcome {
            try `An invalid output`.write(bytes, to: sink)
            return RewriteOutcome(kept: PixelRect(PixelSize(1, 1)))
        }
    }

    private final class Encoder: FrameEncoder {
        private let bytes: [UInt8]
        private var sink: (any OutputSink)?

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] { [.rgba8] }
        func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) { self.sink = sink }
        func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { false }
        func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {}
        func finish() throws(CoderError) { if let sink { try `An invalid output`.write(bytes, to: sink) } }
    }

    private static func write(_ bytes: [UInt8], to sink: any OutputSink) throws(CoderError) {
        if bytes.isEmpty { return }
        // Writes byte by byte, and overwrites the first byte if possible, like formats that store their length last.
        for byte in bytes { try [byte].withSpan { span throws(CoderError) in try sink.write(span) } }
        if sink.isSeekable { try [bytes[0]].withSpan { span throws(CoderError) in try sink.overwrite(span, at: 0) } }
    }

    private static let cases: [(bytes: String, signature: String, says: String?)] = [
        ("", "OUT!", "but no bytes"), ("", "", "but no bytes"), ("garbage", "OUT!", "no coder recognizes"),
        ("OUT", "OUT!", "no coder recognizes"), ("OUT!", "OUT!", nil), ("anything", "", nil),
    ]
    /// A valid file of another format: the conformance kit reports it, and the host only if it would replace a file.
    private static let foreign = ("P6 1 1 255\n123", "OUT!", "no coder recognizes")

    private func judge(_ index: Int, _ body: (CodersManager) throws(CoderError) -> Void) {
        judge(Self.cases[index], body)
    }

    private func judge(
        _ expected: (bytes: String, signature: String, says: String?),
        _ body: (CodersManager) throws(CoderError) -> Void
    ) {
        let (bytes, signature, says) = expected
        let manager = testHost().manager
        manager.addCoder(Writer(Array(bytes.utf8), signature: Array(signature.utf8)))
        var error: CoderError?
        do throws(CoderError) { try body(manager) } catch let failure { error = failure }
        #expect((error == nil) == (says == nil), "\(String(describing: error))")
        guard let error, let says else { return }
        #expect(error.code == .pluginFault && error.coder == "org.example.writer")
        #expect(error.message.contains(says))
    }

    private func image() throws -> DecodedImage {
        DecodedImage(
            info: ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgba8),
            pixels: try .of(PixelSize(1, 1), .rgba8, [1, 2, 3, 4]), format: "x", coder: "x")
    }

    @Test(arguments: cases.indices) func `is the encoder's fault`(index: Int) throws {
        let image = try image()
        judge(index) { manager throws(CoderError) in _ = try manager.encode(image, to: "out") }
    }

    @Test(arguments: cases.indices) func `is the fault of the encoder of an animation`(index: Int) throws {
        let image = try image()
        judge(index) { manager throws(CoderError) in
            let encoder = try manager.makeAnimationEncoder(to: "out", of: image.info, into: MemorySink())
            try encoder.add(image.pixels, duration: .milliseconds(40))
            try encoder.finish()
        }
    }

    @Test(arguments: 0...cases.count) func `is the rewriter's fault`(index: Int) throws {
        let source = ImageSource(Array("OUT!".utf8), name: "image.out")
        judge(index == Self.cases.count ? Self.foreign : Self.cases[index]) { manager throws(CoderError) in
            _ = try manager.rewrite(source, to: MemorySink(), RewriteOptions())
        }
    }
}
