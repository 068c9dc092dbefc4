import CoderHost
import ImageModel
import TestSupport
import Testing

/// Growing sources yield the same pixels as complete sources.
@Suite struct `Growing sources` {
    static let small = Fixture.valid.filter { $0.byteCount <= 1300 && $0.expect?.frameCount == 1 }
    static let large = Fixture.valid.filter { $0.byteCount > 1300 && $0.expect?.frameCount == 1 }

    /// Decodes one image while its source grows.
    private struct Reader {
        let decoder: any FrameDecoder
        let wantsPartial: Bool
        var info: ImageInfo?
        var frame: FrameInfo?
        var pixels: PixelBuffer?
        var isDone = false
        /// The number of partial images.
        var parts = 0

        init(_ coder: any ImageCoder, _ source: ImageSource, wantsPartial: Bool) throws(CoderError) {
            decoder = try coder.makeDecoder(source, SessionContext())
            self.wantsPartial = wantsPartial
        }

        /// Continues as far as the bytes allow.
        mutating func advance() throws(CoderError) {
            if isDone { return }
            do throws(CoderError) {
                if info == nil { info = try decoder.readHeader() }
                if frame == nil { frame = try decoder.nextFrame() }
                guard let info, frame != nil else { throw .corrupt("there is no frame") }
                let buffer: PixelBuffer
                if let pixels {
                    buffer = pixels
                } else {
                    buffer = try PixelBuffer(size: info.size, format: try decoder.pixelFormats()[0])
                    pixels = buffer
                }
                let outcome = try decoder.decode(FrameRequest(wantsPartial: wantsPartial), into: CanvasPlace(buffer))
                if outcome == .complete { isDone = true } else { parts += 1 }
            } catch {
                if error.code != .needsInput { throw error }
            }
        }
    }

    /// Feeds the bytes in pieces and returns the result.
    private func feed(_ fixture: Fixture, wantsPartial: Bool, pieces: (Int) -> Int) throws -> Reader {
        let bytes = fixture.bytes
        let candidate = try #require(Bench.manager.candidates(for: ImageSource(bytes)).first)
        let source = try ImageSource(growingTo: bytes.count)
        var reader = try Reader(candidate.coder, source, wantsPartial: wantsPartial)
        try reader.advance()
        #expect(reader.info == nil, "facts without a byte")
        var at = 0
        while at < bytes.count {
            let next = min(bytes.count, at + max(1, pieces(at)))
            try source.append(Array(bytes[at..<next]))
            at = next
            try reader.advance()
        }
        source.finish()
        try reader.advance()
        #expect(reader.isDone)
        return reader
    }

    @Test(arguments: small, [false, true])
    func `one byte at a time yield the pixels of the complete source`(fixture: Fixture, wantsPartial: Bool) throws {
        let whole = try Bench.decode(fixture)

        let grown = try feed(fixture, wantsPartial: wantsPartial) { _ in 1 }

        #expect(grown.pixels?.bytes == whole.pixels.bytes)
        #expect(grown.info?.size == whole.info.size)
    }

    @Test(arguments: large, [false, true])
    func `pieces of any length yield the pixels of the complete source`(fixture: Fixture, wantsPartial: Bool) throws {
        let whole = try Bench.decode(fixture)
        var dice = Dice(seed: UInt64(fixture.byteCount))

        let grown = try feed(fixture, wantsPartial: wantsPartial) { _ in dice.below(900) }

        #expect(grown.pixels?.bytes == whole.pixels.bytes)
    }

    @Test(arguments: ["images/photo.png", "images/photo.jpg", "images/photo.webp", "images/rgba.ff"])
    func `an incremental coder shows parts before the end`(name: String) throws {
        let fixture = Fixture.named(name)
        let coder = try #require(Bench.manager.candidates(for: Bench.source(fixture)).first?.descriptor)
        #expect(coder.roles.contains(.incremental))

        let grown = try feed(fixture, wantsPartial: true) { _ in fixture.byteCount / 8 }

        #expect(grown.parts > 1)
    }

    @Test(arguments: ["images/photo.heic", "images/photo.avif"])
    func `without partial images, truncated data is an error instead of a blank image`(name: String) throws {
        let bytes = Fixture.named(name).bytes
        let session = try Bench.manager.openSession(ImageSource(Array(bytes[..<(bytes.count * 3 / 4)])))

        #expect(Bench.code { _ = try session.decodeAvailable() } == .truncated)
    }

    @Test(arguments: [
        "images/f.jpg", "images/f.png", "images/f.gif", "images/f.webp", "images/f.heic",
        "images/f.avif", "images/rgba.ff", "images/rgba.pam", "images/f.ppm",
    ])
    func `the manager asks for more input while the source may grow`(name: String) throws {
        let fixture = Fixture.named(name)
        let bytes = fixture.bytes
        let source = try ImageSource(growingTo: bytes.count)

        for at in bytes.indices {
            if at < 40 || at % 97 == 0 {
                let code = Bench.code { _ = try Bench.manager.decode(source) }
                #expect(code == .needsInput, "after \(at) of \(bytes.count) bytes")
            }
            try source.append([bytes[at]])
        }
        source.finish()

        #expect(PixelDigest.of(try Bench.manager.decode(source).pixels) == fixture.expect?.pixelSHA256)
    }

    @Test func `bytes that are not an image are refused as soon as possible`() throws {
        let source = try ImageSource(growingTo: 10_000)
        try source.append([UInt8](repeating: 0x20, count: 10))
        #expect(Bench.code { _ = try Bench.manager.decode(source) } == .needsInput)

        try source.append([UInt8](repeating: 0x20, count: 9000))

        #expect(Bench.code { _ = try Bench.manager.decode(source) } == .unrecognizedFormat)
    }

    @Test(arguments: small.filter { $0.format != "gif" || !$0.name.contains("trailing") })
    func `a source that ends early is truncated`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let source = try ImageSource(growingTo: bytes.count)
        let candidate = try #require(Bench.manager.candidates(for: ImageSource(bytes)).first)
        var reader = try Reader(candidate.coder, source, wantsPartial: false)
        try source.append(Array(bytes[..<(bytes.count / 2)]))
        try reader.advance()
        source.finish()

        let code = Bench.code {
            try reader.advance()
            if !reader.isDone { throw CoderError.needsInput }
        }

        // If trailing bytes, an extension area or other images follow an image, half of the file may be enough.
        let rests = ["trailing", "two-images", "alpha.tga", "cube.dds", "three-pages"]
        if !rests.contains(where: fixture.name.contains) {
            #expect(code == .truncated || code == .corrupt)
        }
        #expect(code != .needsInput)
    }
}

/// Deterministic pseudorandom numbers.
///
/// - Source: xorshift64*, S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016.
struct Dice {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }

    mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % max(1, bound) }
}
