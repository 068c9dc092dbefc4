import Foundation
public import ImageModel
public import Testing

/// A file under `Fixtures/` with what is known of it.
public struct Fixture: Sendable, Hashable, Decodable {
    /// What must come out of a file that decodes; nil where nothing is known or any answer will do.
    public struct Expectation: Sendable, Hashable, Decodable {
        /// Before orientation.
        public var width: Int
        public var height: Int
        public var frameCount: Int?
        public var orientation: Int?
        public var hasAlpha: Bool?
        public var bitDepth: Int?
        /// `icc` where a profile is embedded.
        public var colorProfile: String?
        /// See ``PixelDigest``.
        public var pixelSHA256: String?
        /// The decoder that the digest comes from.
        public var digestBy: String?

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

    /// Where it stands below `Fixtures/`.
    public let name: String
    public let sha256: String
    public let byteCount: Int
    /// The format of the content, whatever the name says; `none` for what no coder should take.
    public let format: ImageFormat
    public let license: String
    /// What it is there for, one sentence.
    public let shows: String
    public let expect: Expectation?
    /// Names of error codes of which one must be reported; empty for a file that decodes.
    public let errors: [String]

    public var path: String { Repository.fixture(name) }

    /// The content; a missing file is reported as a file without bytes that does not have its digest.
    public var bytes: [UInt8] { readFile(path) ?? [] }

    public var isValid: Bool { errors.isEmpty }

    /// Whether a failure is one of those that the file must cause.
    public func accepts(_ error: CoderError) -> Bool { errors.contains(error.code.description) }

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
    public var testDescription: String { name }
}

// MARK: Which ones

extension Fixture {
    /// Every entry of the manifest, in its order.
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

    /// The files that must be refused.
    public static let bad = all.filter { !$0.isValid }

    /// The files that decode, of some formats.
    public static func valid(_ formats: ImageFormat...) -> [Fixture] { valid.filter { formats.contains($0.format) } }

    /// The files that must be refused, of some formats.
    public static func bad(_ formats: ImageFormat...) -> [Fixture] { bad.filter { formats.contains($0.format) } }

    /// The file that stands at `name` below `Fixtures/`.
    public static func named(_ name: String) -> Fixture {
        guard let found = all.first(where: { $0.name == name }) else {
            fatalError("Fixtures/manifest.json has no entry for \(name)")
        }
        return found
    }
}
