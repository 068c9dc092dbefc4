import ImageModel

/// Canonical spelling of host names.
enum HostName {
    /// Returns a host in lower-case ASCII, without brackets and trailing dot.
    ///
    /// Every notation that system libraries accept for an IPv4 address becomes that address. So the checked address is
    /// the one that would be connected to.
    /// - Throws: `.invalidURL`.
    /// - Source: WHATWG URL §3.5.
    static func canonical(_ text: Substring) throws(CoderError) -> (host: String, address: IPAddress?) {
        if text.hasPrefix("[") {
            let inner = String(text.dropFirst().dropLast())
            guard inner.contains(":"), let address = IPAddress(inner) else {
                throw WebAddress.invalid("the brackets do not contain an IPv6 address")
            }
            return (address.description, address)
        }
        var labels: [String] = []
        var whole = text
        if whole.hasSuffix(".") { whole = whole.dropLast() }
        for label in whole.split(separator: ".", omittingEmptySubsequences: false) {
            labels.append(try ascii(label))
        }
        let host = labels.joined(separator: ".")
        guard !host.isEmpty, host.utf8.count <= 253 else { throw WebAddress.invalid("the host is empty or too long") }
        if let last = labels.last, endsInNumber(last) {
            guard let address = numbers(labels) else {
                throw WebAddress.invalid("the host looks like an IPv4 address, but is not a valid one")
            }
            return (address.description, address)
        }
        return (host, nil)
    }

    /// Converts one label to ASCII.
    private static func ascii(_ label: Substring) throws(CoderError) -> String {
        guard !label.isEmpty else { throw WebAddress.invalid("a part of the host is empty") }
        let lower = label.lowercased()
        var result = lower
        if !lower.utf8.allSatisfy({ $0 < 0x80 }) {
            // Other characters would need normalization first, for example wide digits, ligatures and invisible
            // characters.
            let isPlain = lower.unicodeScalars.allSatisfy { scalar in
                let properties = scalar.properties
                return !properties.changesWhenNFKCCaseFolded && !properties.isDefaultIgnorableCodePoint
                    && !(200...240).contains(properties.canonicalCombiningClass.rawValue)
                    && (scalar.isASCII || properties.isXIDContinue)
            }
            guard isPlain else {
                throw CoderError(
                    .invalidURL, "the URL is not usable: the host has characters that change when they are normalized",
                    hint: "write the host in its ASCII form (xn--…)")
            }
            result = "xn--" + (try Punycode.encoded(lower))
        }
        // Host names must not contain underscores, but many do.
        let isHost = result.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 97...122, UInt8(ascii: "-"), UInt8(ascii: "_"): true
            default: false
            }
        }
        guard isHost else { throw WebAddress.invalid("the host has characters that are not allowed") }
        guard result.utf8.count <= 63 else { throw WebAddress.invalid("a part of the host is too long") }
        return result
    }

    private static func endsInNumber(_ last: String) -> Bool {
        if last.utf8.allSatisfy({ (48...57).contains($0) }) { return true }
        return last.hasPrefix("0x") && last.utf8.dropFirst(2).allSatisfy { Hex.value($0) != nil }
    }

    /// Parses one to four decimal, octal or hexadecimal numbers; the last one fills the remaining bytes.
    private static func numbers(_ labels: [String]) -> IPAddress? {
        guard labels.count <= 4 else { return nil }
        var values: [UInt64] = []
        for label in labels {
            let value: UInt64?
            if label == "0x" {
                value = 0
            } else if label.hasPrefix("0x") {
                value = UInt64(label.dropFirst(2), radix: 16)
            } else if label.hasPrefix("0"), label.utf8.count > 1 {
                value = UInt64(label.dropFirst(), radix: 8)
            } else {
                value = UInt64(label, radix: 10)
            }
            guard let value, !label.hasPrefix("-"), !label.hasPrefix("+") else { return nil }
            values.append(value)
        }
        guard let last = values.popLast(), values.allSatisfy({ $0 < 256 }),
            last < 1 << UInt64(8 * (4 - values.count))
        else { return nil }
        var result = UInt32(last)
        for (index, value) in values.enumerated() { result |= UInt32(value) << UInt32(24 - 8 * index) }
        return IPAddress(v4: result)
    }
}

/// Encodes labels with characters outside of ASCII.
///
/// - Source: RFC 3492 §5, §6.
enum Punycode {
    static func encoded(_ label: String) throws(CoderError) -> String {
        let scalars = label.unicodeScalars.map { Int($0.value) }
        var output = scalars.filter { $0 < 0x80 }.map { UInt8($0) }
        let basic = output.count
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        var (n, delta, bias, handled) = (0x80, 0, 72, basic)
        guard scalars.count <= 63 else { throw WebAddress.invalid("a part of the host is too long") }
        while handled < scalars.count {
            guard let next = scalars.filter({ $0 >= n }).min() else { break }
            delta += (next - n) * (handled + 1)
            n = next
            for scalar in scalars {
                if scalar < n { delta += 1 }
                guard scalar == n else { continue }
                var q = delta
                var k = 36
                while true {
                    let t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias
                    if q < t { break }
                    output.append(digit(t + (q - t) % (36 - t)))
                    q = (q - t) / (36 - t)
                    k += 36
                }
                output.append(digit(q))
                bias = adapted(delta, handled + 1, isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta += 1
            n += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func digit(_ value: Int) -> UInt8 { UInt8(value < 26 ? value + 97 : value + 22) }

    private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / count
        var k = 0
        while delta > 455 {
            delta /= 35
            k += 36
        }
        return k + 36 * delta / (delta + 38)
    }
}
