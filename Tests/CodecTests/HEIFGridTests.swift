import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

private func makeDecoder(_ bytes: [UInt8]) throws -> HEIFDecoder {
    try HEIFDecoder(DecoderSession(source: ByteSource(bytes)))
}

private func fixture(_ path: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
}

/// Decodes an image, or a region of it.
private func decode(_ bytes: [UInt8], _ region: PixelRect? = nil, as format: PixelFormat? = nil) throws -> PixelBuffer {
    try makeDecoder(bytes).image(region, as: format)
}

private func rows(_ buffer: PixelBuffer) -> [[UInt8]] {
    (0..<buffer.size.height).map { y in
        buffer.withRow(y) { row in row.byteOffsets.map { unsafe row.unsafeLoad(fromByteOffset: $0, as: UInt8.self) } }
    }
}

private func part(_ rect: PixelRect, of buffer: PixelBuffer) -> [[UInt8]] {
    let size = buffer.format.bytesPerPixel
    return rows(buffer)[rect.rows].map { Array($0[rect.x * size..<(rect.x + rect.width) * size]) }
}

/// Corners, edges of tiles, single pixels and the whole.
private func regions(of size: PixelSize) -> [PixelRect] {
    let (w, h) = (size.width, size.height)
    return [
        PixelRect(size), PixelRect(x: 0, y: 0, width: 1, height: 1), PixelRect(x: w - 1, y: h - 1, width: 1, height: 1),
        PixelRect(x: w / 2, y: 0, width: w - w / 2, height: 5), PixelRect(x: 3, y: 7, width: w - 9, height: h - 13),
        PixelRect(x: 0, y: h / 3, width: w, height: 2), PixelRect(x: w / 3, y: 0, width: 1, height: h),
    ].filter { PixelRect(size).contains($0) && !$0.isEmpty }
}

extension HandmadeHEIF {
    /// The transforms of each Exif orientation: a counterclockwise quarter turn, then a mirror.
    private static let turns: [Int: UInt8] = [3: 2, 5: 1, 6: 3, 7: 3, 8: 1]
    private static let mirrors: [Int: UInt8] = [2: 1, 4: 0, 5: 0, 7: 0]

    /// A gray grid of 2 x 2 tiles with an alpha channel of one stream, rotated and mirrored.
    ///
    /// - Parameter isWrapped: whether an identity derivation is added, so that libheif composes the grid.
    fileprivate static func turnedGrid(_ orientation: Int, hasAlpha: Bool, isWrapped: Bool) -> HandmadeHEIF {
        var file = grid(rows: 2, columns: 2, canvas: (120, 90))
        var transforms: [UInt8] = []
        func add(_ box: [UInt8]) -> UInt8 {
            file.properties.append(box)
            return UInt8(file.properties.count)
        }
        if let turns = turns[orientation] { transforms.append(add(Boxes.box("irot", [turns]))) }
        if let axis = mirrors[orientation] { transforms.append(add(Boxes.box("imir", [axis]))) }
        file.items[0].properties += transforms
        if hasAlpha {
            let kind = add(Boxes.full("auxC", Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0".utf8)))
            var alpha = file.items[0]
            alpha.id = 20
            alpha.properties.append(kind)
            file.items.append(alpha)
            file.references += [("dimg", 20, [2, 3, 4, 5]), ("auxl", 20, [1])]
        }
        if isWrapped {
            let size = orientation > 4 ? Boxes.ispe(90, 120) : Boxes.ispe(120, 90)
            file.items[0].id = 30
            file.items.append(Item(id: 1, type: "iden", extents: [], properties: [add(size)]))
            file.references = file.references.map { $0.from == 1 ? ($0.type, 30, $0.to) : ($0.type, $0.from, $0.to) }
            file.references.append(("dimg", 1, [30]))
        }
        return file
    }
}

@Suite struct `HEIF grids` {
    @Test(arguments: 1...8)
    func `are composed like in libheif`(orientation: Int) throws {
        let own = HandmadeHEIF.turnedGrid(orientation, hasAlpha: false, isWrapped: false).bytes
        let wrapped = HandmadeHEIF.turnedGrid(orientation, hasAlpha: false, isWrapped: true).bytes
        #expect(try makeDecoder(own).readHeader().regionCost == .tiles)
        #expect(try makeDecoder(wrapped).readHeader().regionCost == .whole)
        // libheif composes gray tiles as RGB with three equal channels.
        let composed = rows(try decode(wrapped))
        let gray = composed.map { row in stride(from: 0, to: row.count, by: 3).map { row[$0] } }
        #expect(composed == gray.map { row in row.flatMap { [$0, $0, $0] } })
        let tiles = try decode(own)
        #expect(tiles.format == .gray8)
        #expect(rows(tiles) == gray)
        // The alpha channel shows the same streams as the image.
        let both = try decode(HandmadeHEIF.turnedGrid(orientation, hasAlpha: true, isWrapped: false).bytes)
        #expect(both.format == PixelFormat(.grayAlpha))
        #expect(rows(both) == gray.map { row in row.flatMap { [$0, $0] } })
    }

    @Test(arguments: ["heif/grid.heic", "heif/grid-cropped-turned-mirrored.heic"])
    func `have the facts of their tiles`(path: String) throws {
        let info = try makeDecoder(fixture(path)).readHeader()
        #expect(info.regionCost == .tiles && info.tileSize == PixelSize(64, 64))
    }

    @Test(arguments: ["heif/grid.heic", "heif/grid-cropped-turned-mirrored.heic"])
    func `equal the output of another decoder`(path: String) throws {
        let digests = [
            "heif/grid.heic": "0d5aec4e1baf30d0b3c1d09d7b703ae21ea7fbe343972a9d185ec90fda5934ad",
            "heif/grid-cropped-turned-mirrored.heic":
                "bbda98308fdf0f6dc0b425bcd3f4feaba223a372c5fe1422921950d45df0db67",
        ]
        #expect(try PixelDigest.of(decode(fixture(path))) == digests[path])
        #expect(try PixelDigest.of(decode(fixture(path), as: PixelFormat(.bgra, alpha: .opaque))) == digests[path])
    }

    @Test(arguments: [(80, 48), (64, 49), (65_535, 1)])
    func `that their tiles do not cover are refused`(width: Int, height: Int) throws {
        let file = HandmadeHEIF.grid(rows: 1, columns: 1, canvas: (width, height))
        let error = #expect(throws: CoderError.self) { try decode(file.bytes) }
        #expect(error?.code == .corrupt)
    }

    @Test(arguments: ["heif/grid.heic", "heif/grid-cropped-turned-mirrored.heic"])
    func `above the pixel limit decode by regions`(path: String) throws {
        let bytes = try fixture(path)
        let whole = try decode(bytes)
        var limits = DecodeLimits.default
        (limits.maxPixels, limits.maxSide) = (64 * 64, 64)
        let decoder = try HEIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
        let info = try decoder.readHeader()
        #expect(info.size == whole.size && info.size.area ?? 0 > limits.maxPixels)

        let region = PixelRect(x: 9, y: 20, width: 40, height: 31)
        let buffer = try PixelBuffer(size: region.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(region: region), into: Surface(buffer)) == .complete)
        #expect(rows(buffer) == part(region, of: whole))
    }

    @Test func `above the pixel limit are not composed by libheif`() throws {
        var limits = DecodeLimits.default
        limits.maxPixels = 64 * 64
        let bytes = HandmadeHEIF.turnedGrid(1, hasAlpha: false, isWrapped: true).bytes
        let error = #expect(throws: CoderError.self) {
            let decoder = try HEIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
            let buffer = try PixelBuffer(size: PixelSize(1, 1), format: decoder.readHeader().nativeFormat)
            let request = DecodeRequest(region: PixelRect(x: 0, y: 0, width: 1, height: 1))
            _ = try decoder.decode(request, into: Surface(buffer))
        }
        #expect(error?.limit == CoderError.Limit(name: "pixels", allowed: 64 * 64, requested: 120 * 90))
    }

    @Test func `with a damaged tile decode the regions of other tiles`() throws {
        var file = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 48))
        let whole = try decode(file.bytes)
        file.items[2].extents = [(0, 16)]
        #expect(throws: CoderError.self) { try decode(file.bytes) }
        let region = PixelRect(x: 5, y: 0, width: 59, height: 48)
        #expect(try rows(decode(file.bytes, region)) == part(region, of: whole))
    }
}

@Suite struct `HEVC streams decoded on several threads` {
    private let path = "heif/rows-in-parallel.heic"

    private func decode(_ bytes: [UInt8], threads: Int) throws -> PixelBuffer {
        let host = RecordingHost(threads: threads)
        let decoder = try HEIFDecoder(DecoderSession(source: ByteSource(bytes), host: host.services()))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
        return buffer
    }

    @Test(arguments: [1, 2, 3, 16]) func `have the same pixels for any number of threads`(threads: Int) throws {
        let digest = try #require(Fixture.named(path).expect?.pixelSHA256)
        #expect(try PixelDigest.of(decode(fixture(path), threads: threads)) == digest)
    }

    /// libde265 may wait forever for rows that no thread decodes, and decodes more of a damaged stream with several
    /// threads.
    @Test func `have the same result for any number of threads and any damage`() throws {
        let bytes = try fixture(path)
        let start = try #require(bytes.indices.dropLast(4).last { bytes[$0...].starts(with: Array("mdat".utf8)) }) + 4
        var random = SeededRandom(31)
        func outcome(_ bytes: [UInt8], threads: Int) throws -> Result<String, CoderError> {
            do { return .success(PixelDigest.of(try decode(bytes, threads: threads))) } catch let error as CoderError {
                return .failure(error)
            }
        }
        var codes: Set<CoderError.Code> = []
        var shown = 0
        for _ in 0..<300 {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let near = Bool.random(using: &random) ? min(bytes.count, start + 64) : bytes.count
                damaged[Int.random(in: start..<near, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            switch (try outcome(damaged, threads: 4), try outcome(damaged, threads: 1)) {
            case (.success(let pixels), .success(let expected)):
                #expect(pixels == expected)
                shown += 1
            case (.failure(let error), .failure(let expected)):
                #expect("\(error)" == "\(expected)")
                codes.insert(error.code)
            case let (pixels, expected): Issue.record("\(pixels) with threads, \(expected) without")
            }
        }
        #expect(shown > 0)
        #expect(!codes.isEmpty && codes.isSubset(of: [.corrupt, .truncated, .unsupportedFeature, .limitExceeded]))
    }
}

@Suite struct `HEIF regions` {
    @Test(arguments: [
        "heif/grid.heic", "heif/grid-cropped-turned-mirrored.heic", "heif/rgb-8bit.heic", "heif/alpha.heic",
        "heif/rotated-with-thumbnail-exif-icc.heic", "heif/odd-size-in-a-grid.heic", "avif/alpha.avif",
        "avif/rgb-10bit.avif", "avif/gray-limited-range.avif", "avif/known-samples-444-cropped.avif",
        "avif/known-samples-422-bt709-turned.avif", "avif/ramp-12bit.avif",
    ])
    func `equal the same part of the whole image`(path: String) throws {
        let bytes = try fixture(path)
        let whole = try decode(bytes)
        for region in regions(of: whole.size) {
            #expect(try rows(decode(bytes, region)) == part(region, of: whole), "\(region)")
        }
    }

    @Test(arguments: 1...8)
    func `equal the same part of a rotated grid with alpha`(orientation: Int) throws {
        let bytes = HandmadeHEIF.turnedGrid(orientation, hasAlpha: true, isWrapped: false).bytes
        for format in try makeFormats(bytes) {
            let whole = try decode(bytes, as: format)
            for region in regions(of: whole.size) {
                #expect(try rows(decode(bytes, region, as: format)) == part(region, of: whole), "\(region)")
            }
        }
    }

    private func makeFormats(_ bytes: [UInt8]) throws -> [PixelFormat] {
        let decoder = try makeDecoder(bytes)
        _ = try decoder.readHeader()
        return decoder.pixelFormats
    }

    @Test func `outside of the image are misuse`() throws {
        let decoder = try makeDecoder(fixture("heif/grid.heic"))
        _ = try decoder.readHeader()
        let buffer = try PixelBuffer(size: PixelSize(10, 10), format: .rgb8)
        let error = #expect(throws: CoderError.self) {
            try decoder.decode(
                DecodeRequest(region: PixelRect(x: 145, y: 0, width: 10, height: 10)), into: Surface(buffer))
        }
        #expect(error?.code == .misuse)
    }
}
