import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

/// Reads everything that a file offers; returns the error, or nil for an image.
private func failure(_ file: HandmadeHEIF, limits: DecodeLimits = .default) -> CoderError? {
    failure(file.bytes, limits: limits)
}

private func failure(_ bytes: [UInt8], limits: DecodeLimits = .default) -> CoderError? {
    do {
        let decoder = try HEIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
        let info = try decoder.readHeader()
        _ = try decoder.metadata()
        let pixels = try PixelBuffer(size: info.size, format: info.nativeFormat)
        _ = try decoder.decode(DecodeRequest(), into: Surface(pixels))
        return nil
    } catch {
        return error
    }
}

@Suite struct `HEIF files that declare too much` {
    private static let excessive: [[(offset: UInt64, length: UInt64)]] = [
        [(32, 1 << 39), (32, 1 << 39)],
        [(32, .max), (32, 56)],
        Array(repeating: (0, 400), count: 5),
        [(0, 400), (0, 400), (1 << 62, 1 << 62)],
    ]

    @Test(arguments: excessive.indices)
    func `are refused when the extents of an item exceed the file`(index: Int) throws {
        #expect(failure(HandmadeHEIF()) == nil)
        for method in [0, 1] {
            var file = HandmadeHEIF()
            file.items[0].extents = Self.excessive[index]
            file.items[0].method = method
            file.idat = file.data
            // Behind the end of the file more bytes could arrive; behind idat, or with lengths that overflow, never.
            #expect(failure(file)?.code == (method == 0 && index < 2 ? .truncated : .corrupt))
            // The image does not need its Exif data.
            var exif = HandmadeHEIF.exif(Self.excessive[index], method: method)
            exif.idat = exif.data
            #expect(failure(exif) == nil)
        }
    }

    @Test func `are refused when they list too many extents or items`() {
        for size in [0, 4, 8] {
            var file = HandmadeHEIF()
            file.sizes = (size, size, 0, 0)
            let list = [(UInt64, UInt64)](repeating: (0, 0), count: size == 0 ? 65_535 : 33)
            file.items[0].extents = list
            #expect(failure(file)?.limit?.name == "extents of an item")
        }
        var file = HandmadeHEIF()
        file.sizes = (0, 0, 0, 0)
        for id in 2..<30_000 { file.items.append(.init(id: id, extents: [], properties: [])) }
        #expect(failure(file)?.limit?.name == "items")
    }

    @Test func `are refused when libheif would read other positions than the checks`() {
        // libheif reads only numbers of 0, 4 and 8 bytes.
        var file = HandmadeHEIF()
        file.sizes = (2, 2, 2, 0)
        #expect(failure(file)?.code == .unsupportedFeature)
        file.sizes = (8, 8, 8, 4)
        #expect(failure(file)?.code == .unsupportedFeature)
    }

    @Test func `are refused when a second list replaces the first`() {
        // libheif takes the last box 'meta' of a file, and the first of most boxes in it.
        var large = HandmadeHEIF()
        large.properties[1] = Boxes.ispe(60_000, 60_000)
        var file = HandmadeHEIF()
        file.tail = large.meta
        #expect(failure(file)?.code == .corrupt)
        for type in ["pitm", "iloc", "iinf", "iref", "iprp", "idat"] {
            var file = HandmadeHEIF.exif([(32, 20)])
            file.idat = [0]
            file.moreMeta = Boxes.full(type, Boxes.u32(0) + Boxes.u32(0))
            #expect(failure(file)?.code == .corrupt, "two '\(type)' boxes")
        }
        var items = HandmadeHEIF()
        items.items.append(.init(extents: Array(repeating: (32, 400), count: 5), properties: []))
        #expect(failure(items)?.code == .corrupt)
    }

    @Test func `are refused when lists are in a wrong box that libheif reads`() {
        // libheif allocates 30 MB for 20,000 items of 32 extents each; a property must not contain them.
        let items = (0..<20_000).flatMap { Boxes.u16($0) + Boxes.u16(0) + Boxes.u16(32) }
        let list = Boxes.full("iloc", [0, 0] + Boxes.u16(20_000) + items)
        let lists = Array(repeating: list, count: 20).flatMap { $0 }
        var file = HandmadeHEIF()
        file.properties.append(Boxes.box("ipco", lists))
        #expect(failure(file)?.code == .corrupt)
        file = HandmadeHEIF()
        file.tail = lists
        #expect(failure(file)?.code == .corrupt)
        file = HandmadeHEIF()
        file.moreMeta = Boxes.box("dinf", Boxes.box("dref", Boxes.u32(0) + Boxes.u32(1) + list))
        #expect(failure(file)?.code == .corrupt)
    }

    @Test func `are refused when the 'meta' box is huge`() {
        var file = HandmadeHEIF()
        file.moreMeta = Boxes.box("free", [UInt8](repeating: 0, count: 17 << 20))
        #expect(failure(file)?.limit?.name == "bytes of the meta box")
    }

    @Test func `are refused when tiles declare more than the canvas`() {
        let fine = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 48))
        #expect(failure(fine) == nil)
        let file = HandmadeHEIF.grid(rows: 32, columns: 32, canvas: (4_000, 4_000), tile: (4_000, 4_000))
        let code = failure(file)?.code
        #expect(code == .limitExceeded)
    }
}
