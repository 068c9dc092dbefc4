import ImageModel

/// An IPv4 or IPv6 address.
package struct IPAddress: Sendable, Hashable, CustomStringConvertible {
    /// Whether it is an IPv6 address.
    package let isV6: Bool
    /// The address as a number; the first byte is the most significant.
    package let value: UInt128

    init(v4 value: UInt32) {
        isV6 = false
        self.value = UInt128(value)
    }

    init(v6 value: UInt128) {
        isV6 = true
        self.value = value
    }

    /// Creates an address from 4 or 16 bytes in network order.
    init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        isV6 = bytes.count == 16
        value = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// Parses four decimal numbers without leading zeros, or IPv6 without brackets and zone.
    ///
    /// - Source: RFC 6943 §3.1.1 (strict form), RFC 4291 §2.2.
    package init?(_ text: String) {
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard let value = Self.v6(text) else { return nil }
            self.init(v6: value)
        } else {
            guard let value = Self.v4(text[...]) else { return nil }
            self.init(v4: value)
        }
    }

    private static func v4(_ text: Substring) -> UInt32? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var value: UInt32 = 0
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy({ (48...57).contains($0) }),
                part.count == 1 || part.first != 48
            else { return nil }
            let number = part.reduce(0) { $0 * 10 + UInt32($1 - 48) }
            guard number < 256 else { return nil }
            value = value << 8 | number
        }
        return value
    }

    private static func v6(_ text: String) -> UInt128? {
        /// Parses the groups on one side of `::`; an IPv4 address at the end counts as two groups.
        func groups(_ side: Substring, allowsV4: Bool) -> [UInt16]? {
            if side.isEmpty { return [] }
            var result: [UInt16] = []
            let parts = side.split(separator: ":", omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() {
                if part.utf8.contains(UInt8(ascii: ".")) {
                    guard allowsV4, index == parts.count - 1, let v4 = v4(part) else { return nil }
                    result += [UInt16(v4 >> 16), UInt16(truncatingIfNeeded: v4)]
                    continue
                }
                let digits = part.utf8
                guard (1...4).contains(digits.count), digits.allSatisfy({ Hex.value($0) != nil }),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                result.append(group)
            }
            return result
        }
        var all: [UInt16]
        if let gap = text.firstRange(of: "::") {
            let (head, tail) = (text[..<gap.lowerBound], text[gap.upperBound...])
            guard !tail.hasPrefix(":"), let before = groups(head, allowsV4: false),
                let after = groups(tail, allowsV4: true), before.count + after.count < 8
            else { return nil }
            all = before + Array(repeating: 0, count: 8 - before.count - after.count) + after
        } else {
            guard let groups = groups(text[...], allowsV4: true), groups.count == 8 else { return nil }
            all = groups
        }
        return all.reduce(0) { $0 << 16 | UInt128($1) }
    }

    /// The address in its shortest form.
    ///
    /// - Source: RFC 5952 §4.
    package var description: String {
        guard isV6 else {
            return stride(from: 24, through: 0, by: -8).map { "\(UInt8(truncatingIfNeeded: value >> UInt128($0)))" }
                .joined(separator: ".")
        }
        let groups = stride(from: 112, through: 0, by: -16).map { UInt16(truncatingIfNeeded: value >> UInt128($0)) }
        var longest = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > max(1, longest.count) { longest = start..<end }
            start = end + 1
        }
        func text(_ part: ArraySlice<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        if longest.isEmpty { return text(groups[...]) }
        return text(groups[..<longest.lowerBound]) + "::" + text(groups[longest.upperBound...])
    }
}

/// A network: all addresses with the same leading bits.
package struct IPNetwork: Sendable, Hashable, CustomStringConvertible {
    /// An address of the network.
    package let address: IPAddress
    /// The number of leading bits.
    package let prefixLength: Int

    /// Parses `10.0.0.0/8`, `fc00::/7`, or a single address.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        let width = address.isV6 ? 128 : 32
        let length = parts.count == 2 ? Int(parts[1]) : width
        guard let length, (0...width).contains(length) else { return nil }
        self.address = address
        prefixLength = length
    }

    /// Whether an address belongs to the network.
    package func contains(_ other: IPAddress) -> Bool {
        guard address.isV6 == other.isV6 else { return false }
        let rest = UInt128((address.isV6 ? 128 : 32) - prefixLength)
        // Shifting by all bits results in 0 on both sides.
        return address.value >> rest == other.value >> rest
    }

    /// The network as `address/prefix`.
    package var description: String { "\(address)/\(prefixLength)" }
}

/// Hexadecimal digits.
enum Hex {
    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 48...57: digit - 48
        case 65...70: digit - 55
        case 97...102: digit - 87
        default: nil
        }
    }

    static let digits = Array("0123456789ABCDEF".utf8)
}
