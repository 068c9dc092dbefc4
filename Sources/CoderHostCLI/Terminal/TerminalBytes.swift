extension [UInt8] {
    /// Appends text as UTF-8.
    mutating func add(_ text: String) { append(contentsOf: text.utf8) }

    /// Appends a non-negative number in decimal digits.
    mutating func add(_ number: Int) {
        if number < 10 { return append(0x30 &+ UInt8(truncatingIfNeeded: number)) }
        if number >= 1000 { return append(contentsOf: String(number).utf8) }
        if number >= 100 { append(0x30 &+ UInt8(truncatingIfNeeded: number / 100)) }
        append(0x30 &+ UInt8(truncatingIfNeeded: number / 10 % 10))
        append(0x30 &+ UInt8(truncatingIfNeeded: number % 10))
    }

    /// Appends a cursor movement; column and row count from 0.
    mutating func addMove(column: Int, row: Int) {
        append(0x1B)
        append(UInt8(ascii: "["))
        add(row + 1)
        append(UInt8(ascii: ";"))
        add(column + 1)
        append(UInt8(ascii: "H"))
    }

    /// Appends bytes in Base64 with padding.
    ///
    /// - Source: RFC 4648, 4.
    mutating func addBase64(_ bytes: ArraySlice<UInt8>) {
        reserveCapacity(count + (bytes.count + 2) / 3 * 4)
        var at = bytes.startIndex
        while at + 2 < bytes.endIndex {
            let group = Int(bytes[at]) << 16 | Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
            append(base64Letters[group >> 18])
            append(base64Letters[group >> 12 & 63])
            append(base64Letters[group >> 6 & 63])
            append(base64Letters[group & 63])
            at += 3
        }
        let left = bytes.endIndex - at
        guard left > 0 else { return }
        let group = Int(bytes[at]) << 16 | (left > 1 ? Int(bytes[at + 1]) << 8 : 0)
        append(base64Letters[group >> 18])
        append(base64Letters[group >> 12 & 63])
        append(left > 1 ? base64Letters[group >> 6 & 63] : UInt8(ascii: "="))
        append(UInt8(ascii: "="))
    }
}

private let base64Letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
