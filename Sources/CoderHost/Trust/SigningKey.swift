/// Somebody whose signatures are believed.
public struct TrustedKey: Sendable, Hashable {
    /// 32 bytes.
    var bytes: [UInt8]
    /// The last day on which its signatures count, in days since 1970; nil for ever.
    public var expires: Int?
    /// Whatever its maker calls it.
    public var name: String

    private static let title = "coderhost-public-key 1"
    private static let words = ["ed25519", "expires", "name"]

    init(bytes: [UInt8], expires: Int?, name: String) {
        self.bytes = bytes
        self.expires = expires
        self.name = oneLine(name)
    }

    /// A day as people write it, in days since 1970; nil for what is none.
    package static func lastDay(_ text: String) -> Int? { CivilTime.days(text) }
    /// The last day as people write it; nil for ever.
    package var lastDay: String? { expires.map(CivilTime.day) }

    /// Whether it is the 16 digits of a key.
    package static func isIdentifier(_ text: String) -> Bool { hexBytes(text)?.count == 8 }

    /// Reads a `.pub` file.
    package init?(file: [UInt8]) {
        guard let document = LineDocument(file, title: Self.title, words: Self.words),
            let bytes = hexBytes(document["ed25519"] ?? ""), bytes.count == Ed25519.keyBytes,
            let name = document["name"], let day = document["expires"]
        else { return nil }
        self.init(bytes: bytes, expires: CivilTime.days(day), name: name)
        if expires == nil && day != "never" { return nil }
    }

    package var file: [UInt8] {
        LineDocument(
            Self.title,
            [("ed25519", SHA256.hex(bytes)), ("expires", expires.map(CivilTime.day) ?? "never"), ("name", name)]
        ).bytes
    }

    /// 16 digits: the beginning of the SHA-256 of the key.
    public var id: String { String(SHA256.hexDigest(of: bytes).prefix(16)) }

    func isExpired(_ milliseconds: Int) -> Bool { expires.map { milliseconds / 86_400_000 > $0 } ?? false }
}

/// A private key.
package struct SigningKey: Sendable {
    private let seed: [UInt8]
    private static let title = "coderhost-private-key 1"

    /// A new one; nil where the system has no random numbers.
    package init?() {
        guard let seed = Ed25519.newSeed() else { return nil }
        self.seed = seed
    }

    package init?(file: [UInt8]) {
        guard let document = LineDocument(file, title: Self.title, words: ["ed25519"]),
            let seed = hexBytes(document["ed25519"] ?? ""), seed.count == Ed25519.keyBytes
        else { return nil }
        self.seed = seed
    }

    package var file: [UInt8] { LineDocument(Self.title, [("ed25519", SHA256.hex(seed))]).bytes }

    package func publicKey(expires: Int?, name: String) -> TrustedKey? {
        Ed25519.publicKey(of: seed).map { TrustedKey(bytes: $0, expires: expires, name: name) }
    }

    /// The signature file of a plugin; nil when signing fails.
    package func signature(ofPlugin id: String, _ hash: ContentHash) -> [UInt8]? {
        guard let key = publicKey(expires: nil, name: ""),
            let signature = Ed25519.sign(PluginSignature.message(id, hash), with: seed)
        else { return nil }
        return PluginSignature(key: key.id, plugin: id, hash: hash, signature: signature).file
    }
}
