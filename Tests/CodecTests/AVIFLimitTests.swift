import AVIFCodec
import CoderPluginKit
import Glibc
import ImageModel
import TestSupport
import Testing

/// Reads everything that a file offers; returns the error, or nil for an image.
private func failure(_ file: HandmadeHEIF, arrived: Int? = nil) -> CoderError? { failure(file.bytes, arrived: arrived) }

private func failure(_ bytes: [UInt8], arrived: Int? = nil) -> CoderError? {
    let source = arrived.map { ByteSource(bytes, arrived: $0) } ?? ByteSource(bytes)
    do {
        let decoder = try AVIFDecoder(DecoderSession(source: source))
        let info = try decoder.readHeader()
        _ = try decoder.metadata()
        let pixels = try PixelBuffer(size: info.size, format: info.nativeFormat)
        while try decoder.nextFrame() != nil { _ = try decoder.decode(DecodeRequest(), into: Surface(pixels)) }
        var index = 0
        while info.hasItems, try decoder.item(at: index) != nil { index += 1 }
        return nil
    } catch {
        return error
    }
}

private typealias Extents = [(offset: UInt64, length: UInt64)]

@Suite struct `AVIF files that declare too much` {
    /// Each would make libavif allocate the sum of the lengths.
    private static let excessive: [Extents] = [
        [(32, 1 << 39), (32, 1 << 39)],
        [(32, 55), (32, 1 << 40)],
        [(32, .max), (32, 56)],
        Array(repeating: (0, 400), count: 5),
        [(32, 1 << 62), (.max, 1 << 62), (0, 1)],
        Array(repeating: (32, 1 << 30), count: 200),
    ]

    @Test(arguments: excessive.indices)
    func `are refused when the extents of an item exceed the file`(index: Int) throws {
        let extents = Self.excessive[index]
        var image = HandmadeHEIF()
        image.items[0].extents = extents
        #expect(failure(image)?.code == .corrupt)
        // The image does not need its Exif data.
        #expect(failure(HandmadeHEIF.exif(extents)) == nil)
        // Method 1: the extents are in the 'idat' box, which has 55 bytes.
        image.items[0].method = 1
        image.idat = image.data
        #expect(failure(image)?.code == .corrupt)
        #expect(failure(HandmadeHEIF.exif(extents, method: 1)) == nil)
    }

    @Test(arguments: excessive.indices)
    func `are refused when a tile, an alpha channel or a thumbnail exceeds the file`(index: Int) throws {
        var grid = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 64), tile: (64, 64))
        #expect(failure(grid) == nil)
        grid.items[1].extents = Self.excessive[index]
        #expect(failure(grid)?.code == .corrupt)
        for (type, more) in [("auxl", [4]), ("thmb", [])] as [(String, [UInt8])] {
            var file = HandmadeHEIF()
            file.properties.append(Boxes.full("auxC", Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0".utf8)))
            file.items.append(.init(id: 2, extents: HandmadeHEIF.image.extents, properties: [1, 2, 3] + more))
            file.references = [(type, 2, [1])]
            #expect(failure(file) == nil)
            file.items[1].extents = Self.excessive[index]
            // The image needs its alpha channel, but not its thumbnail, which is refused when it is listed.
            let code = failure(file)?.code
            #expect(type == "auxl" ? code == .corrupt : code == .refused)
        }
    }

    @Test(arguments: excessive.indices)
    func `are refused when metadata of a track exceeds the file`(index: Int) {
        let table = HandmadeHEIF.samples(sizes: (0, 1, [HandmadeHEIF.stream.count]))
        #expect(failure(HandmadeHEIF.sequence(table)) == nil)
        let meta = HandmadeHEIF.exif(Self.excessive[index]).meta
        #expect(failure(HandmadeHEIF.sequence(table, moreTrack: meta))?.code == .corrupt)
    }

    @Test func `keep an image in several extents that fit the file`() {
        for (method, start) in [(0, UInt64(HandmadeHEIF.dataPlace)), (1, 0)] {
            var image = HandmadeHEIF()
            image.items[0].method = method
            image.idat = image.data
            image.items[0].extents = [(start, 20), (start + 20, UInt64(image.data.count) - 20)]
            #expect(failure(image) == nil)
        }
    }

    @Test func `wait for the bytes of several extents before allocating memory`() {
        var image = HandmadeHEIF()
        image.items[0].extents = [(32, 1 << 39), (32, 1 << 39)]
        let bytes = image.bytes
        #expect(failure(bytes + [UInt8](repeating: 0, count: 100), arrived: bytes.count)?.code == .needsInput)
    }

    @Test func `are refused when they list too many extents`() {
        // libavif allocates 16 bytes for an extent. With sizes of 0 it takes no room in the file.
        var file = HandmadeHEIF()
        file.sizes = (0, 0, 0, 0)
        let list = [(UInt64, UInt64)](repeating: (0, 0), count: 65_535)
        for id in 2..<20 { file.items.append(.init(id: id, extents: list, properties: [])) }
        #expect(failure(file)?.code == .limitExceeded)
    }

    @Test func `are refused when they list too many items`() {
        var file = HandmadeHEIF()
        file.sizes = (0, 0, 0, 0)
        for id in 2..<65_000 { file.items.append(.init(id: id, extents: [], properties: [])) }
        #expect(failure(file)?.code == .limitExceeded)
    }

    @Test func `are refused when looking up references would take minutes`() {
        var file = HandmadeHEIF()
        for id in 2..<5_000 { file.items.append(.init(id: id, extents: [], properties: [])) }
        let all = Array(repeating: 4_999, count: 65_535)
        for _ in 0..<10 { file.references.append(("dimg", 4_999, all)) }
        #expect(failure(file)?.code == .limitExceeded)
    }

    @Test func `are refused when empty boxes would take gigabytes`() {
        let table = HandmadeHEIF.samples(sizes: (0, 1, [HandmadeHEIF.stream.count]))
        // libavif allocates 3 KB for a track of 8 bytes, 1 KB for a sample entry, 72 bytes for a property.
        var tracks = HandmadeHEIF.sequence(table)
        let empty = Array(repeating: Boxes.box("trak", []), count: 200_000).flatMap { $0 }
        tracks.tail = Boxes.box("moov", Array(tracks.tail.dropFirst(8)) + empty)
        #expect(failure(tracks)?.code == .limitExceeded)
        let entries =
            Boxes.u32(300_001) + Array(HandmadeHEIF.description.dropFirst(4))
            + Array(repeating: Boxes.box("free", []), count: 300_000).flatMap { $0 }
        let described = HandmadeHEIF.samples(sizes: (0, 1, [55]), descriptions: entries)
        #expect(failure(HandmadeHEIF.sequence(described))?.code == .limitExceeded)
        var properties = HandmadeHEIF()
        properties.properties += Array(repeating: Boxes.box("free", []), count: 2_000_000)
        #expect(failure(properties)?.code == .limitExceeded)
    }

    @Test func `are refused also after a newer copy of the plugin was loaded`() throws {
        let folder = TemporaryDirectory()
        let copy = folder.file("libcoder-avif-newer.so")
        let bytes = try #require(readFile("\(Repository.products)/libcoder-avif.so"))
        try #require(writeFile(copy, bytes))
        try #require(unsafe dlopen(copy, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nil)
        let table = HandmadeHEIF.samples(sizes: (0, 1, [HandmadeHEIF.stream.count]))
        var tracks = HandmadeHEIF.sequence(table)
        let empty = Array(repeating: Boxes.box("trak", []), count: 200_000).flatMap { $0 }
        tracks.tail = Boxes.box("moov", Array(tracks.tail.dropFirst(8)) + empty)
        #expect(failure(tracks)?.code == .limitExceeded)
    }

    @Test func `are refused when samples exceed the file`() {
        // A constant size needs no list: nine thousand samples of one gigabyte each from a few bytes.
        let constant = HandmadeHEIF.samples(perChunk: 9_000, sizes: (1 << 30, 9_000, []))
        #expect(failure(HandmadeHEIF.sequence(constant))?.code == .truncated)
        let listed = HandmadeHEIF.samples(
            chunks: [32, 32], perChunk: 1, sizes: (0, 2, [55, 0x7FFF_FFFF]))
        #expect(failure(HandmadeHEIF.sequence(listed))?.code == .truncated)
    }

    @Test func `are refused when searching a sample table would take minutes`() {
        let count = 300_000
        let places = [UInt32](repeating: 32, count: count)
        let runs = (1...count).flatMap { Boxes.u32($0) + Boxes.u32(1) + Boxes.u32(1) }
        let table = HandmadeHEIF.samples(
            chunks: places, runs: Boxes.u32(count) + runs, sizes: (55, count, []))
        #expect(failure(HandmadeHEIF.sequence(table))?.code == .limitExceeded)
    }

    @Test func `are refused when each tile declares more than the canvas`() {
        // Each of 1,024 tiles would be scaled to 4,000 x 4,000 pixels.
        let file = HandmadeHEIF.grid(rows: 32, columns: 32, canvas: (4_000, 4_000), tile: (4_000, 4_000))
        let error = failure(file)
        #expect(error?.code == .limitExceeded)
    }

    /// The canvas of the grid has 151 x 131,193 pixels, which libavif refuses by a limit of its own.
    @Test func `name libavif's own limit of pixels where a grid exceeds it`() throws {
        var bytes = try #require(readFile(Repository.fixture("avif/grid-444-odd-size.avif")))
        #expect(failure(bytes) == nil)
        // The last box begins with the grid: 32-bit sizes, 2 rows of 3 tiles, 151 x 121 pixels.
        let grid: [UInt8] = [0, 1, 1, 2, 0, 0, 0, 151, 0, 0, 0, 121]
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: grid) })
        bytes[place + 9] = 2

        let error = failure(bytes)

        #expect(error?.code == .unsupportedFeature)
        #expect(error?.message.contains("268,435,456") == true)
    }
}
