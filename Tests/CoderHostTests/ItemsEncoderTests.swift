import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Encoder of several images` {
    private static let policies = [IsolationPolicy(.off), IsolationPolicy(.require, needed: [])]

    private func image(_ width: Int, _ height: Int, _ format: PixelFormat = .rgb8) throws -> DecodedImage {
        let buffer = try PixelBuffer(size: PixelSize(width, height), format: format)
        for y in 0..<height {
            buffer.withMutableRow(y) { row in
                for at in row.byteOffsets {
                    row.storeBytes(of: UInt8(truncatingIfNeeded: at * 5 + y * width), toByteOffset: at, as: UInt8.self)
                }
            }
        }
        return DecodedImage(
            info: ImageInfo(size: buffer.size, nativeFormat: format, bitDepth: 8, hasAlpha: format.hasTransparency),
            pixels: buffer, format: "test", coder: "test")
    }

    private func host(_ policy: Int = 0) -> CoderHost {
        testHost(Repository.products, isolation: Self.policies[policy])
    }

    @Test(arguments: [0, 1], ["ico", "tiff"])
    func `keeps every image, in this process and in a worker`(policy: Int, format: String) throws {
        let host = host(policy)
        let images = [try image(64, 50, .rgba8), try image(20, 31, .rgba8), try image(3, 2, .rgba8)]
        let sink = MemorySink()
        let encoder = try host.manager.makeItemsEncoder(to: ImageFormat(format), into: sink)
        for image in images { try encoder.add(image, role: .page, name: "n\(image.info.size.width)") }
        let report = try encoder.finish()

        #expect(encoder.count == 3 && report.coder == "org.coderhost.\(format)")
        #expect(report.isolation?.place == (policy == 0 ? .inProcess : .worker))
        let session = try host.manager.openSession(ImageSource(sink.bytes, name: "a.\(format)"))
        let items = try session.items()
        #expect(items.compactMap { $0.facts?.info.size } == images.map(\.pixels.size))
        for (index, image) in images.enumerated() {
            try session.select(item: index)
            #expect(try session.decodeImage().packed == image.pixels.packed)
        }
        if format == "tiff" { #expect(items.map { $0.facts?.name } == ["n64", "n20", "n3"]) }
    }

    @Test(arguments: [0, 1]) func `writes the same bytes to an output that only grows`(policy: Int) throws {
        let host = host(policy)
        let images = [try image(30, 20), try image(10, 40, .gray8)]
        func written(_ sink: any OutputSink) throws {
            let encoder = try host.manager.makeItemsEncoder(to: "tiff", into: sink)
            for image in images { try encoder.add(image) }
            try encoder.finish()
        }
        let (seekable, pipe) = (MemorySink(), Pipe())
        try written(seekable)
        try written(pipe)

        #expect(seekable.bytes == pipe.bytes && !pipe.bytes.isEmpty)
    }

    /// An output without positions.
    private final class Pipe: OutputSink {
        var bytes: [UInt8] = []
        var isSeekable: Bool { false }
        func write(_ span: RawSpan) throws(CoderError) {
            for index in span.byteOffsets { bytes.append(span.byte(at: index)) }
        }
        func overwrite(_ bytes: RawSpan, at offset: Int) throws(CoderError) { throw CoderError(.misuse, "a pipe") }
    }

    @Test func `names the encoder that writes one image, and the formats that hold several`() throws {
        let error = #expect(throws: CoderError.self) {
            try host().manager.makeItemsEncoder(to: "png", into: MemorySink())
        }
        #expect(error?.code == .noCoder)
        #expect(error?.message == "the encoder org.coderhost.png writes one image, not several")
        #expect(error?.hint?.contains("ico, tiff") == true)
    }

    @Test(arguments: [0, 1]) func `keeps the images before a refused one`(policy: Int) throws {
        let host = host(policy)
        let sink = MemorySink()
        let encoder = try host.manager.makeItemsEncoder(to: "ico", into: sink)
        try encoder.add(try image(16, 16, .rgba8))
        let error = #expect(throws: CoderError.self) { try encoder.add(try image(8, 8, .rgba8), role: .thumbnail) }
        try encoder.finish()

        #expect(error?.code == .refused && error?.coder == "org.coderhost.ico")
        #expect(error?.message == "an icon has sizes, no thumbnails")
        #expect(try host.manager.decode(ImageSource(sink.bytes, name: "a.ico")).info.size == PixelSize(16, 16))
    }

    @Test func `refuses an empty file`() throws {
        let encoder = try host().manager.makeItemsEncoder(to: "ico", into: MemorySink())
        let error = #expect(throws: CoderError.self) { try encoder.finish() }
        #expect(error?.code == .invalidArgument)
    }
}
