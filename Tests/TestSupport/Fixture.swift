import Foundation
public import ImageModel
public import Testing

/// A file in `Fixtures/` with its expected properties.
public struct Fixture: Sendable, Hashable, Decodable {
    /// The expected result of a valid file; nil if unknown or if any result is acceptable.
    public struct Expectation: Sendable, Hashable, Decodable {
        /// The size before orientation is applied.
        public var width: Int
        /// The height before orientation is applied.
        public var height: Int
        /// The number of frames.
        public var frameCount: Int?
        /// The Exif orientation, 1–8.
        public var orientation: Int?
        /// Whether the image has an alpha channel.
        public var hasAlpha: Bool?
        /// Bits per sample.
        public var bitDepth: Int?
        /// `icc` if a profile is embedded.
        public var colorProfile: String?
        /// See ``PixelDigest``.
        public var pixelSHA256: String?
        /// The decoder that produced the digest.
        public var digestBy: String?

        /// The size before orientation is applied.
        public var size: PixelSize { PixelSize(width, height) }

        private enum CodingKeys: String, CodingKey {
            case width, height, orientation
            case frameCount = "frame_count"
            case hasAlpha = "has_alpha"
            case bitDepth = "bit_depth"
            case colorProfile = "color_profile"
            case pixelSHA256 = "pixel_sha256"
            case digestBy = "digest_by"
        }
    }

    /// The path below `Fixtures/`.
    public let name: String
    /// SHA-256 of the file.
    public let sha256: String
    /// Bytes of the file.
    public let byteCount: Int
    /// The format of the content, which the name may contradict; `none` if no coder accepts it.
    public let format: ImageFormat
    /// The license of the file.
    public let license: String
    /// The purpose of the file, one sentence.
    public let shows: String
    /// The expected result; nil if unknown.
    public let expect: Expectation?
    /// Codes of the acceptable errors; empty for a file that decodes.
    public let errors: [String]

    /// The absolute path.
    public var path: String { Repository.fixture(name) }

    /// The content; a missing file has no bytes, so its digest is wrong.
    public var bytes: [UInt8] { readFile(path) ?? [] }

    /// Whether the file must decode.
    public var isValid: Bool { errors.isEmpty }

    /// Whether an error is one of the expected ones.
    public func accepts(_ error: CoderError) -> Bool { errors.contains(error.code.description) }

    /// Decodes an entry of the manifest.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        name = try fields.decode(String.self, forKey: .name)
        sha256 = try fields.decode(String.self, forKey: .sha256)
        byteCount = try fields.decode(Int.self, forKey: .byteCount)
        format = ImageFormat(try fields.decode(String.self, forKey: .format))
        license = try fields.decode(String.self, forKey: .license)
        shows = try fields.decode(String.self, forKey: .shows)
        expect = try fields.decodeIfPresent(Expectation.self, forKey: .expect)
        if let one = try? fields.decode(String.self, forKey: .errors) {
            errors = [one]
        } else {
            errors = try fields.decodeIfPresent([String].self, forKey: .errors) ?? []
        }
    }

    private enum CodingKeys: String, CodingKey {
        case sha256, format, license, shows, expect
        case name = "path"
        case byteCount = "bytes"
        case errors = "error"
    }
}

extension Fixture: CustomTestStringConvertible {
    /// The name, for the output of tests.
    public var testDescription: String { name }
}

// MARK: Selection

extension Fixture {
    /// All entries of the manifest, in order.
    public static let all: [Fixture] = {
        struct Manifest: Decodable { var fixtures: [Fixture] }
        do {
            let manifest = try Data(contentsOf: URL(filePath: Repository.fixture("manifest.json")))
            return try JSONDecoder().decode(Manifest.self, from: manifest).fixtures
        } catch {
            fatalError("Fixtures/manifest.json cannot be used: \(error)")
        }
    }()

    /// The files that decode.
    public static let valid = all.filter(\.isValid)

    /// The files that must be rejected.
    public static let bad = all.filter { !$0.isValid }

    /// Returns the files of some formats that decode.
    public static func valid(_ formats: ImageFormat...) -> [Fixture] { valid.filter { formats.contains($0.format) } }

    /// Returns the files of some formats that must be rejected.
    public static func bad(_ formats: ImageFormat...) -> [Fixture] { bad.filter { formats.contains($0.format) } }

    /// Returns the file at a path below `Fixtures/`.
    public static func named(_ name: String) -> Fixture {
        guard let found = all.first(where: { $0.name == name }) else {
            fatalError("Fixtures/manifest.json has no entry for \(name)")
        }
        return found
    }
}
