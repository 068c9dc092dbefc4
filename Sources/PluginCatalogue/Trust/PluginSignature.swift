import HostSystem

/// The content of a signature file such as `libcoder-x.so.sig`.
///
///     coderhost-signature 1
///     key      16 digits
///     plugin   the manifest's id
///     sha256   of the whole file
///     ed25519  of "coderhost-plugin-signature-1", NUL, the id, NUL, the 32 bytes of the hash
struct PluginSignature {
    package var key: String
    package var plugin: String
    package var hash: ContentHash
    package var signature: [UInt8]

    private static let title = "coderhost-signature 1"
    private static let words = ["key", "plugin", "sha256", "ed25519"]

    package init(key: String, plugin: String, hash: ContentHash, signature: [UInt8]) {
        self.key = key
        self.plugin = plugin
        self.hash = hash
        self.signature = signature
    }

    package init?(file: [UInt8]) {
        guard let document = LineDocument(file, title: Self.title, words: Self.words),
            let key = document["key"], hexBytes(key)?.count == 8, let plugin = document["plugin"],
            let hash = ContentHash(hex: document["sha256"] ?? ""),
            let signature = hexBytes(document["ed25519"] ?? ""), signature.count == Ed25519.signatureBytes
        else { return nil }
        self.init(key: key, plugin: plugin, hash: hash, signature: signature)
    }

    package var file: [UInt8] {
        LineDocument(
            Self.title,
            [("key", key), ("plugin", plugin), ("sha256", hash.description), ("ed25519", SHA256.hex(signature))]
        ).bytes
    }

    package static func message(_ plugin: String, _ hash: ContentHash) -> [UInt8] {
        Array("coderhost-plugin-signature-1\0\(plugin)\0".utf8) + hash.bytes
    }

    /// Verifies a signature file against a plugin file.
    package static func examine(
        _ file: [UInt8]?, plugin: String?, _ hash: ContentHash, _ store: TrustStore
    ) -> SignatureState {
        guard let file, let signature = PluginSignature(file: file) else { return .invalid("its file is malformed") }
        if signature.plugin != plugin { return .invalid("it is for the plugin \(signature.plugin)") }
        if signature.hash != hash { return .invalid("the file differs from the signed file") }
        if store.isRevoked(signature.key) { return .revoked(signature.key) }
        guard let key = store.key(signature.key) else { return .unknownKey(signature.key) }
        guard Ed25519.verify(signature.signature, of: message(signature.plugin, hash), by: key.bytes) else {
            return .invalid("the key \(signature.key) did not create it")
        }
        if let day = key.expires, key.isExpired(store.now) { return .expired(key.id, CivilTime.day(day)) }
        return .valid(key.id)
    }
}

/// The result of verifying the signature of a plugin.
package enum SignatureState: Sendable, Hashable {
    case none
    /// Signed by this trusted key.
    case valid(String)
    case unknownKey(String)
    /// Signed by a trusted key that expired on this day.
    case expired(String, String)
    case revoked(String)
    case invalid(String)

    /// The name in JSON.
    package var word: String {
        switch self {
        case .none: "none"
        case .valid: "valid"
        case .unknownKey: "unknown-key"
        case .expired: "expired"
        case .revoked: "revoked"
        case .invalid: "invalid"
        }
    }

    /// The id of the key in the signature.
    package var key: String? {
        switch self {
        case .none, .invalid: nil
        case .valid(let key), .unknownKey(let key), .expired(let key, _), .revoked(let key): key
        }
    }

    /// Whether a trusted key signed the plugin.
    package var isValid: Bool { if case .valid = self { true } else { false } }

    /// The reason why the signature is not accepted; nil if it is valid or missing.
    package var flaw: String? {
        switch self {
        case .none, .valid: nil
        case .unknownKey(let key): "the key \(key) that signed it is not trusted"
        case .expired(let key, let day): "the key \(key) that signed it expired on \(day)"
        case .revoked(let key): "the key \(key) that signed it was revoked"
        case .invalid(let why): "its signature is invalid: \(why)"
        }
    }
}
