import AWebPCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing
import WebPCodec

private let requests = [
    RewriteRequest(), RewriteRequest(removed: Set(MetadataBlob.Kind.allCases)),
    RewriteRequest(
        removed: [.exif], replaced: [MetadataBlob(.xmp, Array("<x/>".utf8)), MetadataBlob(.exif, [1, 2, 3])]),
    RewriteRequest(replaced: [MetadataBlob(.icc, [1, 2, 3]), MetadataBlob(.raw, [4], key: "ABCD")]),
]

/// The error codes allowed for a damaged file.
private let expected: Set<CoderError.Code> = [.notMine, .corrupt, .truncated, .refused, .limitExceeded]

private let files = [
    "webp/lossy.webp", "webp/lossy-alpha.webp", "webp/lossless.webp", "webp/lossless-alpha.webp", "webp/metadata.webp",
    "webp/animated.webp",
]

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture(name))) }

/// The decoded file: every frame of an animation, or the still; and the code of the error at the end.
private struct Playback: Equatable {
    var size = PixelSize.zero
    var isAnimated = false
    var pixels: [[UInt8]] = []
    var code: CoderError.Code?

    init(_ bytes: [UInt8]) {
        do throws(CoderError) {
            let still = try WebPDecoder(DecoderSession(source: ByteSource(bytes)))
            let info = try still.readHeader()
            (size, isAnimated) = (info.size, info.isAnimated)
            if size.area ?? .max > 1 << 20 { return }
            guard isAnimated else {
                let format = info.hasAlpha ? PixelFormat.rgba8 : PixelFormat(.rgba, alpha: .opaque)
                let target = try PixelBuffer(size: size, format: format)
                _ = try still.decode(DecodeRequest(), into: Surface(target))
                pixels.append(target.packed)
                return
            }
            let animation = try AWebPDecoder(DecoderSession(source: ByteSource(bytes)))
            _ = try animation.readHeader()
            while let frame = try animation.nextFrame() {
                let buffer = try PixelBuffer(size: frame.rect.size, format: .rgba8)
                _ = try animation.decode(DecodeRequest(), into: Surface(buffer))
                pixels.append(buffer.packed)
            }
        } catch {
            code = error.code
        }
    }
}

/// The chunks with pixel data, in their order.
private func imageChunks(_ bytes: [UInt8]) -> [[UInt8]] {
    func little(_ at: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) } }
    var chunks: [[UInt8]] = []
    var at = 12
    let end = min(bytes.count, 8 + little(4))
    while at + 8 <= end {
        let next = at + 8 + little(at + 4)
        if next > end { break }
        let name = String(decoding: bytes[at..<at + 4], as: UTF8.self)
        if ["VP8 ", "VP8L", "ALPH", "ANIM", "ANMF"].contains(name) { chunks.append(Array(bytes[at..<next])) }
        at = next + (next - at) % 2
    }
    return chunks
}

private func rewrite(_ bytes: [UInt8], _ request: RewriteRequest) throws(CoderError) -> [UInt8] {
    let sink = ByteSink()
    _ = try WebPRewriter.rewrite(request, RewriteSession(source: ByteSource(bytes), sink: sink))
    return sink.written
}

@Suite struct `WebP rewriting of damaged files` {
    @Test(arguments: 0..<requests.count) func `ends with a typed error or the same pixels for any damage`(index: Int)
        throws
    {
        let request = requests[index]
        let sources = try files.map(file)
        var random = SeededRandom(UInt64(78 + index))
        var (copied, refused) = (0, 0)
        for round in 0..<1200 {
            let source = sources[round % sources.count]
            let bytes = source.mutated(Array("VP8XLANMFI".utf8) + [0, 1, 0xFF], &random)
            do throws(CoderError) {
                let result = try rewrite(bytes, request)
                copied += 1
                #expect(imageChunks(result) == imageChunks(bytes), "round \(round)")
                #expect(Playback(result).size == Playback(bytes).size, "round \(round)")
                #expect(Playback(result) == Playback(bytes), "round \(round)")
            } catch {
                refused += 1
                #expect(expected.contains(error.code), "round \(round): \(error)")
            }
        }
        #expect(copied > 200 && refused > 200)
    }

    @Test func `never reads metadata as pixels, for any part length in a damaged image`() throws {
        let source = try #require(readFile(Repository.fixture("images/orientation-6.webp")))
        // RFC 6386 section 9.1: the size of the first partition is in the upper 19 bits of the first 3 bytes.
        let place = try #require(source.indices.first { source[$0...].starts(with: "VP8 ".utf8) }) + 8
        for partition in 40..<220 {
            var bytes = source
            let tag = Int(source[place]) & 0x1F | partition << 5
            for byte in 0..<3 { bytes[place + byte] = UInt8(truncatingIfNeeded: tag >> (8 * byte)) }
            let result = try rewrite(bytes, requests[1])
            #expect(Playback(result) == Playback(bytes), "\(partition) bytes")
        }
    }

    @Test(arguments: files) func `reports a truncated file at any cut`(name: String) throws {
        let bytes = try file(name)
        for count in 0..<bytes.count - 1 {
            for request in requests {
                #expect {
                    try rewrite(Array(bytes[..<count]), request)
                } throws: {
                    [.truncated, .notMine].contains(($0 as? CoderError)?.code)
                }
            }
        }
    }

    @Test(arguments: requests.indices) func `writes nothing if chunks are longer than the file`(index: Int) throws {
        for name in files {
            var bytes = try file(name)
            bytes.replaceSubrange(16..<20, with: [0xF0, 0xFF, 0xFF, 0x7F])
            let sink = ByteSink()
            #expect(throws: CoderError.self) {
                try WebPRewriter.rewrite(requests[index], RewriteSession(source: ByteSource(bytes), sink: sink))
            }
            #expect(sink.written.isEmpty)
        }
    }
}
