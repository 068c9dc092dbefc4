package import HostSystem

/// A public key whose signatures the host accepts.
package struct TrustedKey: Sendable, Hashable {
    /// The 32 bytes of the key.
    package var bytes: [UInt8]
    /// The last day on which its signatures count, in days since 1970; nil if it never expires.
    package var expires: Int?
    /// The name chosen by its creator.
    package var name: String

    private static let title = "coderhost-public-key 1"
    private static let words = ["ed25519", "expires", "name"]

    package init(bytes: [UInt8], expires: Int?, name: String) {
        self.bytes = bytes
        self.expires = expires
        self.name = oneLine(name)
    }

    /// Parses a date into days since 1970; nil if the text is not a date.
    package static func lastDay(_ text: String) -> Int? { CivilTime.days(text) }
    /// The last day as a date; nil if the key never expires.
    package var lastDay: String? { expires.map(CivilTime.day) }

    /// Returns whether a text is a key id of 16 digits.
    package static func isIdentifier(_ text: String) -> Bool { hexBytes(text)?.count == 8 }

    /// Parses a `.pub` file.
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

    /// The id: the first 16 digits of the SHA-256 of the key.
    package var id: String { String(SHA256.hexDigest(of: bytes).prefix(16)) }

    func isExpired(_ milliseconds: Int) -> Bool { expires.map { milliseconds / 86_400_000 > $0 } ?? false }
}

/// A private key.
package struct SigningKey: Sendable {
    private let seed: [UInt8]
    private static let title = "coderhost-private-key 1"

    /// Creates a new key; nil if the system has no random numbers.
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

    /// Returns the signature file for a plugin; nil if signing fails.
    package func signature(ofPlugin id: String, _ hash: ContentHash) -> [UInt8]? {
        guard let key = publicKey(expires: nil, name: ""),
            let signature = Ed25519.sign(PluginSignature.message(id, hash), with: seed)
        else { return nil }
        return PluginSignature(key: key.id, plugin: id, hash: hash, signature: signature).file
    }
}
