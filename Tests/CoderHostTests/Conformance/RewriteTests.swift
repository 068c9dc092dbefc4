import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// Rewrites by the plugins as they were built: every pixel that is kept keeps its value.
@Suite(.timeLimit(.minutes(40))) struct `A rewritten file` {
    static let files = Fixture.valid("jpeg", "png", "apng", "gif", "webp").filter { $0.bytes.count < 200_000 }

    private func rewrite(_ file: Fixture, _ change: (inout RewriteOptions) -> Void) throws -> [UInt8] {
        var options = RewriteOptions()
        change(&options)
        let sink = MemorySink()
        _ = try Bench.manager.rewrite(Bench.source(file), to: sink, options)
        return sink.bytes
    }

    /// The digest of every frame as it is seen.
    private func digests(_ bytes: [UInt8]) throws -> [String] {
        try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
            var digests: [String] = []
            for frame in try session.frames() {
                digests.append(try PixelHash.hex(try session.decodeFrame(frame.index).pixels))
            }
            return digests
        }
    }

    @Test(arguments: files) func `without a change has the same bytes`(file: Fixture) throws {
        let bytes = try rewrite(file) { _ in }
        let isSame = bytes == file.bytes
        #expect(isSame)
    }

    @Test(arguments: files) func `without metadata has the same pixels and times`(file: Fixture) throws {
        let bytes = try rewrite(file) { $0.removed = Set(RewriteOptions.Part.allCases).subtracting([.icc]) }

        #expect(try digests(bytes) == digests(file.bytes))
        try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
            #expect(Set(try session.metadata().map(\.kind)).subtracting([.icc]) == [])
            let before = try Bench.manager.openSession(Bench.source(file))
            #expect(try session.frames().map(\.duration) == before.frames().map(\.duration))
            #expect(session.info.loopCount == before.info.loopCount && session.info.color == before.info.color)
        }
    }

    @Test(arguments: files.filter { $0.format != "webp" })
    func `that was optimized has the same pixels and is no larger`(file: Fixture) throws {
        let bytes = try rewrite(file) { $0.optimizes = true }

        #expect(try digests(bytes) == digests(file.bytes))
        #expect(bytes.count <= file.bytes.count)
    }

    @Test(arguments: Fixture.valid("jpeg").filter { ($0.expect?.orientation ?? 1) > 1 })
    func `states the orientation that it is given`(file: Fixture) throws {
        let bytes = try rewrite(file) { $0.orientation = .left }
        let session = try Bench.manager.openSession(ImageSource(bytes))

        #expect(session.info.orientation == .left)
        #expect(try PixelHash.hex(session.decodeImage()) == PixelHash.hex(Bench.decode(file).pixels))
    }

    @Test(arguments: files.filter { $0.format != "jpeg" })
    func `of a format that is not turned without loss is refused`(file: Fixture) throws {
        #expect(Bench.code { _ = try rewrite(file) { $0.transform = .right } } == .refused)
    }

    @Test(arguments: files) func `that is cut off is refused by a typed error, or rewritten up to the cut`(file: Fixture) throws {
        for count in stride(from: 0, to: file.bytes.count, by: max(1, file.bytes.count / 24)) {
            var options = RewriteOptions()
            options.removed = [.exif, .comment]
            options.optimizes = file.format != "webp"
            let source = ImageSource(Array(file.bytes.prefix(count)))
            let code = Bench.code { _ = try Bench.manager.rewrite(source, to: MemorySink(), options) }
            #expect(![.pluginFault, .misuse, .pluginCrashed].contains(code))
        }
    }
}
