import AVIFCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

private func makeDecoder(_ bytes: [UInt8]) throws -> AVIFDecoder {
    try AVIFDecoder(DecoderSession(source: ByteSource(bytes)))
}

private func fixture(_ path: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
}

/// Decodes an image, or a region of it.
private func decode(_ bytes: [UInt8], _ region: PixelRect? = nil, as format: PixelFormat? = nil) throws -> PixelBuffer {
    try makeDecoder(bytes).image(region, as: format)
}

private func code(_ bytes: [UInt8], _ region: PixelRect? = nil) throws -> CoderError.Code? {
    do {
        _ = try decode(bytes, region)
    } catch let error as CoderError {
        return error.code
    }
    return nil
}

private let turned = "avif/grid-422-10bit-alpha-cropped-turned-mirrored.avif"

/// A file of `Fixtures/recipes/heif/grid.py`: its items have one extent each, with four-byte fields.
private struct Grid {
    var bytes: [UInt8]
    /// The positions of the offset and the length of each item's data, and their values.
    let items: [Int: (entry: Int, data: Range<Int>)]

    init(_ path: String) throws {
        let bytes = try fixture(path)
        let list = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("iloc".utf8)) })
        func number(_ place: Int, _ count: Int) -> Int { bytes[place..<place + count].reduce(0) { $0 << 8 | Int($1) } }
        var items: [Int: (entry: Int, data: Range<Int>)] = [:]
        for index in 0..<number(list + 10, 2) {
            let entry = list + 12 + 14 * index
            let start = number(entry + 6, 4)
            items[number(entry, 2)] = (entry + 6, start..<start + number(entry + 10, 4))
        }
        (self.bytes, self.items) = (bytes, items)
    }

    func data(of item: Int) throws -> [UInt8] { Array(bytes[try #require(items[item]).data]) }

    mutating func replace(_ item: Int, with data: [UInt8]) throws {
        let entry = try #require(items[item]).entry
        bytes.replaceSubrange(entry..<entry + 8, with: Boxes.u32(bytes.count + 8) + Boxes.u32(data.count))
        bytes += Boxes.box("mdat", data)
    }
}

@Suite struct `AVIF grids` {
    /// The digests of avifdec's output, see Fixtures/avif/recipes.txt.
    private static let digests = [
        "avif/grid-420.avif": "7da1921e87b3a6df5a96036bea3231f6d366fc97171ac3ba18a41b4d5d920428",
        "avif/grid-444-odd-size.avif": "f63f0516f7c85a594a75de0ac72651c05f04637a1ebb9becf354ffb979026226",
        turned: "a79906f806c6bdaf5fe152c1bd1e557197f5ea21ece26d74a259550cf029a0d6",
    ]

    @Test(arguments: digests.keys.sorted())
    func `equal the output of another decoder`(path: String) throws {
        let decoder = try makeDecoder(fixture(path))
        let info = try decoder.readHeader()
        #expect(info.regionCost == .tiles && info.tileSize == PixelSize(64, 64))
        #expect(try PixelDigest.of(decode(fixture(path))) == Self.digests[path])
        for format in decoder.pixelFormats where format.bits == info.nativeFormat.bits {
            #expect(try PixelDigest.of(decode(fixture(path), as: format)) == Self.digests[path], "\(format)")
        }
    }

    @Test(arguments: digests.keys.sorted())
    func `above the pixel limit decode by regions, if no tile is above it`(path: String) throws {
        let bytes = try fixture(path)
        let whole = try decode(bytes)
        let rect = PixelRect(x: 9, y: 20, width: 40, height: 31)
        for (pixels, isAllowed) in [(64 * 64, true), (64 * 64 - 1, false)] {
            var limits = DecodeLimits.default
            limits.maxPixels = pixels
            let decoder = try AVIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
            let info = try decoder.readHeader()
            #expect(info.size == whole.size && info.size.area ?? 0 > pixels)
            let buffer = try PixelBuffer(size: rect.size, format: info.nativeFormat)
            if isAllowed {
                #expect(try decoder.decode(DecodeRequest(region: rect), into: Surface(buffer)) == .complete)
                #expect(buffer.packed == part(rect, of: whole.packed, whole.size, info.nativeFormat))
            } else {
                let error = #expect(throws: CoderError.self) {
                    try decoder.decode(DecodeRequest(region: rect), into: Surface(buffer))
                }
                #expect(error?.limit == CoderError.Limit(name: "pixels", allowed: UInt64(pixels), requested: 64 * 64))
            }
        }
    }

    @Test(arguments: [10, 12, 15])
    func `with a damaged tile decode the regions of other tiles`(tile: Int) throws {
        var grid = try Grid("avif/grid-420.avif")
        let whole = try decode(grid.bytes)
        try grid.replace(tile, with: [UInt8](repeating: 0x5A, count: 900))
        #expect(try code(grid.bytes) == .corrupt)
        for other in 10...15 {
            // Pixels next to a seam need the tile behind it.
            let rect = PixelRect(x: (other - 10) % 3 * 64 + 2, y: (other - 10) / 3 * 64 + 2, width: 20, height: 50)
            if other == tile {
                #expect(try code(grid.bytes, rect) == .corrupt)
            } else {
                #expect(try decode(grid.bytes, rect).packed == part(rect, of: whole.packed, whole.size, .rgb8))
            }
        }
    }

    @Test(arguments: [
        ("avif/grid-444-odd-size.avif", 11), (turned, 11), (turned, 17), ("avif/known-samples-420-bt601.avif", 0),
    ])
    func `of tiles with other samples are corrupt`(path: String, item: Int) throws {
        var grid = try Grid("avif/grid-420.avif")
        // Other colors, other depths, gray, and another size, which libavif scales to the size in the boxes.
        let data = item > 0 ? try Grid(path).data(of: item) : Array(try fixture(path).suffix(900))
        for tile in [10, 13] {
            try grid.replace(tile, with: data)
            #expect(try code(grid.bytes) == .corrupt)
        }
    }

    @Test func `with another declared tile size are joined by libavif`() throws {
        // The stream is 64 x 48.
        let file = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 64), tile: (64, 64))
        let whole = try decode(file.bytes)
        let region = PixelRect(x: 50, y: 3, width: 30, height: 60)
        #expect(try decode(file.bytes, region).packed == part(region, of: whole.packed, whole.size, .gray8))
    }

    @Test(arguments: [(1, 2, 200, 64), (2, 2, 128, 64), (1, 2, 64, 64), (1, 3, 128, 64), (1, 2, 127, 193)])
    func `that do not match their tiles are corrupt`(rows: Int, columns: Int, width: Int, height: Int) throws {
        let file = HandmadeHEIF.grid(rows: rows, columns: columns, canvas: (width, height), tile: (64, 64))
        #expect(try code(file.bytes) == .corrupt)
    }

    @Test func `place their tiles in the order of the reference`() throws {
        var bytes = try fixture("avif/grid-444-odd-size.avif")
        let whole = try decode(bytes).packed
        // Behind the type: from 1, count 6, to 10 ... 15.
        let list = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("dimg".utf8)) }) + 8
        (bytes[list + 1], bytes[list + 3]) = (bytes[list + 3], bytes[list + 1])
        let changed = try decode(bytes).packed
        let left = PixelRect(x: 0, y: 0, width: 64, height: 64)
        let right = PixelRect(x: 64, y: 0, width: 64, height: 64)
        let size = PixelSize(151, 121)
        #expect(part(left, of: changed, size, .rgb8) == part(right, of: whole, size, .rgb8))
        #expect(part(right, of: changed, size, .rgb8) == part(left, of: whole, size, .rgb8))
    }

    @Test func `with missing or repeated tiles are corrupt`() throws {
        var file = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 64), tile: (64, 64))
        for tiles in [[2], [2, 2], [2, 9], []] {
            file.references = [("dimg", 1, tiles)]
            #expect(try code(file.bytes) == .corrupt, "\(tiles)")
        }
    }

    @Test func `that are cut wait for input, then are truncated`() throws {
        let bytes = try fixture("avif/grid-420.avif")
        let whole = try decode(bytes)
        let source = ByteSource(bytes, arrived: bytes.count - 100)
        let decoder = try AVIFDecoder(DecoderSession(source: source))
        _ = try decoder.readHeader()
        let buffer = try PixelBuffer(size: whole.size, format: .rgb8)
        let waiting = #expect(throws: CoderError.self) { try decoder.decode(DecodeRequest(), into: Surface(buffer)) }
        #expect(waiting?.code == .needsInput)
        // The tiles of a region may have arrived already.
        let region = PixelRect(x: 10, y: 10, width: 60, height: 30)
        let early = try PixelBuffer(size: region.size, format: .rgb8)
        #expect(try decoder.decode(DecodeRequest(region: region), into: Surface(early)) == .complete)
        #expect(early.packed == part(region, of: whole.packed, whole.size, .rgb8))
        source.arrive()
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        #expect(buffer.packed == whole.packed)
        #expect(try code(Array(bytes.dropLast(100))) == .truncated)
    }

    @Test func `reserve memory for the canvas and the active tiles, and free it`() throws {
        let host = RecordingHost()
        let session = DecoderSession(source: ByteSource(try fixture("avif/grid-420.avif")), host: try host.services())
        let decoder = try AVIFDecoder(session)
        let buffer = try PixelBuffer(size: try decoder.readHeader().size, format: .rgb8)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        #expect(host.reserved == 0 && host.mostReserved > 150 * 120 * 3 / 2 && host.mostReserved < 600_000)
        let poor = RecordingHost(allowedMemory: 100_000)
        let second = try AVIFDecoder(
            DecoderSession(source: ByteSource(try fixture("avif/grid-420.avif")), host: try poor.services()))
        _ = try second.readHeader()
        let error = #expect(throws: CoderError.self) { try second.decode(DecodeRequest(), into: Surface(buffer)) }
        #expect(error?.code == .limitExceeded && poor.reserved == 0)
    }

    @Test func `end as cancelled at each poll`() throws {
        let bytes = try fixture(turned)
        let all = RecordingHost()
        func decode(_ host: RecordingHost) throws -> CoderError.Code? {
            let services = try host.services()
            do throws(CoderError) {
                let decoder = try AVIFDecoder(DecoderSession(source: ByteSource(bytes), host: services))
                let info = try decoder.readHeader()
                let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
                _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
                return nil
            } catch { return error.code }
        }
        #expect(try decode(all) == nil)
        #expect(all.polls > 12)
        for polls in 0..<all.polls { #expect(try decode(RecordingHost(allowedPolls: polls)) == .cancelled, "\(polls)") }
    }
}

@Suite struct `AVIF regions` {
    @Test(arguments: [
        "avif/grid-420.avif", "avif/grid-444-odd-size.avif", turned, "avif/alpha.avif", "avif/rgb-10bit.avif",
        "avif/gray-limited-range.avif", "avif/known-samples-420-bt601.avif", "avif/known-samples-422-bt709.avif",
        "avif/known-samples-444-cropped.avif", "avif/known-samples-422-bt709-turned.avif", "avif/ramp-12bit.avif",
        "avif/with-thumbnail.avif", "avif/sequence-alpha.avif",
    ])
    func `equal the same part of the whole image`(path: String) throws {
        try compare(try fixture(path))
    }

    @Test(arguments: 0..<4, 0..<2)
    func `equal the same part of a rotated and mirrored grid`(turns: Int, axis: Int) throws {
        var bytes = try fixture(turned)
        for (box, value) in [("irot", turns), ("imir", axis)] {
            bytes[try #require(bytes.indices.first { bytes[$0...].starts(with: Array(box.utf8)) }) + 4] = UInt8(value)
        }
        try compare(bytes)
    }

    @Test(arguments: [1, 2, 3, 4, 63, 64, 65, 66, 127, 128, 129])
    func `equal the same part next to a seam`(place: Int) throws {
        let bytes = try fixture("avif/grid-420.avif")
        let whole = try decode(bytes)
        for length in [1, 2, 3] {
            for region in [
                PixelRect(x: place, y: 0, width: length, height: 120),
                PixelRect(x: 0, y: min(place, 117), width: 150, height: length),
                PixelRect(x: place, y: min(place, 117), width: length, height: length),
            ] {
                #expect(
                    try decode(bytes, region).packed == part(region, of: whole.packed, whole.size, .rgb8), "\(region)")
            }
        }
    }

    @Test func `outside of the image are misuse`() throws {
        let decoder = try makeDecoder(fixture("avif/grid-420.avif"))
        _ = try decoder.readHeader()
        let buffer = try PixelBuffer(size: PixelSize(10, 10), format: .rgb8)
        let error = #expect(throws: CoderError.self) {
            try decoder.decode(
                DecodeRequest(region: PixelRect(x: 145, y: 0, width: 10, height: 10)), into: Surface(buffer))
        }
        #expect(error?.code == .misuse)
    }

    private func compare(_ bytes: [UInt8]) throws {
        let decoder = try makeDecoder(bytes)
        _ = try decoder.readHeader()
        var random = SeededRandom(11)
        for format in decoder.pixelFormats {
            let whole = try decode(bytes, as: format)
            for region in regions(in: whole.size, &random, count: 20) {
                let expected = part(region, of: whole.packed, whole.size, format)
                #expect(try decode(bytes, region, as: format).packed == expected, "\(region) \(format)")
            }
        }
    }
}
