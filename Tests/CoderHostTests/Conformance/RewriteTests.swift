import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// Rewrites by the built plugins: the kept pixels do not change.
@Suite(.timeLimit(.minutes(40))) struct `A rewritten file` {
    static let files = Fixture.valid("jpeg", "png", "apng", "gif", "webp", "heic", "avif")
        // The short header has no lists to change.
        .filter { $0.bytes.count < 200_000 && !$0.bytes.prefix(64).contains(Array("mini".utf8)) }

    private func rewrite(_ file: Fixture, _ change: (inout RewriteOptions) -> Void) throws -> [UInt8] {
        var options = RewriteOptions()
        change(&options)
        let sink = MemorySink()
        _ = try Bench.manager.rewrite(Bench.source(file), to: sink, options)
        return sink.bytes
    }

    /// The digest of every composited frame.
    private func digests(_ bytes: [UInt8]) throws -> [String] {
        try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
            var digests: [String] = []
            for frame in try session.frames() {
                digests.append(try PixelHash.hex(try session.decodeFrame(frame.index).pixels))
            }
            return digests
        }
    }

    @Test(arguments: files) func `without a change has the same bytes`(file: Fixture) throws {
        let bytes = try rewrite(file) { _ in }
        let isSame = bytes == file.bytes
        #expect(isSame)
    }

    @Test(arguments: files) func `without metadata has the same pixels and times`(file: Fixture) throws {
        let bytes = try rewrite(file) { $0.removed = Set(RewriteOptions.Part.allCases).subtracting([.icc]) }

        #expect(try digests(bytes) == digests(file.bytes))
        try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
            #expect(Set(try session.metadata().map(\.kind)).subtracting([.icc]) == [])
            let before = try Bench.manager.openSession(Bench.source(file))
            #expect(try session.frames().map(\.duration) == before.frames().map(\.duration))
            #expect(session.info.loopCount == before.info.loopCount && session.info.color == before.info.color)
        }
    }

    @Test(arguments: files) func `with new texts has the same pixels and times, and the texts as tags`(
        file: Fixture
    ) throws {
        let bytes = try rewrite(file) { options in
            for field in MetadataField.allCases { options.fields[field] = "\(field.rawValue) <é>" }
        }

        #expect(try digests(bytes) == digests(file.bytes))
        let tags = try Bench.manager.metadataTags(of: ImageSource(bytes))
        let found = Set(tags.map { "\($0.name)=\($0.text)" })
        for name in file.format == "gif"
            ? ["Title", "Description", "Creator", "Rights"] : ["ImageDescription", "Artist", "Copyright", "Title"]
        {
            let text =
                ["ImageDescription": "description", "Creator": "artist", "Rights": "copyright"][name]
                ?? name.lowercased()
            #expect(found.contains("\(name)=\(text) <é>"), "\(name): \(found)")
        }
    }

    /// Lossless JPEG and JPEG of 12 bits are only copied.
    private static let optimizable = files.filter { file in
        !["webp", "heic", "avif"].contains(file.format)
            && !["jpeg/lossless-", "jpeg/twelve-"].contains { file.name.hasPrefix($0) }
    }

    @Test(arguments: optimizable)
    func `that was optimized has the same pixels and is no larger`(file: Fixture) throws {
        let bytes = try rewrite(file) { $0.optimizes = true }

        #expect(try digests(bytes) == digests(file.bytes))
        #expect(bytes.count <= file.bytes.count)
    }

    @Test(arguments: Fixture.valid("jpeg").filter { ($0.expect?.orientation ?? 1) > 1 })
    func `contains the given orientation`(file: Fixture) throws {
        let bytes = try rewrite(file) { $0.orientation = .left }
        let session = try Bench.manager.openSession(ImageSource(bytes))

        #expect(session.info.orientation == .left)
        #expect(try PixelHash.hex(session.decodeImage()) == PixelHash.hex(Bench.decode(file).pixels))
    }

    @Test(arguments: Fixture.valid("jpeg").filter { ($0.expect?.orientation ?? 1) > 1 })
    func `warns about an orientation that is removed with the metadata`(file: Fixture) throws {
        func warnings(_ change: (inout RewriteOptions) -> Void) throws -> [String] {
            var options = RewriteOptions()
            options.removed = [.exif, .xmp]
            change(&options)
            return try Bench.manager.rewrite(Bench.source(file), to: MemorySink(), options).warnings
        }

        let orientation = try #require(file.expect?.orientation)
        let without = try warnings { _ in }
        #expect(without.count == 1 && without[0].hasPrefix("the orientation \(orientation) is removed"), "\(without)")
        #expect(try warnings { $0.orientation = Orientation(rawValue: orientation) } == [])
        #expect(try warnings { $0.removed = [.gps, .thumbnail] } == [])
    }

    @Test func `without its location has none in XMP either`() throws {
        let packet = Array(
            """
            <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
            <rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:GPSLatitude="1,2N" exif:FNumber="4/1">\
            <exif:GPSLongitude>3,4E</exif:GPSLongitude></rdf:Description></rdf:RDF></x:xmpmeta>
            """.utf8)
        let place = Fixture.named("images/f.png")
        let plain = try Bench.manager.decode(Bench.source(place))
        let image = DecodedImage(
            info: plain.info, pixels: plain.pixels, metadata: [MetadataBlob(.xmp, packet)], format: "png",
            coder: plain.coder)
        for format: ImageFormat in ["jpeg", "png", "webp", "heic", "avif"] {
            let file = try Bench.manager.encode(image, to: format)
            var options = RewriteOptions()
            options.removed = [.gps]
            let sink = MemorySink()
            #expect(try Bench.manager.rewrite(ImageSource(file), to: sink, options).warnings == [])
            let left = try Bench.manager.openSession(ImageSource(sink.bytes)).metadata().filter { $0.kind == .xmp }
            let text = String(decoding: try #require(left.first).bytes, as: UTF8.self)
            #expect(!text.contains("GPS") && text.contains(#"exif:FNumber="4/1""#), "\(format): \(text)")
            #expect(try digests(sink.bytes) == digests(file))
        }
    }

    @Test(arguments: files.filter { !["jpeg", "heic", "avif"].contains($0.format) })
    func `of a format without lossless turning is refused`(file: Fixture) throws {
        #expect(Bench.code { _ = try rewrite(file) { $0.transform = .right } } == .refused)
    }

    @Test(arguments: files) func `that was truncated causes a typed error, or is rewritten up to the cut`(
        file: Fixture
    ) throws {
        for count in stride(from: 0, to: file.bytes.count, by: max(1, file.bytes.count / 24)) {
            var options = RewriteOptions()
            options.removed = [.exif, .comment]
            options.optimizes = !["webp", "heic", "avif"].contains(file.format)
            let source = ImageSource(Array(file.bytes.prefix(count)))
            let code = Bench.code { _ = try Bench.manager.rewrite(source, to: MemorySink(), options) }
            #expect(![.pluginFault, .misuse, .pluginCrashed].contains(code))
        }
    }
}
