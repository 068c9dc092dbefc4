import CSignature

/// Signatures by Ed25519.
///
/// - Source: RFC 8032; libsodium rejects what of it is ambiguous.
enum Ed25519 {
    static let keyBytes = Int(CODER_SIGNATURE_KEY_BYTES)
    static let signatureBytes = Int(CODER_SIGNATURE_BYTES)

    /// A new private key; nil where the system has no random numbers.
    static func newSeed() -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: keyBytes)
        var seed = [UInt8](repeating: 0, count: keyBytes)
        return unsafe coder_signature_new_pair(&key, &seed) == 0 ? seed : nil
    }

    /// The public key that belongs to a private one.
    static func publicKey(of seed: [UInt8]) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: keyBytes)
        guard seed.count == keyBytes, unsafe coder_signature_public_key(seed, &key) == 0 else { return nil }
        return key
    }

    static func sign(_ message: [UInt8], with seed: [UInt8]) -> [UInt8]? {
        var signature = [UInt8](repeating: 0, count: signatureBytes)
        guard seed.count == keyBytes, unsafe coder_signature_sign(seed, message, message.count, &signature) == 0 else {
            return nil
        }
        return signature
    }

    static func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
        guard signature.count == signatureBytes, key.count == keyBytes else { return false }
        return unsafe coder_signature_verify(key, message, message.count, signature) == 0
    }
}
