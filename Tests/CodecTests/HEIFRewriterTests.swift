import AVIFCodec
import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

/// A rewriter of the two plugins that share it.
enum HEIFRoom: String, CaseIterable, Sendable {
    case heif, avif

    func rewrite(
        _ bytes: [UInt8], _ request: RewriteRequest, host: RecordingHost = RecordingHost()
    ) throws -> [UInt8] {
        let sink = ByteSink()
        let session = RewriteSession(source: ByteSource(bytes), sink: sink, host: try host.services())
        _ =
            self == .heif ? try HEIFRewriter.rewrite(request, session) : try AVIFRewriter.rewrite(request, session)
        return sink.written
    }

    func decoder(_ bytes: [UInt8]) throws -> any ItemDecoder { try decoder(ByteSource(bytes)) }

    func decoder(_ source: ByteSource, host: RecordingHost = RecordingHost()) throws -> any ItemDecoder {
        let session = DecoderSession(source: source, host: try host.services())
        return self == .heif ? try HEIFDecoder(session) : try AVIFDecoder(session)
    }

    func digest(_ bytes: [UInt8]) throws -> String {
        let decoder = try decoder(bytes)
        let info = try decoder.readHeader()
        if let animation = decoder as? any AnimationDecoder { _ = try animation.nextFrame() }
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        return PixelDigest.of(buffer)
    }

    func metadata(_ bytes: [UInt8]) throws -> [MetadataBlob] {
        let decoder = try decoder(bytes)
        _ = try decoder.readHeader()
        return try decoder.metadata()
    }
}

private let exif = MetadataBlob(.exif, ExifOrientation.blob(.up) + Array("a new camera".utf8))
private let packet = MetadataBlob(.xmp, Array("<x:xmpmeta>new</x:xmpmeta>".utf8))
private let secret = Array("48.8584 N, 2.2945 E".utf8)
private let oldExif = [0, 0, 0, 0] + ExifOrientation.blob(.up) + secret
private let oldPacket = Array("<x:xmpmeta>".utf8) + secret + Array("</x:xmpmeta>".utf8)

/// A place where files hold metadata.
private enum Hold: String, CaseIterable, Sendable {
    case before, between, behind, inline, pieces

    /// An image with Exif and XMP.
    var file: HandmadeHEIF {
        var file = HandmadeHEIF()
        let stream = HandmadeHEIF.stream
        let start = UInt64(HandmadeHEIF.dataPlace)
        let counts = (UInt64(oldExif.count), UInt64(oldPacket.count), UInt64(stream.count))
        var image = HandmadeHEIF.image
        var first = HandmadeHEIF.Item(id: 2, type: "Exif", extents: [], properties: [])
        var second = HandmadeHEIF.Item(id: 3, type: "mime", extents: [], properties: [])
        second.content = Array("application/rdf+xml\0".utf8)
        switch self {
        case .before:
            file.data = oldExif + oldPacket + stream
            first.extents = [(start, counts.0)]
            second.extents = [(start + counts.0, counts.1)]
            image.extents = [(start + counts.0 + counts.1, counts.2)]
        case .between:
            // The image in two pieces around the metadata.
            file.data = stream.prefix(9) + oldExif + oldPacket + stream.dropFirst(9)
            image.extents = [(start, 9), (start + 9 + counts.0 + counts.1, counts.2 - 9)]
            first.extents = [(start + 9, counts.0)]
            second.extents = [(start + 9 + counts.0, counts.1)]
        case .behind:
            file.data = stream + oldExif + oldPacket
            first.extents = [(start + counts.2, counts.0)]
            second.extents = [(start + counts.2 + counts.0, counts.1)]
        case .inline:
            file.idat = oldExif + oldPacket
            first.extents = [(0, counts.0)]
            second.extents = [(counts.0, counts.1)]
            (first.method, second.method) = (1, 1)
        case .pieces:
            file.data = oldExif.prefix(20) + stream + oldPacket + oldExif.dropFirst(20)
            first.extents = [(start, 20), (start + 20 + counts.2 + counts.1, counts.0 - 20)]
            image.extents = [(start + 20, counts.2)]
            second.extents = [(start + 20 + counts.2, counts.1)]
        }
        file.items = [image, first, second]
        file.references = [("cdsc", 2, [1]), ("cdsc", 3, [1])]
        return file
    }
}

/// Every form of a file: place of the metadata, version of the list of positions, place of the lists.
private let forms: [(hold: Hold, version: Int, isListFirst: Bool)] = Hold.allCases.flatMap { hold in
    [0, 1, 2].flatMap { version in [false, true].map { (hold, version, $0) } }
}.filter { $0.version > 0 || $0.hold != .inline }

private func bytes(_ form: (hold: Hold, version: Int, isListFirst: Bool)) -> [UInt8] {
    var file = form.hold.file
    file.locationVersion = form.version
    if form.version != 1 { file.sizes = (4, 4, form.isListFirst ? 4 : 0, 0) }
    return form.isListFirst ? file.bytesListsFirst : file.bytes
}

private func contains(_ bytes: [UInt8], _ word: [UInt8]) -> Bool { bytes.contains(word) }

@Suite(.timeLimit(.minutes(40))) struct `HEIF rewriting` {
    private let plain = HandmadeHEIF().bytes

    @Test(arguments: forms.indices, HEIFRoom.allCases)
    func `cuts metadata out of the file and keeps the pixels`(index: Int, room: HEIFRoom) throws {
        let source = bytes(forms[index])
        #expect(try room.metadata(source).map(\.kind) == [.exif, .xmp])
        let result = try room.rewrite(source, RewriteRequest(removed: [.exif, .xmp]))
        #expect(try room.digest(result) == room.digest(plain), "\(forms[index])")
        #expect(try room.metadata(result).isEmpty)
        #expect(!contains(result, secret))
        #expect(!contains(result, Array("Exif".utf8)) && !contains(result, Array("rdf+xml".utf8)))
        #expect(result.count < source.count - oldExif.count - oldPacket.count)
    }

    @Test(arguments: forms.indices, HEIFRoom.allCases)
    func `replaces metadata and keeps the pixels`(index: Int, room: HEIFRoom) throws {
        let source = bytes(forms[index])
        let result = try room.rewrite(source, RewriteRequest(replaced: [packet, exif]))
        #expect(try room.digest(result) == room.digest(plain), "\(forms[index])")
        #expect(try room.metadata(result) == [exif, packet])
        #expect(!contains(result, secret))
    }

    @Test(arguments: forms.indices, HEIFRoom.allCases)
    func `keeps metadata that the request does not name`(index: Int, room: HEIFRoom) throws {
        let source = bytes(forms[index])
        let result = try room.rewrite(source, RewriteRequest(removed: [.exif]))
        #expect(try room.metadata(result) == [MetadataBlob(.xmp, oldPacket)], "\(forms[index])")
        #expect(try room.digest(result) == room.digest(plain))
    }

    @Test(arguments: HEIFRoom.allCases) func `adds metadata to a file without any`(room: HEIFRoom) throws {
        let result = try room.rewrite(plain, RewriteRequest(replaced: [exif, packet]))
        #expect(try room.metadata(result) == [exif, packet])
        #expect(try room.digest(result) == room.digest(plain))
        // Removing it again leaves the same image, and one file for all ways to it.
        let again = try room.rewrite(result, RewriteRequest(removed: [.exif, .xmp]))
        #expect(try room.metadata(again).isEmpty && room.digest(again) == room.digest(plain))
    }

    @Test(arguments: HEIFRoom.allCases) func `keeps the Exif of another image of the file`(room: HEIFRoom) throws {
        var file = Hold.behind.file
        let second = HandmadeHEIF.Item(id: 4, extents: HandmadeHEIF.image.extents)
        var other = HandmadeHEIF.Item(id: 5, type: "Exif", method: 1, extents: [], properties: [])
        file.idat = [0, 0, 0, 0] + ExifOrientation.blob(.up) + Array("second".utf8)
        other.extents = [(0, UInt64(file.idat.count))]
        file.items += [second, other]
        file.references.append(("cdsc", 5, [4]))
        let result = try room.rewrite(file.bytes, RewriteRequest(replaced: [exif]))
        let decoder = try room.decoder(result)
        _ = try decoder.readHeader()
        #expect(try decoder.metadata().first == exif)
        try decoder.select(item: 1)
        #expect(try decoder.metadata() == [MetadataBlob(.exif, Array(file.idat.dropFirst(4)))])
        let bare = try room.rewrite(file.bytes, RewriteRequest(removed: [.exif]))
        #expect(!contains(bare, Array("second".utf8)))
    }

    @Test(arguments: HEIFRoom.allCases) func `leaves bytes that an image uses, and warns`(room: HEIFRoom) throws {
        let file = HandmadeHEIF.exif([(UInt64(HandmadeHEIF.dataPlace), 12)])
        let host = RecordingHost()
        let result = try room.rewrite(file.bytes, RewriteRequest(removed: [.exif]), host: host)
        #expect(try room.digest(result) == room.digest(plain))
        #expect(
            host.warnings == ["12 bytes of the old metadata stay in the file, because other items use them"])
    }

    @Test(arguments: HEIFRoom.allCases) func `removes unknown boxes and items with raw metadata`(
        room: HEIFRoom
    ) throws {
        var file = HandmadeHEIF()
        var note = HandmadeHEIF.Item(id: 2, type: "mime", method: 1, extents: [], properties: [])
        note.content = Array("text/plain\0".utf8)
        file.idat = secret
        note.extents = [(0, UInt64(secret.count))]
        file.items.append(note)
        file.tail = Boxes.box("uuid", secret) + Boxes.box("free", secret) + [1, 2, 3]
        let result = try room.rewrite(file.bytes, RewriteRequest(removed: [.raw]))
        #expect(!contains(result, secret))
        #expect(try room.digest(result) == room.digest(plain))
        let kept = try room.rewrite(file.bytes, RewriteRequest(replaced: [exif]))
        #expect(kept.suffix(3) == [1, 2, 3] && contains(kept, secret))
    }

    @Test func `removes the profile and keeps the pixels`() throws {
        let file = try #require(readFile(Repository.fixture("heif/rotated-with-thumbnail-exif-icc.heic")))
        let kinds = try HEIFRoom.heif.metadata(file).map(\.kind)
        #expect(kinds.contains(.icc))
        let result = try HEIFRoom.heif.rewrite(file, RewriteRequest(removed: [.icc]))
        #expect(try HEIFRoom.heif.metadata(result).map(\.kind) == kinds.filter { $0 != .icc })
        #expect(try HEIFRoom.heif.digest(result) == HEIFRoom.heif.digest(file))
        #expect(!contains(result, Array("acsp".utf8)))
    }

    @Test(arguments: ["avif/sequence-alpha.avif", "avif/sequence-alpha-3-plays.avif"])
    func `changes the metadata of a sequence and keeps every frame`(name: String) throws {
        let file = try #require(readFile(Repository.fixture(name)))
        func frames(_ bytes: [UInt8]) throws -> [String] {
            let decoder = try AVIFDecoder(DecoderSession(source: ByteSource(bytes)))
            let info = try decoder.readHeader()
            var digests: [String] = []
            while try decoder.nextFrame() != nil {
                let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
                _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
                digests.append(PixelDigest.of(buffer))
            }
            return digests
        }
        let before = try frames(file)
        let first = try HEIFRoom.avif.rewrite(file, RewriteRequest(replaced: [exif, packet]))
        #expect(try HEIFRoom.avif.metadata(first) == [exif, packet])
        #expect(try frames(first) == before && before.count > 1)
        let second = try HEIFRoom.avif.rewrite(first, RewriteRequest(removed: [.exif], replaced: [packet]))
        #expect(try HEIFRoom.avif.metadata(second) == [packet])
        #expect(try frames(second) == before)
        #expect(!contains(second, Array("a new camera".utf8)))
    }

    @Test func `moves the samples of a sequence behind removed metadata`() throws {
        let stream = HandmadeHEIF.stream
        let place = HandmadeHEIF.dataPlace + oldExif.count
        var file = HandmadeHEIF.sequence(
            HandmadeHEIF.samples(chunks: [UInt32(place)], sizes: (stream.count, 1, [])))
        file.data = oldExif + stream
        file.items[0].extents = [(UInt64(place), UInt64(stream.count))]
        let start = UInt64(HandmadeHEIF.dataPlace)
        file.items.append(
            .init(id: 2, type: "Exif", extents: [(start, UInt64(oldExif.count))], properties: []))
        file.references = [("cdsc", 2, [1])]
        let result = try HEIFRoom.avif.rewrite(file.bytes, RewriteRequest(removed: [.exif]))
        #expect(try HEIFRoom.avif.digest(result) == HEIFRoom.avif.digest(file.bytes))
        #expect(!contains(result, secret))
    }
}
