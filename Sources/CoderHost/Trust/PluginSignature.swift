/// What `libcoder-x.so.sig` says of `libcoder-x.so`.
///
///     coderhost-signature 1
///     key      16 digits
///     plugin   the manifest's id
///     sha256   of the whole file
///     ed25519  of "coderhost-plugin-signature-1", NUL, the id, NUL, the 32 bytes of the hash
struct PluginSignature {
    var key: String
    var plugin: String
    var hash: ContentHash
    var signature: [UInt8]

    private static let title = "coderhost-signature 1"
    private static let words = ["key", "plugin", "sha256", "ed25519"]

    init(key: String, plugin: String, hash: ContentHash, signature: [UInt8]) {
        self.key = key
        self.plugin = plugin
        self.hash = hash
        self.signature = signature
    }

    init?(file: [UInt8]) {
        guard let document = LineDocument(file, title: Self.title, words: Self.words),
            let key = document["key"], hexBytes(key)?.count == 8, let plugin = document["plugin"],
            let hash = ContentHash(hex: document["sha256"] ?? ""),
            let signature = hexBytes(document["ed25519"] ?? ""), signature.count == Ed25519.signatureBytes
        else { return nil }
        self.init(key: key, plugin: plugin, hash: hash, signature: signature)
    }

    var file: [UInt8] {
        LineDocument(
            Self.title,
            [("key", key), ("plugin", plugin), ("sha256", hash.description), ("ed25519", SHA256.hex(signature))]
        ).bytes
    }

    static func message(_ plugin: String, _ hash: ContentHash) -> [UInt8] {
        Array("coderhost-plugin-signature-1\0\(plugin)\0".utf8) + hash.bytes
    }

    /// What it is worth for a file.
    static func examine(
        _ file: [UInt8]?, plugin: String?, _ hash: ContentHash, _ store: TrustStore
    ) -> SignatureState {
        guard let file, let signature = PluginSignature(file: file) else { return .invalid("it cannot be understood") }
        if signature.plugin != plugin { return .invalid("it is for the plugin \(signature.plugin)") }
        if signature.hash != hash { return .invalid("the file is not the one that was signed") }
        if store.isRevoked(signature.key) { return .revoked(signature.key) }
        guard let key = store.key(signature.key) else { return .unknownKey(signature.key) }
        guard Ed25519.verify(signature.signature, of: message(signature.plugin, hash), by: key.bytes) else {
            return .invalid("the key \(signature.key) did not make it")
        }
        if let day = key.expires, key.isExpired(store.now) { return .expired(key.id, CivilTime.day(day)) }
        return .valid(key.id)
    }
}

/// What the signature of a plugin is worth.
public enum SignatureState: Sendable, Hashable {
    case none
    /// By a trusted key.
    case valid(String)
    case unknownKey(String)
    /// By a trusted key, on whose last day it ended.
    case expired(String, String)
    case revoked(String)
    case invalid(String)

    /// The word in JSON.
    public var word: String {
        switch self {
        case .none: "none"
        case .valid: "valid"
        case .unknownKey: "unknown-key"
        case .expired: "expired"
        case .revoked: "revoked"
        case .invalid: "invalid"
        }
    }

    /// The key that it names.
    public var key: String? {
        switch self {
        case .none, .invalid: nil
        case .valid(let key), .unknownKey(let key), .expired(let key, _), .revoked(let key): key
        }
    }

    public var isValid: Bool { if case .valid = self { true } else { false } }

    /// Why it is worth nothing; nil where it is valid or there is none.
    public var flaw: String? {
        switch self {
        case .none, .valid: nil
        case .unknownKey(let key): "the key \(key) that signed it is not trusted"
        case .expired(let key, let day): "the key \(key) that signed it expired on \(day)"
        case .revoked(let key): "the key \(key) that signed it was revoked"
        case .invalid(let why): "its signature does not hold: \(why)"
        }
    }
}
