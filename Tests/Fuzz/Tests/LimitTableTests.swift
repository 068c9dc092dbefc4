import CoderHost
import FuzzTargets
import ImageModel
import TestSupport
import Testing

/// Every limit of every format that it can apply to: what passes it is refused, with the numbers.
@Suite(.timeLimit(.minutes(40))) struct `The table of limits` {
    /// One limit passed by one picture, by one at most.
    struct Row: Sendable, CustomTestStringConvertible {
        var limit: String
        var path: any WritableKeyPath<DecodeLimits, Int> & Sendable
        var allowed: Int
        var picture: String
        var testDescription: String { "\(limit) of \(picture)" }
    }

    private static let manager = CoderHost(
        configuration: HostConfiguration(
            directories: [.init(Repository.products, origin: .argument)], administrationDirectories: [],
            followsChanges: false)
    ).manager

    /// 31 x 17 pixels; a byte less than they need in the format with the fewest.
    static let stills = [
        "pictures/f.png", "pictures/f.jpg", "pictures/f.gif", "pictures/f.webp", "pictures/f.heic", "pictures/f.avif",
        "pictures/f.ppm", "pictures/rgba.ff", "pictures/rgba.pam",
    ]
    static let animations = [
        "apng/three-frames.png", "pictures/three-frames.gif", "pictures/three-frames.webp",
        "avif/sequence-alpha.avif",
    ]

    static let rows =
        stills.flatMap { picture -> [Row] in
            [
                Row(limit: "side", path: \.maxSide, allowed: 2, picture: picture),
                Row(limit: "pixels", path: \.maxPixels, allowed: 3, picture: picture),
                Row(limit: "memory", path: \.maxDecodedBytes, allowed: 5, picture: picture),
                Row(limit: "input", path: \.maxInputBytes, allowed: 40, picture: picture),
            ]
        }
        + animations.flatMap { picture in
            [
                Row(limit: "frames", path: \.maxFrames, allowed: 1, picture: picture),
                Row(limit: "total", path: \.maxTotalPixels, allowed: 1, picture: picture),
                Row(limit: "memory", path: \.maxDecodedBytes, allowed: 5, picture: picture),
            ]
        } + [
            Row(limit: "scans", path: \.maxScans, allowed: 1, picture: "jpeg/progressive-422.jpg"),
            Row(limit: "ratio", path: \.maxRatio, allowed: 1999, picture: "hostile/ratio-above-2000.png"),
        ]

    @Test(arguments: rows) func `is kept by host and plugins`(row: Row) throws {
        var limits = DecodeLimits.default
        limits[keyPath: row.path] = row.allowed

        let error = #expect(throws: CoderError.self) {
            let source = try ImageSource(path: Repository.fixture(row.picture), limits: limits)
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

    /// Metadata is no reason to refuse a picture: it is left out, with a warning.
    @Test(arguments: ["pictures/icc-wide.png", "webp/metadata.webp", "heif/rotated-with-thumbnail-exif-icc.heic"])
    func `for metadata is kept`(picture: String) throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 8
        do throws(CoderError) {
            let source = try ImageSource(path: Repository.fixture(picture), limits: limits)
            try Self.manager.withSession(source, limits: limits) { session throws(CoderError) in
                let blobs = try session.metadata()
                #expect(blobs.allSatisfy { $0.bytes.count <= 8 })
                #expect(!session.context.warnings.isEmpty)
            }
        } catch {
            #expect(error.limit?.name == "metadata" && error.limit?.allowed == 8, "\(error)")
        }
    }

    @Test(arguments: ["png", "jpeg", "gif", "webp", "heic", "avif", "farbfeld", "pam", "pnm"] as [ImageFormat])
    func `for the output is kept by every format that is written`(format: ImageFormat) throws {
        let image = try Self.manager.decode(try ImageSource(path: Repository.fixture("pictures/f.png")))
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

    /// Every command that opens a picture, as it would be typed; `play` needs a terminal.
    static let commands = [
        ["info"], ["convert", "-o", "OUT.pam"], ["thumbnail", "-o", "OUT.png", "--size", "8x8"], ["frames", "info"],
        ["frames", "extract", "-o", "OUT{n}.png"], ["frames", "assemble", "-o", "OUT.gif"], ["compare"],
        ["progressive"],
        ["bench", "--runs", "1"],
    ]

    @Test(arguments: commands) func `is taken by every command that opens pictures`(words: [String]) throws {
        let place = TemporaryDirectory()
        let picture = Repository.fixture("pictures/three-frames.gif")
        let command =
            [Repository.products + "/coderhost"] + words.map { $0.hasPrefix("OUT") ? place.file($0) : $0 } + [picture]
            + (words[0] == "compare" ? [picture] : []) + [
                "--limits", "strict,side=16", "--plugin-dir", Repository.products,
            ]

        let result = try run(command, directory: place.path, timeout: .seconds(120))

        #expect(result.status != 0)
        #expect(
            (result.stdout + result.stderr).contains("above the limit of 16"),
            "\(words): \(result.status) \(result.stdout)\(result.stderr)")
    }
}
