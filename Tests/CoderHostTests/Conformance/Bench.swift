import CoderHost
import ImageModel
import TestSupport
import Testing

/// The built plugins, used like an application uses them.
enum Bench {
    /// Runs plugins in this process even with a short time limit, because sanitizers cannot see into workers.
    static let host = testHost(Repository.products)
    static var manager: CodersManager { host.manager }

    static func source(_ fixture: Fixture) -> ImageSource { ImageSource(fixture.bytes, name: fixture.name) }

    static func decode(_ fixture: Fixture) throws -> DecodedImage { try manager.decode(source(fixture)) }
    static func decode(_ name: String) throws -> DecodedImage { try decode(Fixture.named(name)) }
    static func decode(_ bytes: [UInt8]) throws -> DecodedImage { try manager.decode(ImageSource(bytes)) }

    /// Encodes an image and returns the warnings.
    static func encode(
        _ image: DecodedImage, to format: ImageFormat, options: CoderOptions = CoderOptions()
    ) throws -> (bytes: [UInt8], warnings: [String]) {
        let sink = MemorySink()
        let report = try manager.encode(image, to: format, options: options, into: sink)
        return (sink.bytes, report.warnings)
    }

    /// Encodes and decodes an image.
    static func passThrough(
        _ image: DecodedImage, _ format: ImageFormat, options: CoderOptions = CoderOptions()
    ) throws -> DecodedImage {
        try decode(encode(image, to: format, options: options).bytes)
    }

    /// Returns the code of the error that `body` throws; nil if it throws none.
    static func code(_ body: () throws -> Void) -> CoderError.Code? {
        do {
            try body()
            return nil
        } catch let error as CoderError {
            return error.code
        } catch {
            Issue.record("not a typed error: \(error)")
            return nil
        }
    }

    /// A writable format, with options for minimal loss.
    struct Target: Sendable, CustomTestStringConvertible {
        var format: ImageFormat
        var options: CoderOptions
        /// The largest mean difference of a sample, of 255.
        var tolerance: Double
        var testDescription: String { format.id }
    }

    static let targets = [
        Target(format: "png", options: [:], tolerance: 0),
        Target(format: "jpeg", options: ["quality": .integer(100), "jpeg.subsampling": .string("444")], tolerance: 1),
        Target(format: "webp", options: ["lossless": .bool(true)], tolerance: 0),
        // A single image is a still. GIF has at most 256 colors.
        Target(format: "gif", options: ["gif.dither": .string("none")], tolerance: 6),
        Target(format: "heic", options: ["lossless": .bool(true)], tolerance: 0),
        Target(format: "avif", options: ["lossless": .bool(true)], tolerance: 0),
        Target(format: "farbfeld", options: [:], tolerance: 0),
        Target(format: "bmp", options: [:], tolerance: 0),
        Target(format: "tiff", options: [:], tolerance: 0),
        Target(format: "qoi", options: [:], tolerance: 0),
        Target(format: "tga", options: [:], tolerance: 0),
        Target(format: "jxl", options: ["lossless": .bool(true)], tolerance: 0),
        Target(format: "pam", options: [:], tolerance: 0),
        Target(format: "pnm", options: [:], tolerance: 0),
    ]

    static func target(_ format: ImageFormat) -> Target { targets.first { $0.format == format }! }
}

/// 8-bit RGBA pixels for comparison.
struct Pixels: Equatable {
    var width: Int
    var height: Int
    var samples: [UInt8]

    init(width: Int, height: Int, samples: [UInt8]) {
        self.width = width
        self.height = height
        self.samples = samples
    }

    init(_ buffer: PixelBuffer) throws {
        width = buffer.size.width
        height = buffer.size.height
        samples = PixelDigest.rgba8(buffer)
    }

    var size: PixelSize { PixelSize(width, height) }

    subscript(x: Int, y: Int) -> [UInt8] {
        let at = (y * width + x) * 4
        return Array(samples[at..<at + 4])
    }

    /// The image turned upright.
    ///
    /// - Source: CIPA DC-008, tag 0x0112: the visual sides of the 0th row and the 0th column.
    func upright(_ orientation: Int) -> Pixels {
        let swaps = orientation >= 5
        var result = Pixels(
            width: swaps ? height : width, height: swaps ? width : height, samples: samples.map { _ in 0 })
        for row in 0..<height {
            for column in 0..<width {
                let (right, bottom) = (width - 1 - column, height - 1 - row)
                let (x, y) =
                    switch orientation {
                    case 1: (column, row)  // 0th row top, 0th column left
                    case 2: (right, row)  // top, right
                    case 3: (right, bottom)  // bottom, right
                    case 4: (column, bottom)  // bottom, left
                    case 5: (row, column)  // left, top
                    case 6: (bottom, column)  // right, top
                    case 7: (bottom, right)  // right, bottom
                    default: (row, right)  // left, bottom
                    }
                let (from, to) = ((row * width + column) * 4, (y * result.width + x) * 4)
                for channel in 0..<4 { result.samples[to + channel] = samples[from + channel] }
            }
        }
        return result
    }

    /// The mean difference of a sample; infinite for different sizes.
    func difference(_ other: Pixels) -> Double {
        guard width == other.width, height == other.height else { return .infinity }
        let sum = zip(samples, other.samples).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        return Double(sum) / Double(samples.count)
    }
}

extension DecodedImage {
    /// The upright pixels.
    func seen() throws -> Pixels {
        let pixels = try Pixels(self.pixels)
        return info.orientationApplied ? pixels : pixels.upright(info.orientation?.rawValue ?? 1)
    }

    func blob(_ kind: MetadataBlob.Kind) -> [UInt8]? { metadata.first { $0.kind == kind }?.bytes }

    /// Creates a computed image.
    static func made(
        _ width: Int, _ height: Int, _ format: PixelFormat, _ sample: (_ x: Int, _ y: Int, _ channel: Int) -> UInt8
    ) throws -> DecodedImage {
        let buffer = try PixelBuffer(size: PixelSize(width, height), format: format)
        let channels = format.channels.count
        for y in 0..<height {
            buffer.withMutableRow(y) { row in
                for x in 0..<width {
                    for channel in 0..<channels {
                        row.storeBytes(of: sample(x, y, channel), toByteOffset: x * channels + channel, as: UInt8.self)
                    }
                }
            }
        }
        return DecodedImage(
            info: ImageInfo(size: buffer.size, nativeFormat: format), pixels: buffer, format: "pam", coder: "test")
    }
}

/// The images of SDWebImage, if present.
struct ForeignImage: Sendable, CustomTestStringConvertible {
    static let folder = "\(Repository.root)/../shared/corpus/open/sdwebimage/Tests/Tests/Images"
    /// In a git work tree, the corpus is one folder further up.
    static let otherFolder = "\(Repository.root)/../../shared/corpus/open/sdwebimage/Tests/Tests/Images"

    var name: String
    var testDescription: String { name }

    init(_ name: String) { self.name = name }

    var bytes: [UInt8]? { readFile("\(Self.folder)/\(name)") ?? readFile("\(Self.otherFolder)/\(name)") }

    func decode() throws -> DecodedImage { try Bench.decode(try #require(bytes)) }

    static let areThere = ForeignImage("TestImage.jpg").bytes != nil
}
