import ImageModel

/// A parsed and canonical `http` or `https` URL.
///
/// URLs that parsers are known to read in different ways are rejected: with backslashes, control characters, more than
/// one `@`, or a percent sign in the host.
struct WebAddress: Sendable, Hashable {
    enum Scheme: String, Sendable, Hashable {
        case http, https

        var defaultPort: Int { self == .http ? 80 : 443 }
    }

    /// Scheme, host and port; credentials and cookies belong to an origin.
    struct Origin: Sendable, Hashable, CustomStringConvertible {
        var scheme: Scheme
        var host: String
        var port: Int

        var description: String {
            "\(scheme.rawValue)://\(authority)"
        }
    }

    let scheme: Scheme
    /// Lower case, without brackets and trailing dot; an IP address in canonical form.
    let host: String
    /// The host as an IP address; nil for a name.
    let address: IPAddress?
    let port: Int
    /// Whether the text contains the port.
    let hasPort: Bool
    /// Path and query as they are sent.
    let target: String
    /// `user:password`, percent-decoded; not part of ``text``.
    let userInfo: Credential?

    var origin: Origin { Origin(scheme: scheme, host: host, port: port) }
    /// The URL without user and password.
    var text: String { "\(origin)\(target)" }
    /// The URL for logs and messages: without user, password and query, which may contain secrets.
    var redacted: String {
        guard let end = target.firstIndex(of: "?") else { return text }
        return "\(origin)\(target[..<end])?…"
    }
    /// The path without the query.
    var path: String { String(target.prefix { $0 != "?" }) }
    /// The name of the image in error messages; ends with the file extension if there is one.
    var sourceName: String { "\(origin)\(path)" }

    /// Parses a URL.
    ///
    /// - Throws: `.invalidURL`.
    init(_ text: String) throws(CoderError) {
        guard let colon = text.firstIndex(of: ":"), let scheme = Scheme(rawValue: text[..<colon].lowercased()) else {
            throw Self.invalid("it does not begin with http:// or https://")
        }
        try self.init(scheme: scheme, rest: text[text.index(after: colon)...])
    }

    /// Parses the text behind the colon of the scheme.
    private init(scheme: Scheme, rest text: Substring) throws(CoderError) {
        guard text.hasPrefix("//") else { throw Self.invalid("there is no // after the scheme") }
        guard text.unicodeScalars.allSatisfy({ $0.value > 0x1F && $0.value != 0x7F }) else {
            throw Self.invalid("it contains control characters")
        }
        self.scheme = scheme
        let rest = text.dropFirst(2)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        var authority = rest[..<end]
        guard !authority.contains(where: { $0 == "\\" || $0 == " " }) else {
            throw Self.invalid("the host contains a backslash or a space")
        }
        if let at = authority.firstIndex(of: "@") {
            guard authority.firstIndex(of: "@") == authority.lastIndex(of: "@") else {
                throw Self.invalid("there is more than one @ before the path")
            }
            let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            userInfo = Credential(
                user: Percent.decoded(parts[0]), password: parts.count > 1 ? Percent.decoded(parts[1]) : "")
            authority = authority[authority.index(after: at)...]
        } else {
            userInfo = nil
        }
        let name: Substring
        var portText: Substring?
        if authority.hasPrefix("[") {
            guard let close = authority.firstIndex(of: "]") else { throw Self.invalid("a bracket is not closed") }
            name = authority[...close]
            let behind = authority[authority.index(after: close)...]
            guard behind.isEmpty || behind.hasPrefix(":") else { throw Self.invalid("text follows the bracket") }
            portText = behind.isEmpty ? nil : behind.dropFirst()
        } else {
            let parts = authority.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            name = parts.first ?? ""
            portText = parts.count > 1 ? parts[1] : nil
        }
        (host, address) = try HostName.canonical(name)
        if let portText, !portText.isEmpty {
            guard portText.utf8.count <= 5, portText.utf8.allSatisfy({ (48...57).contains($0) }),
                let number = Int(portText), (1...65535).contains(number)
            else { throw Self.invalid("the port is not a number from 1 to 65535") }
            port = number
            hasPort = true
        } else {
            port = scheme.defaultPort
            hasPort = false
        }
        target = Self.target(rest[end...])
    }

    /// Resolves a URL reference against this URL.
    ///
    /// - Throws: `.invalidURL`.
    /// - Source: RFC 3986 §5.2.
    func resolving(_ reference: String) throws(CoderError) -> WebAddress {
        let head = reference.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if head.contains(":") { return try WebAddress(reference) }
        if reference.hasPrefix("//") { return try WebAddress(scheme: scheme, rest: reference[...]) }
        let base = String("\(origin)".dropFirst(scheme.rawValue.utf8.count + 1))
        if reference.hasPrefix("/") { return try WebAddress(scheme: scheme, rest: (base + reference)[...]) }
        if reference.isEmpty || reference.hasPrefix("#") { return self }
        if reference.hasPrefix("?") { return try WebAddress(scheme: scheme, rest: (base + path + reference)[...]) }
        let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
        return try WebAddress(scheme: scheme, rest: (base + folder + reference)[...])
    }

    /// Returns path and query: escaped, with `.` and `..` resolved, without the fragment.
    private static func target(_ text: Substring) -> String {
        let whole = text.prefix { $0 != "#" }
        let pathText = whole.prefix { $0 != "?" }
        var parts: [Substring] = []
        let all = pathText.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (index, part) in zip(all.indices, all) {
            let isLast = index == all.endIndex - 1
            switch part {
            case ".": if isLast { parts.append("") }
            case "..":
                _ = parts.popLast()
                if isLast { parts.append("") }
            default: parts.append(part)
            }
        }
        let path = "/" + Percent.escaped(parts.joined(separator: "/")[...])
        let query = whole.dropFirst(pathText.count)
        return query.isEmpty ? path : path + "?" + Percent.escaped(query.dropFirst())
    }

    static func invalid(_ reason: String) -> CoderError { CoderError(.invalidURL, "the URL is not usable: \(reason)") }
}

extension WebAddress.Origin {
    /// Host and port; without the port if it is the default.
    var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return name + (port == scheme.defaultPort ? "" : ":\(port)")
    }
}

/// Percent-encoding.
enum Percent {
    /// Escapes characters that are not allowed in paths and queries, and percent signs that begin no escape.
    static func escaped(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                byte == 0x25 && index + 2 < bytes.count && Hex.value(bytes[index + 1]) != nil
                && Hex.value(bytes[index + 2]) != nil
            if isEscape || byte != 0x25 && isAllowed(byte) {
                result.append(byte)
            } else {
                result += [0x25, Hex.digits[Int(byte >> 4)], Hex.digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    static func decoded(_ text: some StringProtocol) -> String { String(decoding: bytes(text), as: UTF8.self) }

    static func bytes(_ text: some StringProtocol) -> [UInt8] {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            if bytes[index] == 0x25, index + 2 < bytes.count, let high = Hex.value(bytes[index + 1]),
                let low = Hex.value(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }

    /// Whether RFC 3986 allows the character in paths or queries.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 48...57, 65...90, 97...122: true
        default: Array("-._~!$&'()*+,;=:@/?".utf8).contains(byte)
        }
    }
}
