import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

/// The image of a file, and the warnings about it.
private struct Read {
    let decoder: HEIFDecoder
    let info: ImageInfo
    let digest: String
    private let host: RecordingHost

    var warnings: [String] { host.warnings }

    init(_ bytes: [UInt8]) throws {
        host = RecordingHost()
        decoder = try HEIFDecoder(DecoderSession(source: ByteSource(bytes), host: host.services()))
        info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        digest = PixelDigest.of(buffer)
    }
}

private func failure(_ file: HandmadeHEIF) -> CoderError? {
    do {
        _ = try Read(file.bytes)
        return nil
    } catch {
        return error as? CoderError
    }
}

extension HandmadeHEIF {
    /// Ways to damage the second item of a collection.
    static let damages: [(name: String, apply: @Sendable (inout HandmadeHEIF) -> Void)] = [
        ("behind the end", { $0.items[1].extents = [(1 << 20, 100)] }),
        ("too many extents", { $0.items[1].extents = Array(repeating: (32, 1), count: 40) }),
        (
            "a position that overflows",
            {
                $0.items[1].base = .max; $0.items[1].extents = [(32, 1)]
            }
        ),
        ("a missing property", { $0.items[1].properties = [1, 2, 77] }),
        (
            "a property that ends early",
            {
                $0.properties.append(Boxes.box("av1C", [0x81]))
                $0.items[1].properties = [UInt8($0.properties.count), 2, 3]
            }
        ),
        (
            "an aperture without denominator",
            {
                $0.properties.append(Boxes.box("clap", [UInt8](repeating: 0, count: 32)))
                $0.items[1].properties.append(UInt8($0.properties.count))
            }
        ),
        ("made of another item", { $0.items[1].method = 2 }),
    ]

    /// A sequence of HEVC frames beside the still, of which only the boxes are real.
    static func film(frames: Int, of kind: String = "pict") -> HandmadeHEIF {
        var file = HandmadeHEIF()
        file.brand = "hevc"
        let handler = Boxes.full("hdlr", Boxes.u32(0) + Array(kind.utf8) + [UInt8](repeating: 0, count: 13))
        let sizes = Boxes.full("stsz", Boxes.u32(0) + Boxes.u32(frames))
        let media = Boxes.box("mdia", handler + Boxes.box("minf", Boxes.box("stbl", sizes)))
        let auxiliary = Boxes.box("tref", Boxes.box("auxl", Boxes.u32(1)))
        file.tail = Boxes.box("moov", Boxes.box("trak", auxiliary + media) + Boxes.box("trak", media))
        return file
    }
}

@Suite struct `HEIF primary images` {
    @Test(arguments: HandmadeHEIF.damages.indices)
    func `decode beside a damaged item, which is refused`(index: Int) throws {
        var file = HandmadeHEIF.collection([("", 0, ""), ("", 0, "")])
        HandmadeHEIF.damages[index].apply(&file)
        let read = try Read(file.bytes)
        #expect(try read.digest == Read(HandmadeHEIF().bytes).digest, "\(HandmadeHEIF.damages[index].name)")
        #expect(try read.decoder.itemCount() == 3)
        try read.decoder.select(item: 2)
        let error = #expect(throws: CoderError.self) {
            try read.decoder.select(item: 1)
            let buffer = try PixelBuffer(size: PixelSize(64, 48), format: .gray8)
            _ = try read.decoder.decode(DecodeRequest(), into: Surface(buffer))
        }
        #expect([.refused, .corrupt, .truncated, .unsupportedFeature].contains(error?.code))
    }

    @Test(arguments: HandmadeHEIF.damages.indices)
    func `that are damaged themselves are an error`(index: Int) throws {
        var file = HandmadeHEIF.collection([("", 0, "")])
        HandmadeHEIF.damages[index].apply(&file)
        file.items.swapAt(0, 1)
        (file.items[0].id, file.items[1].id) = (1, 2)
        #expect(failure(file) != nil, "\(HandmadeHEIF.damages[index].name)")
    }

    @Test func `keep sound metadata beside damaged metadata, with a warning`() throws {
        var file = HandmadeHEIF.exif([(1 << 20, 100)])
        file.idat = Array("<x:xmpmeta/>".utf8)
        let whole: [(offset: UInt64, length: UInt64)] = [(0, UInt64(file.idat.count))]
        var packet = HandmadeHEIF.Item(id: 3, type: "mime", method: 1, extents: whole, properties: [])
        packet.content = Array("application/rdf+xml\0".utf8)
        file.items.append(packet)
        file.references.append(("cdsc", 3, [1]))
        let read = try Read(file.bytes)
        #expect(try read.decoder.metadata() == [MetadataBlob(.xmp, file.idat)])
        #expect(read.warnings.count == 1 && read.warnings[0].hasPrefix("ignored item 2, metadata of the image: "))
    }

    @Test(arguments: ["pred", "rref", "iscl", "xyzw"])
    func `with an unknown essential property are refused by its name`(type: String) throws {
        var file = HandmadeHEIF()
        file.properties.append(Boxes.full(type, Boxes.u32(0)))
        file.items[0].properties.append(4)
        #expect(failure(file) == nil)
        file.items[0].properties[3] |= 0x80
        let error = failure(file)
        #expect(error?.code == .unsupportedFeature && error?.feature == "the essential property '\(type)'")
        // The same property of another item does not matter.
        var other = HandmadeHEIF.collection([("", 0, "")])
        other.properties.append(Boxes.full(type, Boxes.u32(0)))
        other.items[1].properties.append(0x84)
        #expect(failure(other) == nil)
    }

    @Test func `predicted from other images are refused as unsupported`() throws {
        var file = HandmadeHEIF.collection([("", 0, "")])
        file.references = [("pred", 1, [2])]
        #expect(failure(file)?.code == .unsupportedFeature)
    }

    @Test(arguments: [false, true]) func `of the kind identity need no position of their own`(isListed: Bool) throws {
        var file = HandmadeHEIF()
        file.items = [
            .init(id: 1, type: "iden", extents: [], properties: [2]), .init(id: 2, extents: HandmadeHEIF.image.extents),
        ]
        file.references = [("dimg", 1, [2])]
        file.items[0].isPlaced = isListed
        #expect(try Read(file.bytes).digest == Read(HandmadeHEIF().bytes).digest)
    }

    @Test func `keep no alpha of a depth map`() throws {
        for kind in ["urn:mpeg:hevc:2015:auxid:2", "urn:mpeg:mpegB:cicp:systems:auxiliary:depth"] {
            let read = try Read(HandmadeHEIF.collection([("auxl", 1, kind)]).bytes)
            #expect(!read.info.hasAlpha)
            #expect(try read.decoder.item(at: 1)?.kind == kind)
        }
    }

    @Test(arguments: [3, 5, 6, 8]) func `are turned by the format alone`(value: Int) throws {
        let orientation = try #require(Orientation(rawValue: value))
        let exif = [0, 0, 0, 0] + ExifOrientation.blob(orientation)
        var file = HandmadeHEIF.exif([(0, UInt64(exif.count))], method: 1)
        file.idat = exif
        for isTurned in [false, true] {
            if isTurned {
                file.properties.append(Boxes.box("irot", [1]))
                file.items[0].properties.append(4)
            }
            let read = try Read(file.bytes)
            #expect(read.info.size == (isTurned ? PixelSize(48, 64) : PixelSize(64, 48)))
            #expect(read.info.orientation == .up && read.info.orientationApplied)
            #expect(try read.decoder.metadata() == [MetadataBlob(.exif, ExifOrientation.blob(orientation))])
        }
    }
}

@Suite struct `HEIF sequences` {
    private static let warning =
        "the file holds a sequence of 12 frames, which this coder does not decode: only the primary image is"

    @Test(arguments: ["pict", "vide"]) func `are told once, with their number of frames`(kind: String) throws {
        let read = try Read(HandmadeHEIF.film(frames: 12, of: kind).bytes)
        #expect(read.warnings == [Self.warning] && read.info.frameCount == 1)
        #expect(try read.digest == Read(HandmadeHEIF().bytes).digest)
    }

    @Test func `that arrive behind the still are told when they are there`() throws {
        let bytes = HandmadeHEIF.film(frames: 12).bytes
        let host = RecordingHost()
        let source = ByteSource(bytes, arrived: bytes.count - 1)
        let decoder = try HEIFDecoder(DecoderSession(source: source, host: host.services()))
        let info = try decoder.readHeader()
        #expect(host.warnings.isEmpty)
        source.arrive()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        #expect(host.warnings == [Self.warning])
    }

    @Test func `of one frame or of sound are not told`() throws {
        #expect(try Read(HandmadeHEIF.film(frames: 1).bytes).warnings.isEmpty)
        #expect(try Read(HandmadeHEIF.film(frames: 12, of: "soun").bytes).warnings.isEmpty)
    }

    @Test func `without a still are refused with their number of frames`() {
        let film = HandmadeHEIF.film(frames: 12)
        let bytes = Boxes.box("ftyp", Array("hevc\0\0\0\0msf1".utf8)) + film.tail
        let error = #expect(throws: CoderError.self) { try Read(bytes) }
        #expect(error?.feature == "an image sequence of 12 frames without a still image")
    }
}
