/// The SHA-256 of a file, which identifies a plugin for trust, signatures and quarantine.
package struct ContentHash: Sendable, Hashable, CustomStringConvertible {
    /// The 32 bytes of the hash.
    package let bytes: [UInt8]

    /// Creates a hash; nil unless there are exactly 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Parses 64 lower-case hexadecimal digits.
    package init?(hex text: some StringProtocol) {
        guard let bytes = hexBytes(text), bytes.count == 32 else { return nil }
        self.bytes = bytes
    }

    /// Hashes an open file from its start.
    ///
    /// - Throws: SystemError if the file cannot be read or does not have `size` bytes.
    package init(of file: File, size: Int) throws(SystemError) {
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

    /// The hash as 64 lower-case hexadecimal digits, in the format of `sha256sum`.
    package var description: String { SHA256.hex(bytes) }
    /// The first 16 digits, enough to distinguish files by name.
    package var prefix: String { String(description.prefix(16)) }
}

/// Decodes lower-case hexadecimal digits; nil if the text contains anything else.
package func hexBytes(_ text: some StringProtocol) -> [UInt8]? {
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
