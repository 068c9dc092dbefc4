import CoderPluginKit
import GIFCodec
import ImageModel
import TestSupport
import Testing

private let requests = [
    RewriteRequest(), RewriteRequest(removed: Set(MetadataBlob.Kind.allCases)), RewriteRequest(optimizes: true),
    RewriteRequest(
        removed: [.text], replaced: [MetadataBlob(.xmp, Array("<x/>".utf8))], optimizes: true),
]

/// The error codes allowed for a damaged file.
private let expected: Set<CoderError.Code> = [.notMine, .corrupt, .truncated, .refused, .limitExceeded]

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("images/\(name)"))) }

/// Every kind of block.
private func handmade() -> [UInt8] {
    var file = HandmadeGIF(4, 3)
    file.loops(3)
    file.bytes += [0x21, 0xFE, 5] + Array("hello".utf8) + [0]
    file.control(delay: 7, disposal: 2, transparent: 1)
    file.frame(0, 0, 4, 3, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], interlaced: true)
    file.control(delay: 7, disposal: 3)
    file.frame(1, 1, 2, 2, [1, 2, 2, 1], palette: [9, 9, 9, 8, 8, 8, 7, 7, 7, 6, 6, 6])
    file.end()
    return file.bytes
}

private func rewrite(_ bytes: [UInt8], _ request: RewriteRequest, host: RecordingHost = RecordingHost()) throws
    -> [UInt8]
{
    let sink = ByteSink()
    var limits = DecodeLimits.default
    limits.maxPixels = 1 << 20
    limits.maxFrames = 1000
    _ = try GIFRewriter.rewrite(
        request, RewriteSession(source: ByteSource(bytes), sink: sink, limits: limits, host: try host.services()))
    return sink.written
}

@Suite struct `GIF rewriting of damaged files` {
    @Test(arguments: 0..<requests.count) func `ends with a typed error or the same frames for any damage`(index: Int)
        throws
    {
        let request = requests[index]
        let sources = [handmade(), try file("three-frames.gif"), try file("trailing-garbage.gif"), try file("f.gif")]
            .map { $0.count > 4000 ? Array($0.prefix(4000)) : $0 }
        var random = SeededRandom(UInt64(77 + index))
        var (sound, refused) = (0, 0)
        for round in 0..<800 {
            let bytes = sources[round % sources.count].mutated([0, 0x21, 0x2C, 0x3B, 0xF9, 0xFF], &random)
            do {
                let result = try rewrite(bytes, request)
                sound += 1
                let before = ShownGIF(bytes)
                if (before.size.area ?? .max) > 1 << 20 { continue }
                let after = ShownGIF(result)
                #expect(request.optimizes ? after.shows(before) : after == before, "round \(round)")
            } catch {
                refused += 1
                let code = try #require(error as? CoderError).code
                #expect(expected.contains(code), "round \(round): \(error)")
            }
        }
        #expect(sound > 100 && refused > 100)
    }

    @Test func `ends with a typed error or the existing frames at any cut`() throws {
        for bytes in [handmade(), try file("three-frames.gif")] {
            for count in 0..<min(bytes.count, 1500) {
                let cut = Array(bytes[..<count])
                for request in requests {
                    do {
                        #expect(try ShownGIF(rewrite(cut, request)).shows(ShownGIF(cut)), "\(count) bytes")
                    } catch {
                        #expect(expected.contains(try #require(error as? CoderError).code), "\(count) bytes: \(error)")
                    }
                }
            }
        }
    }

    @Test func `allocates no memory for a frame above a limit`() throws {
        var file = HandmadeGIF(2, 2)
        file.frame(0, 0, 60_000, 60_000, [1, 2, 3, 1])
        file.end()
        let host = RecordingHost()
        #expect {
            try rewrite(file.bytes, RewriteRequest(optimizes: true), host: host)
        } throws: {
            ($0 as? CoderError)?.limit?.name == "pixels"
        }
        #expect(host.mostReserved == 0)
    }
}
