import CoderHost
import ImageModel

/// The HTTP proxies through which a downloader connects.
///
/// Requests to this machine (`localhost`, loopback addresses) never use a proxy. A proxy resolves host names itself, so
/// the downloader cannot check the address to which the proxy connects. It still refuses addresses in URLs, names that
/// resolve to a refused address here, and hosts that are not allowed; a proxy for untrusted URLs must refuse private
/// networks itself.
public struct ProxyPolicy: Sendable, Hashable {
    /// The URL of the proxy for `http` URLs, such as `http://proxy.example:3128`, which receives them whole; nil for none.
    public var http: String?
    /// The URL of the proxy for `https` URLs, to which it opens tunnels; nil for none.
    public var https: String?
    /// The hosts to connect to directly: `example.org` with all subdomains, `example.org:8080`, `10.0.0.0/8`, `*`.
    public var exceptions: [String] = []

    /// Creates a policy without proxies.
    public init() {}

    /// No proxies.
    public static let none = ProxyPolicy()

    /// The proxies in the environment: `http_proxy`, `https_proxy` and `no_proxy`, or the same in upper case.
    ///
    /// In a CGI program, a client could set `HTTP_PROXY` by a header field, so the upper-case name is ignored there.
    public static var environment: ProxyPolicy { ProxyPolicy(variables: processVariable) }

    init(variables: (String) -> String?) {
        func value(_ name: String) -> String? {
            if let value = variables(name) { return value.isEmpty ? nil : value }
            if name == "http_proxy", variables("REQUEST_METHOD") != nil { return nil }
            return variables(name.uppercased()).flatMap { $0.isEmpty ? nil : $0 }
        }
        http = value("http_proxy")
        https = value("https_proxy")
        exceptions = (value("no_proxy") ?? "").split { $0 == "," || $0 == " " }.map(String.init)
    }
}

/// One HTTP proxy.
struct Proxy: Sendable, Hashable, CustomStringConvertible {
    var host: String
    var port: Int
    var credential: Credential?

    /// Parses the URL of a proxy; the scheme may be omitted.
    ///
    /// - Throws: `.invalidArgument`; the message does not contain a password.
    init(_ text: String) throws(CoderError) {
        do throws(CoderError) {
            let address = try WebAddress(text.contains("://") ? text : "http://\(text)")
            guard address.scheme == .http else { throw CoderError(.invalidArgument, "only http:// is supported") }
            (host, credential) = (address.host, address.userInfo)
            port = address.hasPort ? address.port : 80
        } catch {
            throw .invalidArgument(
                "invalid proxy \(redacted(text)): \(error.message)", hint: "write it like http://proxy.example:3128")
        }
    }

    var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The parsed proxies of a downloader.
struct ProxySelection: Sendable {
    private let http: Proxy?
    private let https: Proxy?
    private let exceptions: [Exception]

    private enum Exception {
        case all
        case network(IPNetwork)
        case host(String, port: Int?)
    }

    /// - Throws: `.invalidArgument` for a proxy that cannot be parsed.
    init(_ policy: ProxyPolicy) throws(CoderError) {
        http = try policy.http.map { text throws(CoderError) in try Proxy(text) }
        https = try policy.https.map { text throws(CoderError) in try Proxy(text) }
        exceptions = policy.exceptions.map(Self.exception)
    }

    private static func exception(_ text: String) -> Exception {
        if text == "*" { return .all }
        if let network = IPNetwork(text) { return .network(network) }
        let name = text.drop { $0 == "." || $0 == "*" }.lowercased()
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count == 2, let port = Int(parts[1]) { return .host(String(parts[0]), port: port) }
        return .host(name, port: nil)
    }

    /// Returns the proxy for a URL; nil for a direct connection.
    func proxy(for target: WebAddress) -> Proxy? {
        guard let proxy = target.scheme == .https ? https : http else { return nil }
        if target.host == "localhost" || target.host.hasSuffix(".localhost") { return nil }
        if let address = target.address, AddressClass.all(of: address).contains(.loopback) { return nil }
        return exceptions.contains { Self.matches($0, target) } ? nil : proxy
    }

    private static func matches(_ exception: Exception, _ target: WebAddress) -> Bool {
        switch exception {
        case .all: return true
        case .network(let network): return target.address.map(network.contains) ?? false
        case .host(let name, let port):
            if let port, port != target.port { return false }
            return !name.isEmpty && (target.host == name || target.host.hasSuffix(".\(name)"))
        }
    }
}

/// Returns an environment variable; a separate name, because the type above has a member `environment`.
private func processVariable(_ name: String) -> String? { environment(name) }
