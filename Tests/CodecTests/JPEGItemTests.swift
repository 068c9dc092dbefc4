import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@testable import JPEGCodec

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("jpeg/\(name)"))) }

/// The samples written by djpeg.
private func samples(_ name: String) throws -> [UInt8] {
    Array(try file(name).split(separator: 0x0A, maxSplits: 3, omittingEmptySubsequences: false)[3])
}

private func makeDecoder(_ bytes: [UInt8], host: RecordingHost = RecordingHost()) throws -> JPEGDecoder {
    try JPEGDecoder(DecoderSession(source: ByteSource(bytes), host: try host.services()))
}

private func items(_ decoder: JPEGDecoder) throws -> [ImageItem] {
    _ = try decoder.readHeader()
    var found: [ImageItem] = []
    while let item = try decoder.item(at: found.count) { found.append(item) }
    #expect(try decoder.itemCount() == found.count)
    return found
}

private func code(_ body: () throws(CoderError) -> Void) -> CoderError.Code? {
    do throws(CoderError) { try body() } catch { return error.code }
    return nil
}

private func inserting(_ segment: [UInt8], into bytes: [UInt8]) -> [UInt8] {
    Array(bytes[..<2]) + segment + Array(bytes[2...])
}

@Suite struct `JPEG items` {
    private static let names = ["baseline-420.ppm", "multi-picture-1.ppm", "progressive-422.ppm"]

    @Test(arguments: [true, false])
    func `are the images of the index, each with its own facts, pixels and metadata`(isInMemory: Bool) throws {
        let bytes = try file("multi-picture.jpg")
        let source = isInMemory ? ByteSource(bytes) : Pieces(bytes).source
        let decoder = try JPEGDecoder(DecoderSession(source: source))
        let found = try items(decoder)

        #expect(found.map(\.role) == [.primary, .thumbnail, .alternative])
        #expect(found.map(\.owner) == [nil, 0, 0])
        #expect(found.map(\.info.size) == [PixelSize(40, 24), PixelSize(20, 12), PixelSize(40, 24)])
        #expect(found.map(\.info.orientation) == [nil, nil, Orientation(rawValue: 6)])
        #expect(found.map(\.info.regionCost) == [.above, .above, .whole])
        #expect(found.map(\.info.hasItems) == [true, true, true])
        for index in [2, 0, 1, 2, 1, 0] {
            try decoder.select(item: index)
            #expect(try decoder.readHeader() == found[index].info)
            #expect(try decoder.image().packed == samples(Self.names[index]))
            let exif = try decoder.metadata().first { $0.kind == .exif }
            #expect(exif.flatMap { ExifOrientation.read($0.bytes) } == found[index].info.orientation)
            #expect((exif == nil) == (index == 1))
        }
    }

    @Test func `can be decoded in parts, in bands of rows and reduced`() throws {
        let decoder = try makeDecoder(try file("multi-picture.jpg"))
        let size = PixelSize(40, 24)
        let expected = try samples("progressive-422.ppm")
        try decoder.select(item: 2)

        let rect = PixelRect(x: 7, y: 5, width: 20, height: 11)
        #expect(try decoder.image(rect).packed == part(rect, of: expected, size, .rgb8))
        var rows: [UInt8] = []
        for y in stride(from: 0, to: 24, by: 6) {
            rows += try decoder.image(PixelRect(x: 0, y: y, width: 40, height: 6)).packed
        }
        #expect(rows == expected)
        #expect(decoder.scaledSize(atLeast: PixelSize(4, 2), of: size) == PixelSize(5, 3))
        let small = try PixelBuffer(size: PixelSize(5, 3), format: .rgb8)
        #expect(try decoder.decode(DecodeRequest(scaledSize: small.size), into: Surface(small)) == .complete)
        #expect(try small.packed == samples("progressive-422-1of8.ppm"))
    }

    @Test func `start again after another one was selected`() throws {
        let decoder = try makeDecoder(try file("multi-picture.jpg"))
        let band = PixelRect(x: 0, y: 0, width: 40, height: 8)
        _ = try decoder.image(band)
        try decoder.select(item: 1)
        try decoder.select(item: 0)
        #expect(try decoder.image().packed == samples("baseline-420.ppm"))
    }

    @Test func `have the thumbnail of Exif before the images of the index`() throws {
        // IFD0 without a field, then IFD1 with the position of the thumbnail.
        let small = try file("gray.jpg")
        let tiff: [UInt8] =
            [0x4D, 0x4D, 0, 42] + JPEGSegments.u32(8) + [0, 0] + JPEGSegments.u32(14) + [0, 2, 2, 1, 0, 4, 0, 0, 0, 1]
            + JPEGSegments.u32(44) + [2, 2, 0, 4, 0, 0, 0, 1] + JPEGSegments.u32(small.count) + [0, 0, 0, 0] + small
        let bytes = inserting(JPEGSegments.exif(tiff), into: try file("multi-picture.jpg"))
        let decoder = try makeDecoder(bytes)

        #expect(try items(decoder).map(\.role) == [.primary, .thumbnail, .thumbnail, .alternative])
        for (index, name) in ["baseline-420.ppm", "gray.pgm", "multi-picture-1.ppm", "progressive-422.ppm"].enumerated()
        {
            try decoder.select(item: index)
            #expect(try decoder.image().packed == samples(name))
        }
        try decoder.select(item: 1)
        let size = PixelSize(40, 24)
        #expect(try decoder.metadata().isEmpty && decoder.scaledSize(atLeast: PixelSize(1, 1), of: size) == size)
        #expect(
            code { () throws(CoderError) in
                let part = DecodeRequest(region: PixelRect(x: 0, y: 0, width: 8, height: 8))
                _ = try decoder.decode(part, into: Surface(PixelBuffer(size: PixelSize(8, 8), format: .gray8)))
            } == .refused)
    }

    /// CIPA DC-007-2021 section 5.2.3.3.1; the upper bits are flags.
    @Test(arguments: [
        (0x0001_0001, ImageItem.Role.thumbnail), (0x4001_0002, .thumbnail), (0x0002_0001, .page), (0x0002_0002, .page),
        (0x8002_0003, .page), (0x0003_0000, .page), (0x0000_0000, .alternative), (0x0004_0000, .alternative),
    ])
    func `have the role of their type`(kind: Int, role: ImageItem.Role) throws {
        for isBigEndian in [true, false] {
            var album = try HandmadeAlbum([(kind, try file("gray.jpg"))])
            album.isBigEndian = isBigEndian
            let found = try items(try makeDecoder(album.bytes))
            #expect(found.map(\.role) == [.primary, role])
            #expect(found[1].owner == (role == .page ? nil : 0))
        }
    }

    @Test func `of several views are one group`() throws {
        var album = try HandmadeAlbum([(0x0002_0002, try file("gray.jpg")), (0x0001_0001, try file("smallest.jpg"))])
        album.firstKind = 0xE002_0002
        #expect(try items(try makeDecoder(album.bytes)).map(\.group) == [1, 1, nil])
    }

    @Test func `larger than the first image are not its thumbnails`() throws {
        let album = try HandmadeAlbum([(0x0001_0001, try file("gray.jpg"))], behind: "smallest.jpg")
        #expect(try items(try makeDecoder(album.bytes)).map(\.role) == [.primary, .alternative])
    }

    @Test func `are a gain map if the XMP of Ultra HDR names one`() throws {
        let decoder = try makeDecoder(try file("gain-map.jpg"))
        let found = try items(decoder)
        #expect(found.map(\.role) == [.primary, .auxiliary])
        #expect(found[1].owner == 0 && found[1].kind == "http://ns.adobe.com/hdr-gain-map/1.0/")
        #expect(found[1].info.nativeFormat == .gray8)
        try decoder.select(item: 1)
        #expect(try decoder.image().packed == samples("gray.pgm"))
        #expect(try decoder.metadata().map(\.kind) == [.xmp])
    }

    private static let apple = "urn:com:apple:photo:2020:aux:hdrgainmap"
    private static let iso = "urn:iso:std:iso:ts:21496:-1"

    @Test(arguments: [
        (JPEGSegments.xmp("<rdf:Description apdi:AuxiliaryImageType=\"\(apple)\"/>"), apple),
        (JPEGSegments.xmp("<apdi:AuxiliaryImageType>\(apple)</apdi:AuxiliaryImageType>"), apple),
        (JPEGSegments.make(0xE2, iso + "\0", [0, 0, 0, 0]), iso),
        (JPEGSegments.xmp("<rdf:Description apdi:AuxiliaryImageType=\"urn:other:alpha\"/>"), nil),
        (JPEGSegments.xmp("AuxiliaryImageType"), nil), (JPEGSegments.xmp(""), nil),
    ])
    func `are auxiliary images with the kind in their metadata`(segment: [UInt8], kind: String?) throws {
        let album = try HandmadeAlbum([(0, inserting(segment, into: try file("gray.jpg")))])
        let found = try items(try makeDecoder(album.bytes))
        #expect(found[1].kind == kind)
        #expect(found[1].role == (kind == nil ? .alternative : .auxiliary))
    }

    @Test func `are one image without an index, and with an index of one image`() throws {
        for bytes in [try file("baseline-420.jpg"), try HandmadeAlbum([]).bytes] {
            let host = RecordingHost()
            let decoder = try makeDecoder(bytes, host: host)
            #expect(try !decoder.readHeader().hasItems)
            #expect(try items(decoder).map(\.role) == [.primary])
            #expect(code { () throws(CoderError) in try decoder.select(item: 1) } == .refused)
            #expect(host.warnings.isEmpty)
        }
    }

    @Test func `wait for the end of a growing source, unlike the first image`() throws {
        let bytes = try file("multi-picture.jpg")
        let source = ByteSource(bytes, arrived: 1300)
        let decoder = try JPEGDecoder(DecoderSession(source: source))

        #expect(try decoder.readHeader().hasItems)
        #expect(try decoder.item(at: 0)?.role == .primary)
        #expect(code { () throws(CoderError) in _ = try decoder.item(at: 1) } == .needsInput)
        #expect(code { () throws(CoderError) in _ = try decoder.itemCount() } == .needsInput)
        #expect(try decoder.image().packed == samples("baseline-420.ppm"))
        source.arrive()
        #expect(try items(decoder).count == 3)

        let plain = try JPEGDecoder(DecoderSession(source: ByteSource(try file("baseline-420.jpg"), arrived: 900)))
        #expect(try plain.item(at: 1) == nil)
    }

    @Test func `are read on request`() throws {
        // Padding behind the first image: with that, the further ones are far away.
        var album = try HandmadeAlbum([(0, try file("gray.jpg"))])
        album.first += [UInt8](repeating: 0, count: 4 << 20)
        let file = Pieces(album.bytes)
        let decoder = try JPEGDecoder(DecoderSession(source: file.source))
        #expect(try decoder.readHeader().hasItems)
        #expect(file.total < 300 << 10)
        #expect(try items(decoder).count == 2)
        #expect(file.total < 700 << 10)
    }

    @Test func `do not include the index of a further image`() throws {
        let inner = try HandmadeAlbum([(0, try file("smallest.jpg"))], behind: "gray.jpg").bytes
        let decoder = try makeDecoder(try HandmadeAlbum([(0, inner)]).bytes)
        #expect(try items(decoder).map(\.role) == [.primary, .alternative])
        try decoder.select(item: 1)
        #expect(try items(decoder).count == 2)
        #expect(try decoder.image().packed == samples("gray.pgm"))
    }
}

@Suite struct `Damaged JPEG items` {
    private static let edits: [(name: String, edit: @Sendable (inout [(size: Int, offset: Int)]) -> Void)] = [
        ("a size beyond the end", { $0[2].size += 1 }),
        ("the maximum size", { $0[1].size = 0xFFFF_FFFF }),
        ("a size of 0", { $0[1].size = 0 }),
        ("a size of a marker", { $0[1].size = 2 }),
        ("an offset behind the end", { $0[1].offset = 1 << 20 }),
        ("the maximum offset", { $0[1].offset = 0xFFFF_FFFF }),
        ("an offset into the header", { $0[1].offset = 20 }),
        ("an offset of 0", { $0[1].offset = 0 }),
        ("an offset into the first scan", { $0[1].offset -= 100 }),
        ("an offset next to the image", { $0[1].offset += 1 }),
        ("an overlap", { $0[1].size += 8 }),
        ("an image twice", { $0[2] = $0[1] }),
        ("a first image at another position", { $0[0].offset = 4 }),
    ]

    private func expectOneImage(_ bytes: [UInt8], _ name: String) throws {
        let host = RecordingHost()
        let decoder = try makeDecoder(bytes, host: host)
        #expect(try decoder.readHeader().hasItems, "\(name)")
        #expect(host.warnings.isEmpty, "\(name)")
        #expect(try items(decoder).map(\.role) == [.primary], "\(name)")
        #expect(host.warnings.count == 1, "\(name)")
        #expect(host.warnings.allSatisfy { $0.contains("index of further images (MPF) is damaged") }, "\(name)")
        #expect(code { () throws(CoderError) in try decoder.select(item: 1) } == .refused, "\(name)")
        #expect(try decoder.image().packed == samples("baseline-420.ppm"), "\(name)")
    }

    private func album() throws -> HandmadeAlbum {
        try HandmadeAlbum([(0x10001, try file("gray.jpg")), (0, try file("progressive-422.jpg"))])
    }

    @Test(arguments: edits.indices) func `are not listed if an entry of the index is invalid`(index: Int) throws {
        var album = try album()
        album.edit = Self.edits[index].edit
        try expectOneImage(album.bytes, Self.edits[index].name)
    }

    /// As when a program adds metadata in front of the index, or removes it, and keeps the index.
    @Test(arguments: [-928, 1, 5000]) func `are found if all of them moved by the same distance`(distance: Int) throws {
        let whole = try album()
        var stale = whole
        stale.edit = { entries in for index in 1...2 { entries[index].offset += distance } }
        let host = RecordingHost()
        let decoder = try makeDecoder(stale.bytes, host: host)
        #expect(try items(decoder).map(\.role) == items(makeDecoder(whole.bytes)).map(\.role))
        #expect(
            host.warnings == ["the index of further images (MPF) is stale: the images are found behind the first one"])
        try decoder.select(item: 2)
        #expect(try decoder.image().packed == samples("progressive-422.ppm"))
    }

    @Test func `are not listed if the index is inconsistent`() throws {
        var stated = try album()
        stated.count = 0x7FFF_FFFF
        try expectOneImage(stated.bytes, "count")
        let whole = try album().bytes
        // Behind the start marker: marker, length, name; TIFF head of 8, number of fields, three fields of 12.
        let fields = 2 + 8 + 8 + 2
        for (place, bytes) in [
            (fields - 10, [UInt8](repeating: 0x20, count: 4)), (fields - 6, [0xFF, 0xFF, 0xFF, 0xF0]),
            (fields - 6, [0, 0, 0, 0]), (fields + 24 + 4, [0xFF, 0xFF, 0xFF, 0xF0]), (fields + 24 + 4, [0, 0, 0, 47]),
            (fields + 24 + 4, [0, 0, 0, 0]), (fields + 24 + 8, [0, 0, 0, 0]),
            (fields + 24 + 8, [0xFF, 0xFF, 0xFF, 0xFF]),
            (fields + 24 + 8, [0, 0, 0, 51]), (fields + 24, [0xB0, 0x03]),
        ] as [(Int, [UInt8])] {
            var hurt = whole
            hurt.replaceSubrange(place..<place + bytes.count, with: bytes)
            try expectOneImage(hurt, "\(bytes) at \(place)")
        }
    }

    @Test func `are not listed if the file is cut`() throws {
        let whole = try album().bytes
        for count in [1, 100, 1000] { try expectOneImage(Array(whole.dropLast(count)), "\(count)") }
    }

    @Test func `are read once if directories and entries form a circle`() throws {
        var bytes = try album().bytes
        // The next directory is the same one; both further images name each other as their parts.
        let end = 2 + 8 + 8 + 2 + 36
        bytes.replaceSubrange(end..<end + 4, with: [0, 0, 0, 8])
        bytes.replaceSubrange(end + 4 + 28..<end + 4 + 32, with: [0, 3, 0, 2])
        bytes.replaceSubrange(end + 4 + 44..<end + 4 + 48, with: [0, 2, 0, 1])
        #expect(try items(try makeDecoder(bytes)).count == 3)
    }

    @Test func `with thousands of equal entries are cheap`() throws {
        var album = try album()
        album.others = [(kind: 0, bytes: try file("gray.jpg"))] + (0..<4000).map { _ in (kind: 0, bytes: []) }
        album.edit = { entries in for index in 2..<entries.count { entries[index] = entries[1] } }
        try expectOneImage(album.bytes, "4000 entries")
    }

    @Test func `are refused, and the others decode`() throws {
        let small = try file("gray.jpg")
        let frame = try #require(small.indices.dropLast().first { small[$0] == 0xFF && small[$0 + 1] == 0xC0 })
        var lossless = small
        lossless[frame + 1] = 0xC3
        var large = small
        large.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xFF, 0xFF, 0xFF])
        let damaged = [[0xFF, 0xD8, 0xFF, 0xD9], Array(small[..<30]), lossless, large, [0xFF, 0xD8, 0, 0, 0, 0]]
        let album = try HandmadeAlbum(damaged.map { (0, $0) } + [(0, try file("progressive-422.jpg"))])
        let decoder = try makeDecoder(album.bytes)

        #expect(try decoder.itemCount() == damaged.count + 2)
        try decoder.select(item: damaged.count + 1)
        for index in 1...damaged.count {
            #expect(code { () throws(CoderError) in _ = try decoder.item(at: index) } == .refused, "\(index)")
            #expect(code { () throws(CoderError) in try decoder.select(item: index) } == .refused, "\(index)")
        }
        #expect(try decoder.image().packed == samples("progressive-422.ppm"))
    }

    @Test func `with a cut scan are truncated`() throws {
        let small = try file("baseline-444-restart.jpg")
        let decoder = try makeDecoder(try HandmadeAlbum([(0, Array(small.dropLast(200)))]).bytes)
        try decoder.select(item: 1)
        #expect(
            code { () throws(CoderError) in
                let buffer = try PixelBuffer(size: PixelSize(40, 24), format: .rgb8)
                _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
            } == .truncated)
        try decoder.select(item: 0)
        #expect(try decoder.image().packed == samples("baseline-420.ppm"))
    }

    @Test func `free their memory when another one is selected`() throws {
        let host = RecordingHost()
        let decoder = try makeDecoder(try file("multi-picture.jpg"), host: host)
        try decoder.select(item: 2)
        _ = try decoder.image()
        #expect(host.reserved > 0)
        try decoder.select(item: 0)
        #expect(host.reserved == 0)
    }

    @Test func `end for any damage`() throws {
        let bytes = try file("multi-picture.jpg")
        var random = SeededRandom(17)
        for _ in 0..<600 {
            var hurt = bytes
            for _ in 0..<3 {
                let place = Bool.random(using: &random) ? 120..<230 : 1200..<2400
                hurt[Int.random(in: place, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do throws(CoderError) {
                let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(hurt)))
                _ = try decoder.readHeader()
                let count = try decoder.itemCount() ?? 0
                for index in 0..<count {
                    do throws(CoderError) {
                        try decoder.select(item: index)
                        let info = try decoder.readHeader()
                        // The host refuses larger images.
                        if (info.size.area ?? .max) > 1 << 20 { continue }
                        _ = try decoder.metadata()
                        let surface = Surface(try PixelBuffer(size: info.size, format: info.nativeFormat))
                        _ = try decoder.decode(DecodeRequest(), into: surface)
                    } catch {
                        #expect(error.code != .misuse && error.code != .pluginFault)
                    }
                }
            } catch {
                #expect(error.code != .misuse && error.code != .pluginFault)
            }
        }
    }
}
