import CoderHost
import CommandLineKit
import ImageModel
import TestSupport
import Testing

/// Several outputs of one input.
@Suite struct `A series of outputs` {
    private static let command = CommandSpecification(
        name: "convert", summary: "", operands: "IN…", operandCount: 1...9, examples: [],
        options: [.output(""), .formats(default: "")] + Renditions.specification + ImageChanges.specification
            + ParsedArguments.frameSpecification)

    @Test(arguments: [[], ["--trim"], ["--crop", "4:3"]])
    func `decodes its input once`(changes: [String]) throws {
        let place = TemporaryDirectory()
        place.write(Array("COUNT".utf8), to: "in.count")
        let coder = CountingCoder()
        let host = CoderHost(configuration: HostConfiguration(directories: []))
        host.manager.addCoder(coder)
        let words = ["--sizes", "10,20,30", "-f", "pam,ppm", "-o", place.path + "/{stem}-{w}.{ext}"]
        let arguments = try ParsedArguments([place.file("in.count")] + words + changes, Self.command)

        let first = try ConvertJob(arguments, host: host).convert(place.file("in.count"), number: 0)

        #expect(coder.decodes == 1)
        let outcomes = [first] + first.others
        #expect(outcomes.map(\.output.size.width) == [10, 10, 20, 20, 30, 30])
        #expect(outcomes.map(\.output.format) == ["pam", "ppm", "pam", "ppm", "pam", "ppm"])
        for outcome in outcomes { #expect(try #require(readFile(outcome.output.name)).count > 100) }
    }

    /// A coder that halves images is asked for the size of the largest output only, and not if a part is cut first.
    @Test(arguments: [
        (["--sizes", "5,10,8"], PixelSize(20, 15)), (["--sizes", "5,20"], PixelSize(40, 30)),
        (["--sizes", "5,10", "--crop", "4:3"], PixelSize(40, 30)), (["--sizes", "10", "--trim"], PixelSize(40, 30)),
        (["--sizes", "10,90", "--enlarge"], PixelSize(40, 30)),
    ])
    func `decodes at the smallest size that serves the largest output`(changes: [String], size: PixelSize) throws {
        let place = TemporaryDirectory()
        place.write(Array("COUNT".utf8), to: "in.count")
        let coder = CountingCoder(roles: [.decode, .scale])
        let host = CoderHost(configuration: HostConfiguration(directories: []))
        host.manager.addCoder(coder)
        let words = ["-o", place.path + "/{stem}-{w}.ppm"] + changes
        let arguments = try ParsedArguments([place.file("in.count")] + words, Self.command)

        _ = try ConvertJob(arguments, host: host).convert(place.file("in.count"), number: 0)

        #expect(coder.sizes == [size])
    }

    /// Animations of all sizes are written together, and the still images are made of the first frame.
    @Test(arguments: [
        ([], [0, 1, 2, 3]), (["--trim-frames", "2..3"], [2, 3]),
        // The still images are made first, of the last frame.
        (["--reverse"], [0, 1, 2, 3, 3]),
        (["--crop", "3:1"], [0, 1, 2, 3]),
    ])
    func `decodes each frame of its input once`(changes: [String], expected: [Int]) throws {
        let place = TemporaryDirectory()
        place.write(Array("COUNT".utf8), to: "in.count")
        let coder = CountingCoder(roles: [.decode, .animation, .encodeAnimation], frames: 4)
        let host = CoderHost(configuration: HostConfiguration(directories: []))
        host.manager.addCoder(coder)
        let words = ["--sizes", "10,20,30", "-f", "count,ppm", "-o", place.path + "/{stem}-{w}.{ext}"]
        let arguments = try ParsedArguments([place.file("in.count")] + words + changes, Self.command)

        let first = try ConvertJob(arguments, host: host).convert(place.file("in.count"), number: 0)

        #expect(coder.frames.sorted() == expected, "\(coder.frames)")
        let outcomes = [first] + first.others
        #expect(outcomes.map(\.output.format) == ["count", "ppm", "count", "ppm", "count", "ppm"])
        #expect(outcomes.map(\.output.size.width) == [10, 10, 20, 20, 30, 30])
        let count = changes.first == "--trim-frames" ? 2 : 4
        for outcome in outcomes where outcome.output.format == "count" {
            let bytes = try #require(readFile(outcome.output.name))
            #expect(bytes.count == 5 + count * outcome.output.size.width * outcome.output.size.height * 3)
        }
    }
}

/// Decodes "COUNT" as an image of 40x30 pixels, or of half as many per side, and records the decoded sizes.
private final class CountingCoder: ImageCoder {
    private static let size = PixelSize(40, 30)
    private let decoded = Mutex<[(size: PixelSize, frame: Int)]>([])
    private let frameCount: Int
    let descriptor: CoderDescriptor

    init(roles: CoderRoles = [.decode], frames: Int = 1) {
        frameCount = frames
        descriptor = CoderDescriptor(
            id: "org.test.count", version: "1", tier: .user, roles: roles,
            formats: [
                PluginManifest.Format(
                    id: "count", name: "Count", extensions: ["count"],
                    signatures: [
                        Signature(
                            rules: [.bytes(at: 0, Array("COUNT".utf8), mask: [UInt8](repeating: 0xFF, count: 5))],
                            rank: 0)
                    ])
            ], priority: 100)
    }

    var sizes: [PixelSize] { decoded.withLock { $0.map(\.size) } }
    var frames: [Int] { decoded.withLock { $0.map(\.frame) } }
    var decodes: Int { sizes.count }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        Decoder(frameCount) { size, frame in self.decoded.withLock { $0.append((size, frame)) } }
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder { Encoder() }

    private final class Decoder: FrameDecoder {
        private let onDecode: (PixelSize, Int) -> Void
        private let count: Int
        private var next = 0

        init(_ count: Int, onDecode: @escaping (PixelSize, Int) -> Void) {
            (self.count, self.onDecode) = (count, onDecode)
        }

        func readHeader() throws(CoderError) -> ImageInfo {
            ImageInfo(size: CountingCoder.size, nativeFormat: .rgb8, frameCount: count)
        }
        func pixelFormats() throws(CoderError) -> [PixelFormat] { [.rgb8] }
        func nextFrame() throws(CoderError) -> FrameInfo? {
            if next == count { return nil }
            defer { next += 1 }
            return FrameInfo(index: next, rect: PixelRect(CountingCoder.size))
        }
        func scaledSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize {
            wanted.width <= 20 && wanted.height <= 15 ? PixelSize(20, 15) : CountingCoder.size
        }
        func seek(toFrame index: Int) throws(CoderError) -> Int {
            next = index
            return index
        }
        func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
            onDecode(place.rect.size, next - 1)
            for y in 0..<place.rect.height {
                place.withMutableRow(y) { row in
                    for x in 0..<place.rect.width * 3 {
                        row.storeBytes(of: UInt8(truncatingIfNeeded: 7 * x + 11 * y), toByteOffset: x, as: UInt8.self)
                    }
                }
            }
            return .complete
        }
    }

    /// Writes "COUNT" and the samples of all frames.
    private final class Encoder: FrameEncoder {
        private var sink: (any OutputSink)?

        func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat] { [.rgb8] }
        func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError) {
            self.sink = sink
            try Array("COUNT".utf8).withSpan { span throws(CoderError) in try sink.write(span) }
        }
        func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { false }
        func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError) {
            guard let sink else { throw CoderError(.misuse, "begin was not called") }
            try pixels.packed.withSpan { span throws(CoderError) in try sink.write(span) }
        }
        func finish() throws(CoderError) {}
    }
}
