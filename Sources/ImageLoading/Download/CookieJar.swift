import FoundationEssentials
import HostSystem
import ImageProcessing

/// Cookies in memory, each for the host that set it.
///
/// A cookie for a whole domain is sent only to the host that set it, which is enough for images.
final class CookieJar: Sendable {
    private struct Cookie {
        var name: String
        var value: String
        var path: String
        var isSecure: Bool
        /// Seconds since 1970; nil to keep the cookie as long as the jar.
        var expires: Int?
    }

    private static let maxCookies = 50
    private static let maxHosts = 500
    private static let maxBytes = 4096

    private let hosts = Mutex<[String: [Cookie]]>([:])

    static var now: Int { Int(Date().timeIntervalSince1970) }

    /// Stores the cookie of a `Set-Cookie` field.
    ///
    /// - Source: RFC 6265 §5.2, §5.3.
    func store(_ field: String, from address: WebAddress, now: Int = CookieJar.now) {
        guard field.utf8.count <= Self.maxBytes else { return }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false).map { Self.trimmed($0) }
        guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return }
        let name = Self.trimmed(pair[..<equals])
        guard !name.isEmpty else { return }
        var cookie = Cookie(
            name: name, value: Self.trimmed(pair[pair.index(after: equals)...]), path: Self.folder(address.path),
            isSecure: false)
        var age: Int?
        for part in parts.dropFirst() {
            let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = words.count > 1 ? Self.trimmed(words[1]) : ""
            switch Self.trimmed(words[0]).lowercased() {
            case "path" where value.hasPrefix("/"): cookie.path = value
            case "secure": cookie.isSecure = true
            case "max-age": age = Int(value)
            case "expires": cookie.expires = HTTPDate.seconds(value)
            case "domain":
                let domain = value.lowercased().drop { $0 == "." }
                guard address.host == domain || address.host.hasSuffix(".\(domain)") else { return }
            default: break
            }
        }
        if let age { cookie.expires = age <= 0 ? 0 : now + min(age, 1 << 40) }
        if cookie.isSecure && address.scheme != .https { return }
        hosts.withLock { hosts in
            var list = hosts[address.host] ?? []
            list.removeAll { $0.name == cookie.name && $0.path == cookie.path || $0.expires.map { $0 <= now } ?? false }
            if cookie.expires.map({ $0 > now }) ?? true { list.append(cookie) }
            if list.count > Self.maxCookies { list.removeFirst() }
            hosts[address.host] = list.isEmpty ? nil : list
            if hosts.count > Self.maxHosts, let other = hosts.keys.first(where: { $0 != address.host }) {
                hosts[other] = nil
            }
        }
    }

    /// Returns the `Cookie` field for a request; nil if no cookie applies.
    func field(for address: WebAddress, now: Int = CookieJar.now) -> String? {
        let list = hosts.withLock { $0[address.host] ?? [] }.filter { cookie in
            (cookie.expires.map { $0 > now } ?? true) && (!cookie.isSecure || address.scheme == .https)
                && (address.path == cookie.path
                    || address.path.hasPrefix(cookie.path.hasSuffix("/") ? cookie.path : "\(cookie.path)/"))
        }
        if list.isEmpty { return nil }
        return list.sorted { $0.path.utf8.count > $1.path.utf8.count }.map { "\($0.name)=\($0.value)" }
            .joined(separator: "; ")
    }

    func removeAll() { hosts.withLock { $0 = [:] } }

    private static func trimmed(_ text: some StringProtocol) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let head = text.drop(while: isSpace)
        return String(head.reversed().drop(while: isSpace).reversed())
    }

    private static func folder(_ path: String) -> String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }
}
