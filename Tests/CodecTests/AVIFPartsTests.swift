import AVIFCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

private func decode(_ bytes: [UInt8], _ host: RecordingHost = RecordingHost()) throws -> PixelBuffer {
    try AVIFDecoder(DecoderSession(source: ByteSource(bytes), host: host.services())).image()
}

/// Encodes gray pixels; returns the coded data, and the boxes of its configuration.
private func coded(_ pixels: PixelBuffer) throws -> (data: [UInt8], configuration: [UInt8]) {
    let sink = ByteSink()
    let options: CoderOptions = [OptionKey.lossless: .bool(true), OptionKey.effort: .integer(0)]
    let encoder = try AVIFCodec.AVIFEncoder(EncoderSession(options: options))
    let info = ImageInfo(size: pixels.size, nativeFormat: .gray8)
    try encoder.begin(info, to: sink)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(pixels.size), duration: .unknown), pixels: Surface(pixels))
    try encoder.finish()
    let bytes = sink.written
    let configuration = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("av1C".utf8)) })
    let data = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("mdat".utf8)) })
    return (Array(bytes[(data + 4)...]), Boxes.box("av1C", Array(bytes[(configuration + 4)..<configuration + 8])))
}

/// Gray pixels that grow in both directions.
private func ramp(_ size: PixelSize, from first: Int = 0) throws -> PixelBuffer {
    let pixels = try PixelBuffer(size: size, format: .gray8)
    for y in 0..<size.height {
        pixels.withMutableRow(y) { row in
            for x in 0..<size.width {
                row.storeBytes(of: UInt8((first + x + 2 * y) & 255), toByteOffset: x, as: UInt8.self)
            }
        }
    }
    return pixels
}

@Suite struct `AVIF primary images` {
    @Test(arguments: HandmadeHEIF.damages.indices)
    func `decode beside a damaged item, which is refused`(index: Int) throws {
        var file = HandmadeHEIF.collection([("", 0, ""), ("", 0, "")])
        HandmadeHEIF.damages[index].apply(&file)
        let decoder = try AVIFDecoder(DecoderSession(source: ByteSource(file.bytes)))
        #expect(
            try decoder.image().packed == decode(HandmadeHEIF().bytes).packed, "\(HandmadeHEIF.damages[index].name)")
        let error = #expect(throws: CoderError.self) {
            try decoder.select(item: 1)
            _ = try decoder.image()
        }
        #expect([.refused, .corrupt, .truncated, .unsupportedFeature].contains(error?.code))
    }

    @Test(arguments: ["pred", "rref", "iscl"])
    func `with an unknown essential property are refused by its name`(type: String) throws {
        var file = HandmadeHEIF()
        file.properties.append(Boxes.full(type, Boxes.u32(0)))
        file.items[0].properties.append(0x84)
        let error = #expect(throws: CoderError.self) { try decode(file.bytes) }
        #expect(error?.code == .unsupportedFeature && error?.feature == "the essential property '\(type)'")
    }

    @Test(arguments: [3, 6]) func `are turned by the format alone`(value: Int) throws {
        let blob = ExifOrientation.blob(try #require(Orientation(rawValue: value)))
        let exif = [0, 0, 0, 0] + blob
        var file = HandmadeHEIF.exif([(0, UInt64(exif.count))], method: 1)
        file.idat = exif
        let decoder = try AVIFDecoder(DecoderSession(source: ByteSource(file.bytes)))
        #expect(try decoder.readHeader().size == PixelSize(64, 48) && decoder.readHeader().orientation == .up)
        #expect(try decoder.metadata() == [MetadataBlob(.exif, blob)])
    }

    /// Streams of another size than the boxes declare: libavif scales and joins them.
    @Test func `of scaled tiles in reversed order are joined in the order of the reference`() throws {
        let tiles = try (0..<2).map { try coded(ramp(PixelSize(64, 32), from: 100 * $0)) }
        var file = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 64), tile: (64, 64))
        file.data = tiles[0].data + tiles[1].data
        file.properties[0] = tiles[0].configuration
        file.items[1].extents = [(32, UInt64(tiles[0].data.count))]
        file.items[2].extents = [(UInt64(32 + tiles[0].data.count), UInt64(tiles[1].data.count))]
        func halves(_ order: [Int]) throws -> (left: [UInt8], right: [UInt8]) {
            file.references = [("dimg", 1, order)]
            let pixels = try decode(file.bytes).packed
            func half(_ x: Int) -> [UInt8] {
                part(PixelRect(x: x, y: 0, width: 64, height: 64), of: pixels, PixelSize(128, 64), .gray8)
            }
            return (half(0), half(64))
        }
        let (forward, reversed) = (try halves([2, 3]), try halves([3, 2]))
        #expect(forward.left != forward.right)
        #expect(forward.left == reversed.right && forward.right == reversed.left)
    }

    /// The host then asks the coder of libheif, which decodes them.
    @Test func `of tiles below the size of MIAF are left to another coder`() throws {
        let file = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 48))
        let error = #expect(throws: CoderError.self) { try decode(file.bytes) }
        #expect(error?.code == .unsupportedFeature)
    }

    @Test(arguments: [PixelSize(64, 64), PixelSize(80, 64)])
    func `of tiles have an alpha channel of one image`(tile: PixelSize) throws {
        let color = try coded(ramp(tile))
        let whole = PixelSize(2 * tile.width, tile.height)
        let alpha = try coded(ramp(whole, from: 50))
        var file = HandmadeHEIF.grid(
            rows: 1, columns: 2, canvas: (whole.width, whole.height), tile: (tile.width, tile.height))
        file.data = color.data + alpha.data
        file.properties[0] = color.configuration
        file.properties.append(Boxes.full("auxC", Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0".utf8)))
        for index in [1, 2] { file.items[index].extents = [(32, UInt64(color.data.count))] }
        file.items.append(
            .init(
                id: 4, extents: [(UInt64(32 + color.data.count), UInt64(alpha.data.count))], properties: [1, 4, 3, 5]))
        file.references.append(("auxl", 4, [1]))
        let pixels = try decode(file.bytes)
        #expect(pixels.format.channels == .grayAlpha)
        let (colors, alphas) = (try ramp(tile).packed, try ramp(whole, from: 50).packed)
        let row = { (y: Int) in
            (0..<whole.width).flatMap { x in
                [colors[y * tile.width + x % tile.width], alphas[y * whole.width + x]]
            }
        }
        #expect(pixels.packed == (0..<whole.height).flatMap(row))
    }
}

@Suite struct `AVIF auxiliary tracks` {
    /// The kind of the auxiliary track replaced; the URN of depth is as long as that of alpha.
    private func sequence(_ kind: String) throws -> [UInt8] {
        var bytes = try #require(readFile(Repository.fixture("avif/sequence-alpha.avif")))
        let urn = Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha".utf8)
        var count = 0
        for place in bytes.indices where bytes[place...].starts(with: urn) {
            bytes.replaceSubrange(place..<place + urn.count, with: Array(kind.utf8))
            count += 1
        }
        #expect(count == 2 && kind.utf8.count == urn.count)
        return bytes
    }

    @Test func `of depth are no alpha channel, with a warning`() throws {
        let depth = "urn:mpeg:mpegB:cicp:systems:auxiliary:depth"
        let host = RecordingHost()
        let decoder = try AVIFDecoder(
            DecoderSession(source: ByteSource(try sequence(depth)), host: host.services()))
        let info = try decoder.readHeader()
        #expect(!info.hasAlpha && info.frameCount == 6)
        #expect(host.warnings == ["a track of the kind \(depth) is not decoded"])
        let original = try AVIFDecoder(
            DecoderSession(
                source: ByteSource(try sequence("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"))))
        #expect(try original.readHeader().hasAlpha)
        for index in 0..<6 {
            #expect(try decoder.nextFrame()?.index == index && original.nextFrame()?.index == index)
            let colors = stride(from: 0, to: 24 * 16 * 4, by: 4).flatMap { [$0, $0 + 1, $0 + 2] }
            let expected = try original.image().packed
            #expect(try decoder.image().packed == colors.map { expected[$0] })
        }
    }
}
