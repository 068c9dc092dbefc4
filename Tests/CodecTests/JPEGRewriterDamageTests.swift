import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

/// One request of every kind.
private let requests = [
    RewriteRequest(), RewriteRequest(removed: Set(MetadataBlob.Kind.allCases)), RewriteRequest(transform: .right),
    RewriteRequest(transform: .down), RewriteRequest(crop: PixelRect(x: 0, y: 0, width: 8, height: 8)),
    RewriteRequest(optimizes: true),
    RewriteRequest(
        removed: [.text],
        replaced: [MetadataBlob(.iptc, [1, 2]), MetadataBlob(.exif, [1]), MetadataBlob(.xmp, Array("<x/>".utf8))],
        transform: .rightMirrored, optimizes: true),
]
private let changing = requests.filter { $0.transform != .up || $0.crop != nil || $0.optimizes }

/// The error codes allowed for a damaged file.
private let expected: Set<CoderError.Code> = [
    .notMine, .corrupt, .truncated, .refused, .limitExceeded, .invalidArgument,
]

/// The start of each marker with that code.
private func places(of marker: UInt8, in bytes: [UInt8]) -> [Int] {
    bytes.indices.dropLast().filter { bytes[$0] == 0xFF && bytes[$0 + 1] == marker }
}

private func withMetadata() -> [UInt8] {
    var image = Sampling.quarter.image(70, 50)
    image.restartInterval = 4
    image.segments =
        JPEGSegments.jfif() + JPEGSegments.exif([0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 0])
        + JPEGSegments.xmp("<x/>") + JPEGSegments.icc([1, 2, 3]) + JPEGSegments.multiPicture([(0, 0), (20, 5000)])
        + JPEGSegments.photoshop(JPEGSegments.resource(0x0404, [1, 2, 3])) + JPEGSegments.comment("text")
    return image.file
}

@Suite struct `JPEG rewriting of damaged files` {
    @Test(arguments: Fixture.bad("jpeg"))
    func `ends with an error if pixels change`(fixture: Fixture) {
        for request in changing {
            let error = refusal(fixture.bytes, request)
            #expect(error.map { expected.contains($0.code) } == true)
        }
    }

    @Test(arguments: ["images/f.jpg", "images/f-progressive.jpg", "jpeg/arithmetic-420.jpg"])
    func `reports a truncated file at any cut`(name: String) throws {
        let file = try jpegFixture(name)
        for count in stride(from: 2, to: file.count - 1, by: 7) {
            for request in requests {
                #expect(refusal(Array(file[..<count]), request)?.code == .truncated)
            }
        }
    }

    @Test func `ends with a typed error or a valid file for any damage`() throws {
        let sources = [
            withMetadata(), try jpegFixture("images/f-progressive.jpg"), try jpegFixture("jpeg/arithmetic-420.jpg"),
            try jpegFixture("jpeg/progressive-420-restart.jpg"),
        ]
        var random = SeededRandom(2024)
        var (sound, refused) = (0, 0)
        for round in 0..<2_000 {
            var bytes = sources[round % sources.count]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 2..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes.remove(at: place)
                default: bytes.insert([0, 0xFF, 0xD9, 0xDA, 0xC0].randomElement(using: &random)!, at: place)
                }
            }
            let request = requests[round / sources.count % requests.count]
            do {
                let result = try rewrite(bytes, request)
                sound += 1
                if changing.contains(request) { #expect(throws: Never.self) { try pixels(of: result.bytes) } }
            } catch {
                refused += 1
                let code = try #require(error as? CoderError).code
                #expect(expected.contains(code), "round \(round): \(error)")
            }
        }
        #expect(sound > 200 && refused > 200)
    }

    @Test func `never makes a valid file of damaged data`() throws {
        var image = Sampling.full.image(64, 64)
        image.restartInterval = 2
        let file = image.file
        let scan = try #require(places(of: 0xDA, in: file).first)
        let restarts = (0..<8).flatMap { places(of: 0xD0 + $0, in: file) }.sorted()
        func replacing(_ range: Range<Int>, by bytes: [UInt8]) -> [UInt8] {
            var damaged = file
            damaged.replaceSubrange(range, with: bytes)
            return damaged
        }
        let (third, end) = (restarts[3], file.count - 2)
        let damaged = [
            // A restart marker is missing, repeated, or replaced by another.
            replacing(third..<third + 2, by: []), replacing(third..<third, by: [0xFF, file[third + 1]]),
            replacing(third..<third + 2, by: [0xFF, 0xD7]),
            // Data is missing, and data is present where it must not be.
            replacing(restarts[0] + 4..<restarts[0] + 40, by: []), replacing(end..<end, by: [1, 2, 3, 4, 5, 6, 7, 8]),
            replacing(scan..<scan, by: [9, 9, 9]),
        ]
        for bytes in damaged {
            for request in changing { #expect(refusal(bytes, request)?.code == .corrupt) }
            #expect(try rewrite(bytes).bytes == bytes)
        }
    }

    @Test func `needs every component and every bit`() throws {
        var separate = Sampling.full.image(40, 40)
        separate.isSeparate = true
        let scans = places(of: 0xDA, in: separate.file)
        let progressive = try jpegFixture("images/f-progressive.jpg")
        let last = try #require(places(of: 0xDA, in: progressive).last)

        for request in changing {
            let lacking = Array(separate.file[..<scans[2]]) + [0xFF, 0xD9]
            #expect(refusal(lacking, request)?.code == .corrupt)
            let coarse = Array(progressive[..<last]) + [0xFF, 0xD9]
            #expect(refusal(coarse, request)?.code == .refused)
        }
    }

    @Test func `refuses a file without the parts of an image`() throws {
        let file = Sampling.gray.image(20, 20).file
        let frame = try #require(places(of: 0xC0, in: file).first)
        let scan = try #require(places(of: 0xDA, in: file).first)
        func changed(_ place: Int, _ bytes: [UInt8]) -> [UInt8] {
            Array(file[..<place]) + bytes + Array(file[(place + bytes.count)...])
        }
        for request in requests {
            #expect(refusal([], request)?.code == .truncated)
            #expect(refusal(Array("GIF89a".utf8), request)?.code == .notMine)
            #expect(refusal(Array(file[..<scan]) + [0xFF, 0xD9], request)?.code == .corrupt)
            #expect(refusal(Array(file[..<frame]) + Array(file[(frame + 13)...]), request)?.code == .corrupt)
            #expect(refusal(Array(file[..<scan]) + file, request)?.code == .corrupt)
            #expect(refusal(changed(frame + 7, [0, 0]), request)?.code == .corrupt)
            #expect(refusal(changed(frame + 5, [0, 0]), request)?.code == .corrupt)
            #expect(refusal(changed(frame + 2, [0, 1]), request)?.code == .corrupt)
        }
    }

    @Test func `refuses files without coefficients in the library`() throws {
        var deep = Sampling.full.image(20, 20)
        deep.precision = 12
        var lossless = Sampling.gray.image(20, 20).file
        lossless[try #require(places(of: 0xC0, in: lossless).first) + 1] = 0xC3
        var five = HandmadeJPEG(16, 16, Array(repeating: .init(across: 1, down: 1), count: 5))
        five.isSeparate = true
        for request in changing {
            #expect(refusal(five.file, request)?.code == .refused)
            #expect(refusal(deep.file, request)?.code == .refused)
            #expect(refusal(lossless, request)?.code == .refused)
        }
    }

    // MARK: Limits

    @Test func `keeps the limits of scans, sides, pixels and memory`() throws {
        let progressive = try photograph(160, 96, options: ["jpeg.progressive": .bool(true)])
        let scans = try #require(JPEGCoefficients(progressive)?.scanCount)
        let bytes = 20 * 12 * 3 * 128
        func limit(_ change: (inout DecodeLimits) -> Void) -> DecodeLimits {
            var limits = DecodeLimits()
            change(&limits)
            return limits
        }
        let cases: [(name: String, tight: DecodeLimits, wide: DecodeLimits)] = [
            ("scans", limit { $0.maxScans = scans - 1 }, limit { $0.maxScans = scans }),
            ("side", limit { $0.maxSide = 159 }, limit { $0.maxSide = 160 }),
            ("pixels", limit { $0.maxPixels = 160 * 96 - 1 }, limit { $0.maxPixels = 160 * 96 }),
            ("memory", limit { $0.maxDecodedBytes = bytes - 1 }, limit { $0.maxDecodedBytes = 2 * bytes }),
        ]
        for request in changing {
            for (name, tight, wide) in cases {
                let error = refusal(progressive, request, limits: tight)
                #expect(error?.code == .limitExceeded && error?.limit?.name == name)
                #expect(refusal(progressive, request, limits: wide) == nil)
            }
        }
        #expect(refusal(progressive, limits: cases[0].tight) == nil)
    }

    @Test func `reserves the memory of coefficients before allocating it, and frees it`() throws {
        let file = Sampling.full.image(160, 96).file
        let bytes = 20 * 12 * 3 * 128
        for (request, needed) in [
            (RewriteRequest(transform: .down), bytes), (RewriteRequest(transform: .right), 2 * bytes),
        ] {
            let host = RecordingHost()
            _ = try rewrite(file, request, host: host)
            #expect(host.mostReserved == needed && host.reserved == 0)
            let poor = RecordingHost(allowedMemory: needed - 1)
            #expect(refusal(file, request, host: poor)?.code == .limitExceeded)
        }
        let host = RecordingHost()
        let result = try rewrite(file, RewriteRequest(optimizes: true), host: host)
        #expect(host.mostReserved >= bytes + result.bytes.count / 2 && host.mostReserved <= bytes + 2 * file.count)
        #expect(host.reserved == 0)
        let copying = RecordingHost()
        _ = try rewrite(file, RewriteRequest(removed: [.exif]), host: copying)
        #expect(copying.mostReserved == 0)
    }

    @Test func `allocates no memory for an image that its file cannot contain`() throws {
        // 60,000 x 60,000 pixels of which 20 x 20 are present.
        var file = Sampling.gray.image(20, 20).file
        let frame = try #require(places(of: 0xC0, in: file).first)
        file.replaceSubrange(frame + 5..<frame + 9, with: [0xEA, 0x60, 0xEA, 0x60])
        var limits = DecodeLimits.off
        limits.maxRatio = 2000
        for request in changing {
            let host = RecordingHost()
            #expect(refusal(file, request, limits: limits, host: host)?.limit?.name == "ratio")
            #expect(host.mostReserved == 0)
            #expect(refusal(file, request)?.limit?.name == "pixels")
        }
    }

    @Test func `can be cancelled at any time`() throws {
        let file = Sampling.quarter.image(160, 96).file
        for request in requests {
            let host = RecordingHost()
            _ = try rewrite(file, request, host: host)
            try #require(host.polls > (changing.contains(request) ? 10 : 1))
            for allowed in 0..<host.polls {
                let stopping = RecordingHost(allowedPolls: allowed)
                #expect(refusal(file, request, host: stopping)?.code == .cancelled)
            }
        }
    }

    @Test func `waits for the whole file`() throws {
        let source = ByteSource(try jpegFixture("images/f.jpg"), arrived: 100)
        let session = RewriteSession(source: source, sink: ByteSink())

        #expect(throws: CoderError.needsInput) { try JPEGRewriter.rewrite(RewriteRequest(), session) }
    }

    @Test func `reports a file that cannot be read, or has become shorter`() throws {
        let file = try jpegFixture("images/f.jpg")
        for request in requests {
            var reads = 0
            let counting = ByteSource(count: file.count) { range throws(CoderError) in
                reads += 1
                return Array(file[range])
            }
            let session = { RewriteSession(source: $0, sink: ByteSink()) }
            _ = try JPEGRewriter.rewrite(request, session(counting))
            for allowed in 0..<reads {
                var count = 0
                let failing = ByteSource(count: file.count) { range throws(CoderError) in
                    count += 1
                    if count > allowed { throw CoderError(.inputOutput, "the disk is gone") }
                    return Array(file[range])
                }
                #expect(throws: CoderError.self) { try JPEGRewriter.rewrite(request, session(failing)) }
                count = 0
                let shrinking = ByteSource(count: file.count) { range throws(CoderError) in
                    count += 1
                    return count > allowed ? [] : Array(file[range])
                }
                #expect(throws: CoderError.self) { try JPEGRewriter.rewrite(request, session(shrinking)) }
            }
        }
    }
}
