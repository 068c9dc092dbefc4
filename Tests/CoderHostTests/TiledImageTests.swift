import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// Tiled images of the HEIF and AVIF plugins, in this process and in a worker.
@Suite(.timeLimit(.minutes(40))) struct `A tiled image` {
    private static let policies = [IsolationPolicy(.off), IsolationPolicy(.require, needed: [])]

    private func host(_ policy: Int, threads: Int = 1) -> CoderHost {
        let plugins = policy == 0 ? Repository.products : Repository.workerPlugins
        var configuration = testHost(plugins, isolation: Self.policies[policy]).configuration
        configuration.threadsPerImage = threads
        return CoderHost(configuration: configuration)
    }

    private func source(_ path: String) throws -> ImageSource {
        ImageSource(try #require(readFile(Repository.fixture(path))), name: path)
    }

    @Test(arguments: policies.indices, [1, 2, 5])
    func `has the same pixels with any number of threads`(policy: Int, threads: Int) throws {
        // As decoded by pillow-heif: Fixtures/heif/recipes.txt.
        let digest = "bbda98308fdf0f6dc0b425bcd3f4feaba223a372c5fe1422921950d45df0db67"
        let image = try host(policy, threads: threads).manager.decode(
            try source("heif/grid-cropped-turned-mirrored.heic"), DecodeOptions())
        #expect(PixelDigest.of(image.pixels) == digest)
    }

    /// As decoded by avifdec: Fixtures/avif/recipes.txt.
    private static let digests = [
        "avif/grid-420.avif": "7da1921e87b3a6df5a96036bea3231f6d366fc97171ac3ba18a41b4d5d920428",
        "avif/grid-422-10bit-alpha-cropped-turned-mirrored.avif":
            "a79906f806c6bdaf5fe152c1bd1e557197f5ea21ece26d74a259550cf029a0d6",
    ]

    @Test(arguments: policies.indices, digests.keys.sorted())
    func `of AVIF has the same pixels with any number of threads`(policy: Int, path: String) throws {
        for threads in [1, 2, 3, 7] {
            let image = try host(policy, threads: threads).manager.decode(try source(path), DecodeOptions())
            #expect(image.coder == "org.coderhost.avif")
            #expect(PixelDigest.of(image.pixels) == Self.digests[path], "\(threads)")
        }
    }

    @Test(arguments: policies.indices)
    func `of one AVIF tile has the same pixels if strips are converted in parallel`(policy: Int) throws {
        // Large enough for several threads.
        let image = try DecodedImage.made(901, 640, .rgb8) { x, y, channel in
            UInt8(truncatingIfNeeded: channel == 0 ? x / 4 : channel == 1 ? y / 3 : (x + y) / 7)
        }
        let bytes = try host(policy).manager.encode(image, to: "avif", options: ["effort": .integer(0)])
        let one = try host(policy, threads: 1).manager.decode(ImageSource(bytes), DecodeOptions())
        for threads in [2, 5] {
            let other = try host(policy, threads: threads).manager.decode(ImageSource(bytes), DecodeOptions())
            #expect(PixelDigest.of(other.pixels) == PixelDigest.of(one.pixels))
        }
    }

    @Test(
        arguments: policies.indices,
        [
            "heif/grid.heic", "heif/grid-cropped-turned-mirrored.heic", "avif/grid-420.avif",
            "avif/grid-422-10bit-alpha-cropped-turned-mirrored.avif",
        ])
    func `decodes a region to the pixels of the whole`(policy: Int, path: String) throws {
        let host = host(policy, threads: 2)
        let whole = try host.manager.decode(try source(path), DecodeOptions()).pixels
        for region in [PixelRect(x: 0, y: 0, width: 7, height: 9), PixelRect(x: 33, y: 21, width: 40, height: 70)] {
            var options = DecodeOptions()
            options.region = region
            let part = try host.manager.decode(try source(path), options).pixels
            #expect(part.size == region.size)
            for y in 0..<region.height {
                for x in 0..<region.width {
                    #expect(part.pixel(x, y) == whole.pixel(region.x + x, region.y + y))
                }
            }
        }
    }

    @Test(arguments: policies.indices) func `works with the alpha channel of an AVIF`(policy: Int)
        throws
    {
        try host(policy).manager.withSession(try source("avif/alpha.avif")) { session throws(CoderError) in
            let found = try session.items().compactMap { $0.facts }
            #expect(found.map(\.role) == [.primary, .auxiliary] && found.map(\.owner) == [nil, 0])
            try session.select(item: 1)
            #expect(try session.decodeImage().format == .gray8)
        }
    }

    @Test(arguments: policies.indices) func `works in each image of a collection`(policy: Int)
        throws
    {
        try host(policy).manager.withSession(try source("heif/collection.heic")) { session throws(CoderError) in
            #expect(try session.items().compactMap { $0.facts?.role } == [.primary, .page, .page, .thumbnail])
            try session.select(item: 2)
            #expect(session.info.size == PixelSize(64, 128))
            #expect(try session.decodeImage().size == PixelSize(64, 128))
        }
    }
}
