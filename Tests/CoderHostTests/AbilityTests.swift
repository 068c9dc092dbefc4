import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// Optional abilities of the contract, tested with a C plugin that computes its images, in this process and in a
/// worker.
@Suite(.timeLimit(.minutes(40))) struct `An ability of the contract` {
    private static let policies = [IsolationPolicy(.off), IsolationPolicy(.require, needed: [])]
    private static let plugin = Result {
        let folder = TemporaryDirectory()
        return (folder, try PluginBuilder.build("abilities/abilities.c", into: folder.path))
    }

    private func host(_ policy: Int, limits: DecodeLimits = .default, threads: Int = 1) throws -> CoderHost {
        let (folder, _) = try Self.plugin.get()
        let host = testHost(folder.path, limits: limits, isolation: Self.policies[policy])
        return CoderHost(
            configuration: {
                var configuration = host.configuration
                configuration.threadsPerImage = threads
                return configuration
            }())
    }

    /// A file for the plugin; see `Tests/ThirdParty/abilities/abilities.c`.
    private func file(_ kind: Character, _ width: UInt32, _ height: UInt32, text: String = "", name: String = "a.frm")
        -> ImageSource
    {
        var numbers: [UInt8] = []
        for number in [width, height] {
            for shift in [24, 16, 8, 0] as [UInt32] { numbers.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }
        return ImageSource(
            Array("FRM1".utf8) + numbers + Array("\(kind)".utf8) + Array(text.utf8), name: name)
    }

    /// The expected pixels of a part of an image.
    private func formula(_ rect: PixelRect, item: Int = 0) -> [UInt8] {
        var bytes: [UInt8] = []
        for y in rect.y..<rect.y + rect.height {
            for x in rect.x..<rect.x + rect.width {
                bytes.append(UInt8(truncatingIfNeeded: 7 * x + 13 * y + item))
                bytes.append(UInt8(truncatingIfNeeded: 3 * x))
                bytes.append(UInt8(truncatingIfNeeded: 5 * y))
            }
        }
        return bytes
    }

    private func decode(_ source: ImageSource, _ host: CoderHost, _ change: (inout DecodeOptions) -> Void = { _ in })
        throws -> DecodedImage
    {
        var options = DecodeOptions()
        change(&options)
        return try host.manager.decode(source, options)
    }

    // MARK: Items

    @Test(arguments: policies.indices) func `lists every item, and the reason for a damaged one`(policy: Int) throws {
        try host(policy).manager.withSession(file("i", 30, 40)) { session throws(CoderError) in
            let items = try session.items()

            #expect(items.count == 5)
            #expect(items.map { $0.facts?.role } == [.primary, .page, .thumbnail, nil, .auxiliary])
            #expect(items[1].facts?.name == "second page" && items[1].facts?.info.size == PixelSize(11, 21))
            #expect(items[2].facts?.owner == 0 && items[4].facts?.kind == "urn:example:depth")
            guard case .failure(let error) = items[3].item else { throw CoderError(.misuse, "item 3 is not damaged") }
            #expect(error.message.contains("its header is damaged"))
        }
    }

    @Test(arguments: policies.indices) func `decodes the selected item`(policy: Int) throws {
        try host(policy).manager.withSession(file("i", 30, 40)) { session throws(CoderError) in
            for (item, size) in [(1, PixelSize(11, 21)), (4, PixelSize(14, 24)), (0, PixelSize(30, 40))] {
                try session.select(item: item)
                #expect(session.info.size == size && session.selectedItem == item)
                #expect(try session.decodeImage().packed == formula(PixelRect(size), item: item))
            }
        }
    }

    @Test(arguments: policies.indices) func `decodes item 0 of a file whose last item is the primary one`(
        policy: Int
    ) throws {
        try host(policy).manager.withSession(file("l", 30, 40)) { session throws(CoderError) in
            #expect(session.selectedItem == 4)
            #expect(try session.decodeImage().packed == formula(PixelRect(PixelSize(30, 40)), item: 4))
            #expect(try session.thumbnails().map(\.size) == [PixelSize(12, 22)])
            #expect(try session.decodeThumbnail(0).packed == formula(PixelRect(PixelSize(12, 22)), item: 2))
            for (item, size) in [(0, PixelSize(10, 20)), (4, PixelSize(30, 40)), (0, PixelSize(10, 20))] {
                try session.select(item: item)
                #expect(session.info.size == size && session.selectedItem == item)
                #expect(try session.decodeImage().packed == formula(PixelRect(size), item: item))
            }
        }
    }

    @Test(arguments: policies.indices) func `keeps the session if an item cannot be selected`(policy: Int) throws {
        try host(policy).manager.withSession(file("i", 30, 40)) { session throws(CoderError) in
            for (item, code) in [(3, CoderError.Code.refused), (5, .invalidArgument), (1_000_000, .invalidArgument)] {
                #expect { try session.select(item: item) } throws: { ($0 as? CoderError)?.code == code }
                #expect(session.selectedItem == 0 && session.info.size == PixelSize(30, 40))
            }
            #expect(try session.decodeImage().packed == formula(PixelRect(session.info.size)))
        }
    }

    @Test(arguments: policies.indices) func `decodes a thumbnail and then the image`(policy: Int) throws {
        try host(policy).manager.withSession(file("i", 30, 40)) { session throws(CoderError) in
            #expect(try session.thumbnails().map(\.size) == [PixelSize(12, 22)])
            #expect(try session.decodeThumbnail(0).packed == formula(PixelRect(PixelSize(12, 22)), item: 2))
            #expect(try session.decodeImage().packed == formula(PixelRect(PixelSize(30, 40))))
        }
    }

    @Test func `warns about images and auxiliary images that are not written`() throws {
        try host(0).manager.withSession(file("i", 30, 40)) { session throws(CoderError) in
            try session.warnOfOtherItems("written")

            #expect(session.context.warnings.contains { $0.contains("holds 3 images, but only one is written") })
            #expect(session.context.warnings.contains { $0.contains("item 4 (urn:example:depth) is not written") })
        }
    }

    @Test func `warns only about auxiliary images if an item was chosen`() throws {
        try host(0).manager.withSession(file("i", 30, 40)) { session throws(CoderError) in
            try session.warnOfOtherItems("written", chosen: [0])

            #expect(session.context.warnings == ["item 4 (urn:example:depth) is not written"])
        }
    }

    @Test(arguments: policies.indices) func `decodes an image whose other items are damaged`(policy: Int) throws {
        let folder = TemporaryDirectory()
        let damaged = "-DBEHIND_ITEMS=fail(&d->base,error,CPI_CORRUPT,\"torn\")"
        try PluginBuilder.build(
            "faulty/none.c", flags: ["-DITEM_ROLE=CPI_ITEM_PRIMARY", damaged], into: folder.path,
            named: "libcoder-torn.so")
        let host = testHost(folder.path, isolation: Self.policies[policy])
        let pixels: [UInt8] = [1, 2, 3, 4, 5, 6]
        let source = ImageSource(Array("flt!".utf8) + [0, 1, 0, 2, 3] + pixels, name: "a.flt")

        try host.manager.withSession(source) { session throws(CoderError) in
            let items = try session.items()
            #expect(items.map { $0.facts?.role } == [.primary, .page, nil])
            try session.warnOfOtherItems("written")
            #expect(session.context.warnings.contains("item 2 cannot be read (torn)"))
            #expect(session.context.warnings.contains { $0.contains("holds 3 images") })
            #expect(try session.decodeImage().packed == pixels)
        }
    }

    // MARK: Scaling, regions, large sources

    @Test(arguments: policies.indices, [PixelSize(10, 20), PixelSize(300, 600)])
    func `renders vectors at the requested size`(policy: Int, size: PixelSize) throws {
        let image = try decode(file("v", 100, 200), try host(policy)) { $0.size = .box(size) }

        #expect(image.pixels.size == size)
        let at = PixelRect(x: size.width - 1, y: size.height - 1, width: 1, height: 1)
        let x = (size.width - 1) * 100 / size.width
        let y = (size.height - 1) * 200 / size.height
        #expect(
            try PixelConverter.cropped(image.pixels, to: at).packed
                == formula(PixelRect(x: x, y: y, width: 1, height: 1)))
    }

    @Test(arguments: [PixelSize(65_536, 65_536), PixelSize(60_000, 60_000)])
    func `refuses to render vectors beyond the limits`(size: PixelSize) throws {
        let host = try host(0)
        #expect { try decode(file("v", 100, 100), host) { $0.size = .box(size) } } throws: {
            ($0 as? CoderError)?.code == .limitExceeded
        }
    }

    @Test(
        arguments: policies.indices,
        [
            PixelRect(x: 0, y: 0, width: 1, height: 1), PixelRect(x: 17, y: 5, width: 40, height: 30),
            PixelRect(x: 90, y: 190, width: 50, height: 50),
        ])
    func `decodes the requested region`(policy: Int, region: PixelRect) throws {
        for kind in ["t", "p"] as [Character] {
            let image = try decode(file(kind, 100, 200), try host(policy)) { $0.region = region }

            let inside = region.intersection(PixelRect(PixelSize(100, 200)))
            #expect(image.pixels.packed == formula(inside))
        }
    }

    @Test func `refuses a region outside the image`() throws {
        let host = try host(0)
        #expect {
            try decode(file("t", 100, 200), host) { $0.region = PixelRect(x: 100, y: 0, width: 5, height: 5) }
        } throws: { ($0 as? CoderError)?.code == .invalidArgument }
    }

    @Test(arguments: policies.indices) func `decodes four gigapixels in parts and reduced`(policy: Int) throws {
        // Its few bytes stand for a file of a usual size.
        var limits = DecodeLimits()
        limits.maxRatio = 0
        let source = file("t", 65_536, 65_535)
        let part = PixelRect(x: 65_000, y: 65_000, width: 100, height: 100)

        #expect(
            try decode(source, try host(policy, limits: limits)) { $0.region = part }.pixels.packed == formula(part))
        let small = try decode(source, try host(policy, limits: limits)) { $0.size = .box(PixelSize(2000, 2000)) }
        #expect(small.pixels.size == PixelSize(2000, 2000))
        #expect { try decode(source, try host(policy, limits: limits)) } throws: {
            ($0 as? CoderError)?.limit?.name == "side"
        }
    }

    @Test func `refuses a source above the source limit`() throws {
        var limits = DecodeLimits()
        limits.maxSourcePixels = 1_000_000_000
        let host = try host(0, limits: limits)
        #expect { try decode(file("t", 65_536, 65_535), host) { $0.size = .box(PixelSize(10, 10)) } } throws: {
            ($0 as? CoderError)?.limit?.name == "source-pixels"
        }
    }

    // MARK: Samples, alignment, threads, context

    @Test(arguments: policies.indices) func `describes and converts samples that no buffer can store`(policy: Int)
        throws
    {
        let image = try decode(file("m", 8, 6), try host(policy))

        #expect(image.info.nativeFormat == .rgb8)
        #expect(image.warnings.contains("5 channels of unsigned 32-bit integers become rgb8"))
        #expect(image.pixels.packed == formula(PixelRect(PixelSize(8, 6))))
    }

    @Test(arguments: policies.indices) func `aligns rows as the plugin requires`(policy: Int) throws {
        #expect(try decode(file("a", 37, 9), try host(policy)).pixels.packed == formula(PixelRect(PixelSize(37, 9))))
    }

    @Test(arguments: policies.indices, [1, 2, 5]) func `draws the same with any number of threads`(
        policy: Int, threads: Int
    ) throws {
        let image = try decode(file("p", 300, 1000), try host(policy, threads: threads))
        #expect(image.pixels.packed == formula(PixelRect(PixelSize(300, 1000))))
    }

    /// Endless tasks, a task with a positive status, a task that runs tasks.
    private static let badRuns: [(kind: Character, code: CoderError.Code)] = [
        ("e", .deadlineExceeded), ("n", .pluginFault), ("r", .misuse),
    ]

    @Test(arguments: policies.indices, badRuns.indices)
    func `stops forbidden actions of tasks on the host's threads`(policy: Int, index: Int) throws {
        let (kind, code) = Self.badRuns[index]
        var limits = DecodeLimits.default
        limits.maxMilliseconds = 500
        let host = try host(policy, limits: limits, threads: 2)

        #expect { try decode(file(kind, 8, 8), host) } throws: { ($0 as? CoderError)?.code == code }
    }

    @Test(arguments: policies.indices) func `passes the file name extension and the caller's options`(policy: Int)
        throws
    {
        let image = try decode(file("o", 1, 1, name: "photo.zap"), try host(policy)) {
            $0.coder["abilities.red"] = .integer(77)
        }
        #expect(image.pixels.packed == [77, UInt8(ascii: "z"), 0])
    }

    // MARK: File to file

    @Test(arguments: policies.indices) func `rewrites without the text`(policy: Int) throws {
        let sink = MemorySink(limits: .default)
        var options = RewriteOptions()
        options.removed = [.comment]
        let report = try host(policy).manager.rewrite(file("t", 3, 2, text: "secret"), to: sink, options)

        #expect(sink.bytes == file("t", 3, 2).bytes(0..<13))
        #expect(report.size == PixelSize(3, 2) && report.warnings.isEmpty)
    }

    @Test(arguments: policies.indices) func `refuses a rewrite that keeps other pixels than requested`(policy: Int)
        throws
    {
        let folder = TemporaryDirectory()
        try PluginBuilder.build(
            "faulty/none.c", flags: ["-DREWRITES", "-DKEPT_WIDTH(width)=((width)-1)"], into: folder.path,
            named: "libcoder-kept.so")
        let host = testHost(folder.path, isolation: Self.policies[policy])
        let source = ImageSource(Array("flt!".utf8) + [0, 2, 0, 1, 3, 1, 2, 3, 4, 5, 6], name: "a.flt")
        var options = RewriteOptions()
        options.removed = [.comment]

        #expect { try host.manager.rewrite(source, to: MemorySink(limits: .default), options) } throws: {
            let error = $0 as? CoderError
            return error?.code == .pluginFault && error?.message.contains("kept") == true
        }
    }

    @Test(arguments: policies.indices) func `refuses a rewrite that would lose pixels`(policy: Int) throws {
        var options = RewriteOptions()
        options.transform = .right
        let host = try host(policy)
        #expect { try host.manager.rewrite(file("t", 3, 2), to: MemorySink(limits: .default), options) } throws: {
            ($0 as? CoderError)?.code == .refused && "\($0)".contains("pixels stay as they are")
        }
    }

    @Test(arguments: policies.indices) func `packs a stream of another format and unpacks it`(policy: Int) throws {
        let manager = try host(policy).manager
        let head = Array("P7\nWIDTH 2\nHEIGHT 1\nDEPTH 3\nMAXVAL 255\nTUPLTYPE RGB\nENDHDR\n".utf8)
        let original = head + [1, 2, 3, 4, 5, 6]
        let (packed, back) = (MemorySink(limits: .default), MemorySink(limits: .default))

        try manager.transcode(ImageSource(original), to: "frm", into: packed)
        try manager.transcode(ImageSource(packed.bytes), to: "pam", into: back)

        #expect(packed.bytes.starts(with: "FRMP".utf8) && back.bytes == original)
    }

    @Test(arguments: policies.indices)
    func `refuses to unpack unpacked data and undeclared formats`(policy: Int) throws {
        let manager = try host(policy).manager
        let sink = MemorySink(limits: .default)

        #expect { try manager.transcode(file("t", 3, 2), to: "pam", into: sink) } throws: {
            ($0 as? CoderError)?.code == .refused
        }
        #expect { try manager.transcode(file("t", 3, 2), to: "png", into: sink) } throws: {
            ($0 as? CoderError)?.code == .noCoder
        }
        #expect { try manager.transcode(ImageSource([1, 2, 3, 4]), to: "frm", into: sink) } throws: {
            ($0 as? CoderError)?.code == .unrecognizedFormat
        }
    }
}
