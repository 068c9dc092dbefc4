import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

// The examples use type names that the tests replace with their own factories.
private typealias Host = CoderHost
private typealias Source = ImageSource
private typealias Configuration = HostConfiguration
private typealias Sink = FileSink

/// Applications that use the plugins of `Tests/Examples/Mosaic` and `Tests/ThirdParty/spectrum`.
@Suite(.timeLimit(.minutes(40))) struct `An example of an ability` {
    private let examples: AbilityExamples
    private let host: Host

    init() throws {
        examples = try AbilityExamples()
        host = examples.host()
    }

    private func ImageSource(path: String) throws(CoderError) -> Source { try examples.source(path) }
    private func ImageSource(_ bytes: [UInt8], name: String = "bytes") -> Source { Source(bytes, name: name) }
    private func FileSink(path: String, replacing: Bool) throws(CoderError) -> Sink { try examples.sink(path) }
    private func HostConfiguration() -> Configuration { examples.configuration() }

    // MARK: Reduced decoding

    @Test func `decodes every page of a book`() throws {
        // every begins
        var pages: [DecodedImage] = []
        try host.manager.withSession(try ImageSource(path: "book.mosaic")) { session throws(CoderError) in
            for item in try session.items() where item.facts != nil {
                try session.select(item: item.index)
                pages.append(try session.decodeImage(DecodeOptions()))
            }
        }
        // every ends
        #expect(pages.map(\.pixels.packed) == AbilityExamples.book.map { $0.pixels() })
    }

    @Test func `writes pages into one file`() throws {
        // album begins
        let sink = try FileSink(path: "album.mosaic", replacing: true)
        let encoder = try host.manager.makeItemsEncoder(to: "mosaic", into: sink)
        for path in ["wall.mosaic", "book.mosaic"] {
            try encoder.add(try host.manager.decode(try ImageSource(path: path)))
        }
        try encoder.finish()
        try sink.commit()
        // album ends
        try host.manager.withSession(try ImageSource(path: "album.mosaic")) { session throws(CoderError) in
            #expect(try session.items().count == 2)
            for (index, path) in ["wall.mosaic", "book.mosaic"].enumerated() {
                try session.select(item: index)
                let original = try host.manager.decode(try ImageSource(path: path))
                #expect(try session.decodeImage(DecodeOptions()).pixels.packed == original.pixels.packed)
            }
        }
    }

    @Test func `lists a damaged page with its reason, and the pages before it`() throws {
        let whole = AbilityExamples.book.flatMap(\.bytes)

        try host.manager.withSession(ImageSource(Array(whole.dropLast(200)))) { session throws(CoderError) in
            let items = try session.items()
            #expect(items.map { $0.facts?.role } == [.primary, .page, nil])
            guard case .failure(let error) = items[2].item else { throw CoderError(.misuse, "page 3 is not damaged") }
            #expect(error.code == .refused)
        }
    }

    @Test func `creates thumbnails of tiles without a full decode, and of vectors without resampling`() throws {
        // small begins
        let small = try host.manager.decode(try ImageSource(path: "wall.mosaic"), .thumbnail(PixelSize(80, 60)))
        let large = try host.manager.decode(try ImageSource(path: "kitchen.xml"), .thumbnail(PixelSize(600, 400)))
        // small ends
        let wall = AbilityExamples.wall
        #expect(small.pixels.size == PixelSize(80, 60))
        // The host requests 1.75 times the size: the coder's smallest sufficient size is a quarter, which the host
        // halves.
        let quarter = PixelRect(x: 0, y: 0, width: 160, height: 120)
        let scaled = try PixelBuffer.of(quarter.size, .rgb8, wall.pixels(quarter, over: 4))
        let whole = try PixelBuffer.of(wall.size, .rgb8, wall.pixels())
        #expect(try small.pixels.packed == resampled(scaled, to: small.pixels.size))
        #expect(try small.pixels.packed != resampled(whole, to: small.pixels.size))
        #expect(large.pixels.size == PixelSize(600, 400))
        #expect(Set(large.pixels.packed) == [0, 255], "an enlarged edge would have other values")
        #expect(large.pixels.packed[200 * 600 + 300] == 0 && large.pixels.packed[0] == 255)
    }

    private func resampled(_ pixels: PixelBuffer, to size: PixelSize) throws -> [UInt8] {
        try Resampler.resample(BufferRows(pixels), to: size, Resampling()).packed
    }

    @Test func `decodes a part`() throws {
        // part begins
        var options = DecodeOptions()
        options.region = PixelRect(x: 41, y: 29, width: 200, height: 100)
        let part = try host.manager.decode(try ImageSource(path: "wall.mosaic"), options).pixels
        // part ends
        #expect(part.packed == AbilityExamples.wall.pixels(PixelRect(x: 41, y: 29, width: 200, height: 100)))
        #expect(
            try host.manager.decode(ImageSource(path: "wall.mosaic")).pixels.packed == AbilityExamples.wall.pixels())
    }

    @Test func `decodes an image of three gigapixels reduced, and a part of it`() throws {
        // limits begins
        var configuration = HostConfiguration()
        configuration.limits.maxPixels = 50_000_000  // pixels that are decoded
        configuration.limits.maxSourcePixels = 10_000_000_000  // pixels of the canvas
        let host = CoderHost(configuration: configuration)
        let map = try host.manager.decode(try ImageSource(path: "map.mosaic"), .thumbnail(PixelSize(2000, 2000)))
        // limits ends
        #expect(map.pixels.size == PixelSize(2000, 1667))
        var options = DecodeOptions()
        options.region = PixelRect(x: 59_900, y: 49_900, width: 100, height: 100)
        let part = try host.manager.decode(try ImageSource(path: "map.mosaic"), options)
        #expect(part.pixels.packed == AbilityExamples.map.pixels(options.region))
        #expect { try host.manager.decode(ImageSource(path: "map.mosaic")) } throws: {
            ($0 as? CoderError)?.limit?.name == "pixels"
        }
        configuration.limits.maxSourcePixels = 1_000_000_000
        let strict = CoderHost(configuration: configuration)
        #expect { try strict.manager.decode(ImageSource(path: "map.mosaic"), options) } throws: {
            ($0 as? CoderError)?.limit?.name == "source-pixels"
        }
    }

    // MARK: Memory and threads

    @Test func `copies an image in bands`() throws {
        // bands begins
        let sink = try FileSink(path: "copy.mosaic", replacing: true)
        try host.manager.withSession(try ImageSource(path: "wall.mosaic")) { session throws(CoderError) in
            guard let image = try session.rowImage(DecodeOptions()) else { throw .refused("it comes as a whole only") }
            try host.manager.encode(image, to: "mosaic", EncodeOptions(), into: sink)
        }
        try sink.commit()
        // bands ends
        let whole = try host.manager.decode(ImageSource(path: "wall.mosaic"))
        #expect(try examples.bytes("copy.mosaic") == host.manager.encode(whole, to: "mosaic"))
        #expect(
            try host.manager.decode(ImageSource(path: "copy.mosaic")).pixels.packed == AbilityExamples.wall.pixels())
    }

    @Test func `draws the same with four threads`() throws {
        // threads begins
        var configuration = HostConfiguration()
        configuration.threadsPerImage = 4
        let host = CoderHost(configuration: configuration)
        let image = try host.manager.decode(try ImageSource(path: "wall.mosaic"))
        // threads ends
        #expect(image.pixels.packed == AbilityExamples.wall.pixels())
    }

    // MARK: File to file

    @Test func `removes the text of every page`() throws {
        // removing begins
        var options = RewriteOptions()
        options.removed = [.comment]
        let sink = try FileSink(path: "silent.mosaic", replacing: true)
        let report = try host.manager.rewrite(try ImageSource(path: "book.mosaic"), to: sink, options)
        try sink.commit()
        // removing ends
        var silent = AbilityExamples.book
        for index in silent.indices { silent[index].text = "" }
        #expect(examples.bytes("silent.mosaic") == silent.flatMap(\.bytes))
        #expect(report.warnings.isEmpty && report.size == silent[0].size)
        options.transform = .right
        #expect { try host.manager.rewrite(ImageSource(path: "book.mosaic"), to: MemorySink(), options) } throws: {
            ($0 as? CoderError)?.code == .refused
        }
    }

    @Test func `packs a stream and unpacks it`() throws {
        // packing begins
        let (packed, original) = (MemorySink(), MemorySink())
        try host.manager.transcode(try ImageSource(path: "scan.pam"), to: "mosaic", into: packed)
        try host.manager.transcode(ImageSource(packed.bytes), to: "pam", into: original)
        // packing ends
        #expect(original.bytes == AbilityExamples.scan && packed.bytes.starts(with: "MOSA".utf8))
        #expect(try host.manager.decode(ImageSource(packed.bytes)).pixels.packed == [1, 2, 3, 4, 5, 6])
        #expect {
            try host.manager.transcode(ImageSource(path: "wall.mosaic"), to: "pam", into: MemorySink())
        } throws: {
            ($0 as? CoderError)?.code == .refused
        }
    }

    // MARK: Options and reports of a coder

    @Test func `describes samples that no buffer can store`() throws {
        // converting begins
        let image = try host.manager.decode(try ImageSource(path: "field.spectrum"))
        let format = image.pixels.format  // rgb16
        let notes = image.warnings  // 5 channels of unsigned 32-bit integers become rgb16
        // converting ends
        #expect(format == PixelFormat(.rgb, bits: 16))
        #expect(notes == ["5 channels of unsigned 32-bit integers become rgb16"])
        let samples = image.pixels.packed.chunks(of: 2).map { Int($0[1]) << 8 | Int($0[0]) }
        #expect(samples == [3, 2, 1, 8, 7, 6].map { $0 << 8 | 0x40 })
    }

    @Test func `passes an option and the file name extension`() throws {
        let wall = AbilityExamples.wall.pixels()
        let bytes = Array(AbilityExamples.wall.bytes.dropFirst(4))
        // telling begins
        var options = DecodeOptions()
        options.coder["mosaic.negative"] = .bool(true)
        let negative = try host.manager.decode(try ImageSource(path: "wall.mosaic"), options)
        let unmarked = try host.manager.decode(ImageSource(bytes, name: "wall.tiles"))
        // telling ends
        #expect(negative.pixels.packed == wall.map { 255 - $0 })
        #expect(unmarked.pixels.packed == wall && unmarked.coder == "org.example.tiles")
    }

    @Test func `recognizes XML by its root element, also compressed`() throws {
        // recognizing begins
        let kitchen = try ImageSource(path: "kitchen.xml")
        let format = try host.manager.withSession(kitchen) { session throws(CoderError) in session.format }  // plan
        // recognizing ends
        #expect(format == "plan")
        let made = try run(["sh", "-c", "gzip -n kitchen.xml"], directory: examples.place.path)
        #expect(made.status == 0, "\(made.stderr)")
        #expect(host.manager.candidates(for: try ImageSource(path: "kitchen.xml.gz")).first?.format == "plan")
        #expect { try host.manager.decode(ImageSource(path: "kitchen.xml.gz")) } throws: {
            ($0 as? CoderError)?.code == .unsupportedFeature
        }
    }

    @Test(.enabled(if: AbilityExamples.font != nil)) func `runs in a sandbox and reads fonts before the seal`()
        throws
    {
        let host = examples.host(IsolationPolicy(.auto, needed: []))
        // confining begins
        let field = try ImageSource(path: "field.spectrum")
        let place = try host.manager.withSession(field) { session throws(CoderError) in session.isolation?.place }
        let demanding = host.plugins.filter { $0.manifest?.requiresIsolation == true }
        // confining ends
        #expect(place == .worker)
        #expect(demanding.map(\.id) == ["org.example.spectrum-plugin"])
        let others = try AbilityExamples(reads: "")
        #expect { try others.host(IsolationPolicy(.auto, needed: [])).manager.decode(field) } throws: {
            "\($0)".contains("cannot be read")
        }
    }
}

extension [UInt8] {
    fileprivate func chunks(of count: Int) -> [[UInt8]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}
