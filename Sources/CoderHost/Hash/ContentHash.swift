/// The SHA-256 of a whole file: what trust, signature and quarantine name a plugin by.
public struct ContentHash: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// Nil unless there are 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Reads 64 lower-case hexadecimal digits.
    public init?(hex text: some StringProtocol) {
        guard let bytes = hexBytes(text), bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Hashes an open file from its beginning.
    ///
    /// - Throws: SystemError where it cannot be read, or has not `size` bytes.
    init(of file: File, size: Int) throws(SystemError) {
        var hash = SHA256()
        var at = 0
        while at < size {
            let piece = try file.bytes(at: at, count: min(size - at, 256 << 10))
            // ESTALE: the file became shorter.
            if piece.isEmpty { throw SystemError.stale }
            hash.update(piece)
            at += piece.count
        }
        bytes = hash.finalize()
    }

    /// 64 lower-case hexadecimal digits, as `sha256sum` prints them.
    public var description: String { SHA256.hex(bytes) }
    /// Enough digits to tell one file from another in a name.
    var prefix: String { String(description.prefix(16)) }
}

/// The bytes that lower-case hexadecimal digits stand for; nil where there is anything else.
func hexBytes(_ text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    for at in stride(from: 0, to: digits.count, by: 2) {
        guard let high = value(digits[at]), let low = value(digits[at + 1]) else { return nil }
        bytes.append(high << 4 | low)
    }
    return bytes
}
