import CSignature

/// Ed25519 signatures.
///
/// - Source: RFC 8032; libsodium rejects ambiguous signatures.
enum Ed25519 {
    package static let keyBytes = Int(CODER_SIGNATURE_KEY_BYTES)
    static let signatureBytes = Int(CODER_SIGNATURE_BYTES)

    /// Returns a new private key; nil if the system has no random numbers.
    static func newSeed() -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: keyBytes)
        var seed = [UInt8](repeating: 0, count: keyBytes)
        return unsafe coder_signature_new_pair(&key, &seed) == 0 ? seed : nil
    }

    /// Returns the public key of a private key.
    package static func publicKey(of seed: [UInt8]) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: keyBytes)
        guard seed.count == keyBytes, unsafe coder_signature_public_key(seed, &key) == 0 else { return nil }
        return key
    }

    package static func sign(_ message: [UInt8], with seed: [UInt8]) -> [UInt8]? {
        var signature = [UInt8](repeating: 0, count: signatureBytes)
        guard seed.count == keyBytes, unsafe coder_signature_sign(seed, message, message.count, &signature) == 0 else {
            return nil
        }
        return signature
    }

    package static func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
        guard signature.count == signatureBytes, key.count == keyBytes else { return false }
        return unsafe coder_signature_verify(key, message, message.count, signature) == 0
    }
}
