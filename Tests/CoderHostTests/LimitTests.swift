import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Limits` {
    static let huge = Fixture.bad.filter { $0.name.contains("header-65535x65535") }

    @Test func `are tried with a huge header of every format that can have one`() {
        #expect(Set(Self.huge.map(\.format)).isSuperset(of: ["png", "jpeg", "gif", "webp", "farbfeld", "pam"]))
    }

    @Test(arguments: huge) func `refuse a huge header by its numbers`(fixture: Fixture) throws {
        let manager = testHost(Repository.products).manager

        let error = #expect(throws: CoderError.self) { try manager.decode(ImageSource(fixture.bytes)) }

        #expect(error?.code == .limitExceeded)
        let limit = try #require(error?.limit)
        #expect(limit.requested > limit.allowed)
        #expect(limit.allowed > 0)
        #expect(error?.message.contains("\(limit.allowed)") == true)
        #expect(error?.hint != nil)
    }

    /// Runs in a separate process with 640 MiB of address space: 65535 x 65535 pixels need at least 4 GiB.
    @Test(arguments: huge) func `refuse a huge header before memory is taken`(fixture: Fixture) throws {
        let command = "ulimit -v 655360; exec \"$0\" info --plugin-dir \"$1\" --json \"$2\""
        func info(_ path: String) throws -> CommandResult {
            try run(["sh", "-c", command, "\(Repository.products)/coderhost", Repository.products, path])
        }

        let small = try info(Fixture.named("images/f.png").path)
        let huge = try info(fixture.path)

        #expect(small.status == 0, "the address space suffices for an ordinary image: \(small.stderr)")
        #expect(huge.stdout.contains("limitExceeded"), "\(huge.stdout) \(huge.stderr)")
    }

    @Test func `apply to the size that a plugin reports for four bytes`() throws {
        let folder = TemporaryDirectory()
        try BuiltPlugin.put("huge-size", into: folder)
        let manager = testHost(folder.path).manager

        let error = #expect(throws: CoderError.self) { try manager.decode(badImage) }

        #expect(error?.code == .limitExceeded)
        #expect(
            error?.limit == CoderError.Limit(name: "pixels", allowed: 250_000_000, requested: 65_535 * 65_535)
        )
    }

    /// An image and its requirement for one limit.
    struct Need: Sendable, CustomTestStringConvertible {
        var name: String
        var fixture: String
        var count: Int
        var set: @Sendable (inout DecodeLimits, Int) -> Void
        var testDescription: String { "\(name) of \(fixture)" }
    }

    /// f.png has 31 x 17 pixels of 3 bytes, the GIF three frames of the same size.
    static let needs = [
        Need(name: "side", fixture: "images/f.png", count: 31) { $0.maxSide = $1 },
        Need(name: "pixels", fixture: "images/f.png", count: 31 * 17) { $0.maxPixels = $1 },
        Need(name: "bytes", fixture: "images/f.ppm", count: 31 * 17 * 3) { $0.maxDecodedBytes = $1 },
        Need(name: "frames", fixture: "images/three-frames.gif", count: 3) { $0.maxFrames = $1 },
        Need(name: "all pixels", fixture: "images/three-frames.gif", count: 31 * 17 * 3) { $0.maxTotalPixels = $1 },
    ]

    @Test(arguments: needs) func `allow exactly their value`(need: Need) throws {
        let manager = testHost(Repository.products).manager
        let source = ImageSource(Fixture.named(need.fixture).bytes)
        func open(_ allowed: Int) throws(CoderError) {
            var limits = DecodeLimits.default
            need.set(&limits, allowed)
            try manager.withSession(source, limits: limits) { session throws(CoderError) in
                _ = try session.frames()
                _ = try session.decodeImage()
            }
        }

        #expect(throws: Never.self) { try open(need.count) }
        #expect(throws: Never.self) { try open(0) }
        let error = #expect(throws: CoderError.self) { try open(need.count - 1) }

        #expect(error?.code == .limitExceeded)
        #expect(error?.limit?.allowed == UInt64(need.count - 1))
        #expect(error?.limit?.requested == UInt64(need.count))
    }

    @Test func `count the canvas of an animation as stored in memory`() throws {
        let manager = testHost().manager
        let size = PixelSize(10, 10)
        let frame = FrameInfo(index: 0, rect: PixelRect(x: 1, y: 1, width: 2, height: 2))
        manager.addCoder(ScriptedCoder("x", format: .gray8, size: size, frames: [(frame, [9])]))
        var limits = DecodeLimits.default
        limits.maxDecodedBytes = 399

        let error = #expect(throws: CoderError.self) {
            try manager.withSession(badImage, limits: limits) { session throws(CoderError) in
                try session.decodeImage()
            }
        }

        #expect(error?.limit?.requested == 400, "a canvas has four bytes per pixel, whatever the frames have")
    }

    @Test func `refuse an implausible compression ratio`() throws {
        let manager = testHost(Repository.products).manager
        let source = ImageSource(Fixture.named("hostile/ratio-above-2000.png").bytes)
        var limits = DecodeLimits.default

        let error = #expect(throws: CoderError.self) { try manager.decode(source) }
        limits.maxRatio = 0
        let info = try manager.withSession(source, limits: limits) { session throws(CoderError) in session.info }

        #expect(error?.code == .limitExceeded)
        #expect(error?.limit?.allowed == 2000)
        #expect(info.size == PixelSize(15_000, 15_000))
    }

    @Test func `leave out metadata that is too long, with a warning`() throws {
        let manager = testHost(Repository.products).manager
        let source = ImageSource(Fixture.named("images/icc-wide.png").bytes)
        func profiles(_ allowed: Int) throws -> (count: Int, bytes: Int, warnings: [String]) {
            var limits = DecodeLimits.default
            limits.maxMetadataBytes = allowed
            return try manager.withSession(source, limits: limits) { session throws(CoderError) in
                let blobs = try session.metadata().filter { $0.kind == .icc }
                return (blobs.count, blobs.first?.bytes.count ?? 0, session.context.warnings)
            }
        }
        let whole = try profiles(0)
        try #require(whole.count == 1)

        #expect(try profiles(whole.bytes) == whole)
        let cut = try profiles(whole.bytes - 1)
        #expect(cut.count == 0)
        #expect(cut.warnings.count == 1)
    }

    // MARK: Input and output

    @Test(arguments: ["file", "fifo"], [100, 65_536, 70_000]) func `apply to the input`(kind: String, count: Int) throws
    {
        let folder = TemporaryDirectory()
        let path = folder.write([UInt8](repeating: 1, count: count), to: "input")
        func read(_ allowed: Int) throws -> Int {
            var limits = DecodeLimits.default
            limits.maxInputBytes = allowed
            if kind == "file" { return try ImageSource(path: path, limits: limits).count }
            let fifo = folder.file("fifo")
            try shell("mkfifo", fifo)
            try shell("sh", "-c", "(sleep 0.2; exec cat \"$0\" > \"$1\") > /dev/null 2>&1 &", path, fifo)
            defer { try? shell("rm", fifo) }
            return try ImageSource(path: fifo, limits: limits).count
        }

        #expect(try read(count) == count)
        #expect(try read(0) == count)
        let error = #expect(throws: CoderError.self) { try read(count - 1) }
        #expect(error?.code == .limitExceeded)
        #expect(error?.limit?.allowed == UInt64(count - 1))
    }

    @Test func `apply to the output`() throws {
        let image = try testHost().manager.decode(
            ImageSource(Array("P5 4 4 255 ".utf8) + [UInt8](repeating: 7, count: 16)))
        var limits = DecodeLimits.default
        limits.maxOutputBytes = 11 + 16
        #expect(try testHost(limits: limits).manager.encode(image, to: "pnm").count == 11 + 16)
        limits.maxOutputBytes = 11 + 15

        let error = #expect(throws: CoderError.self) { try testHost(limits: limits).manager.encode(image, to: "pnm") }

        #expect(error?.limit == CoderError.Limit(name: "output", allowed: 26, requested: 27))
    }

    @Test func `apply to a growing source`() throws {
        let source = try ImageSource(growingTo: 10)
        try source.append([1, 2, 3, 4])

        let error = #expect(throws: CoderError.self) { try source.append([UInt8](repeating: 0, count: 7)) }
        source.finish()
        let late = #expect(throws: CoderError.self) { try source.append([1]) }

        #expect(error?.limit == CoderError.Limit(name: "input", allowed: 10, requested: 11))
        #expect(late?.code == .misuse)
        #expect(source.bytes(0..<100) == [1, 2, 3, 4])
    }

    // MARK: Profiles

    @Test(
        arguments: [
            \DecodeLimits.maxSide, \.maxPixels, \.maxFrames, \.maxTotalPixels, \.maxInputBytes, \.maxOutputBytes,
            \.maxDecodedBytes, \.maxMetadataBytes, \.maxTotalMetadataBytes, \.maxRatio, \.maxScans, \.maxNesting,
            \.maxThreads, \.maxMilliseconds,
        ] as [any KeyPath<DecodeLimits, Int> & Sendable])
    func `are tighter for untrusted input and absent on request`(key: any KeyPath<DecodeLimits, Int> & Sendable) {
        #expect(DecodeLimits.strict[keyPath: key] > 0)
        #expect(DecodeLimits.strict[keyPath: key] <= DecodeLimits.default[keyPath: key])
        #expect(DecodeLimits.off[keyPath: key] == 0)
    }

    @Test(arguments: Fixture.valid) func `for untrusted input allow every ordinary image`(fixture: Fixture) throws {
        let manager = testHost(Repository.products, limits: .strict).manager

        #expect(try manager.decode(ImageSource(fixture.bytes)).info.size == fixture.expect?.size)
    }
}
