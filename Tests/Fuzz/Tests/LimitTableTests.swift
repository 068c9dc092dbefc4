import CoderHost
import FuzzTargets
import ImageModel
import TestSupport
import Testing

/// Every limit with every format to which it applies: an image above it is refused, with the numbers.
@Suite(.timeLimit(.minutes(40))) struct `The table of limits` {
    /// One limit, and one image that exceeds it by one at most.
    struct Row: Sendable, CustomTestStringConvertible {
        var limit: String
        var path: any WritableKeyPath<DecodeLimits, Int> & Sendable
        var allowed: Int
        var fixture: String
        var testDescription: String { "\(limit) of \(fixture)" }
    }

    private static let manager = CoderHost(
        configuration: HostConfiguration(
            directories: [.init(Repository.products, origin: .argument)], administrationDirectories: [],
            followsChanges: false)
    ).manager

    /// 31 x 17 pixels; a byte less than they need in the smallest format.
    static let stills = [
        "images/f.png", "images/f.jpg", "images/f.gif", "images/f.webp", "images/f.heic", "images/f.avif",
        "images/f.ppm", "images/rgba.ff", "images/rgba.pam",
    ]
    static let animations = [
        "apng/three-frames.png", "images/three-frames.gif", "images/three-frames.webp",
        "avif/sequence-alpha.avif",
    ]

    static let rows =
        stills.flatMap { fixture -> [Row] in
            [
                Row(limit: "side", path: \.maxSide, allowed: 2, fixture: fixture),
                Row(limit: "pixels", path: \.maxPixels, allowed: 3, fixture: fixture),
                Row(limit: "memory", path: \.maxDecodedBytes, allowed: 5, fixture: fixture),
                Row(limit: "input", path: \.maxInputBytes, allowed: 40, fixture: fixture),
            ]
        }
        + animations.flatMap { fixture in
            [
                Row(limit: "frames", path: \.maxFrames, allowed: 1, fixture: fixture),
                Row(limit: "total", path: \.maxTotalPixels, allowed: 1, fixture: fixture),
                Row(limit: "memory", path: \.maxDecodedBytes, allowed: 5, fixture: fixture),
            ]
        } + [
            Row(limit: "scans", path: \.maxScans, allowed: 1, fixture: "jpeg/progressive-422.jpg"),
            Row(limit: "ratio", path: \.maxRatio, allowed: 1999, fixture: "hostile/ratio-above-2000.png"),
        ]

    @Test(arguments: rows) func `is kept by host and plugins`(row: Row) throws {
        var limits = DecodeLimits.default
        limits[keyPath: row.path] = row.allowed

        let error = #expect(throws: CoderError.self) {
            let source = try ImageSource(path: Repository.fixture(row.fixture), limits: limits)
            try Self.manager.withSession(source, limits: limits) { session throws(CoderError) in
                _ = try session.frames()
                _ = try session.decodeImage()
            }
        }

        #expect(error?.code == .limitExceeded, "\(error.map(String.init(describing:)) ?? "")")
        let limit = try #require(error?.limit)
        #expect(limit.name == row.limit)
        #expect(limit.allowed == UInt64(row.allowed))
        #expect(limit.requested > limit.allowed)
        let line = try #require(error?.description)
        #expect(line.contains("\(row.allowed)") && !line.contains("\n"))
        #expect(line.contains("--limits \(row.limit)="))
    }

    /// Metadata is no reason to refuse an image: the host ignores it, with a warning.
    @Test(arguments: ["images/icc-wide.png", "webp/metadata.webp", "heif/rotated-with-thumbnail-exif-icc.heic"])
    func `for metadata is kept`(fixture: String) throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 8
        do throws(CoderError) {
            let source = try ImageSource(path: Repository.fixture(fixture), limits: limits)
            try Self.manager.withSession(source, limits: limits) { session throws(CoderError) in
                let blobs = try session.metadata()
                #expect(blobs.allSatisfy { $0.bytes.count <= 8 })
                #expect(!session.context.warnings.isEmpty)
            }
        } catch {
            #expect(error.limit?.name == "metadata" && error.limit?.allowed == 8, "\(error)")
        }
    }

    @Test(arguments: BundledPlugin.written.map(\.format) + ["pam", "pnm"])
    func `for the output is kept by every written format`(format: ImageFormat) throws {
        let image = try Self.manager.decode(try ImageSource(path: Repository.fixture("images/f.png")))
        var limits = DecodeLimits.default
        limits.maxOutputBytes = 30

        let error = #expect(throws: CoderError.self) {
            try Self.manager.encode(image, to: format, into: MemorySink(limits: limits))
        }

        #expect(error?.code == .limitExceeded, "\(error.map(String.init(describing:)) ?? "")")
        #expect(error?.limit?.name == "output")
        #expect(error?.limit?.allowed == 30)
        #expect(error?.limit?.requested ?? 0 > 30)
    }

    // MARK: The command

    /// Every command that opens an image, as typed; `play` needs a terminal.
    static let commands = [
        ["info"], ["convert", "-o", "OUT.pam"], ["thumbnail", "-o", "OUT.png", "--size", "8x8"], ["frames", "info"],
        ["frames", "extract", "-o", "OUT{n}.png"], ["frames", "assemble", "-o", "OUT.gif"], ["compare"],
        ["progressive"],
        ["bench", "--runs", "1"],
    ]

    @Test(arguments: commands) func `is accepted by every command that opens images`(words: [String]) throws {
        let place = TemporaryDirectory()
        let fixture = Repository.fixture("images/three-frames.gif")
        let command =
            [Repository.products + "/coderhost"] + words.map { $0.hasPrefix("OUT") ? place.file($0) : $0 } + [fixture]
            + (words[0] == "compare" ? [fixture] : []) + [
                "--limits", "strict,side=16", "--plugin-dir", Repository.products,
            ]

        let result = try run(command, directory: place.path, timeout: .seconds(120))

        #expect(result.status != 0)
        #expect(
            (result.stdout + result.stderr).contains("above the limit of 16"),
            "\(words): \(result.status) \(result.stdout)\(result.stderr)")
    }
}
