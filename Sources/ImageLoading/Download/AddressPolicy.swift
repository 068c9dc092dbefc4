public import ImageModel

/// The hosts and addresses that a downloader may connect to.
///
/// By default it connects only to public internet addresses. It rejects this machine, its local network, and the
/// network of a provider, in every notation. The check applies to the resolved address, before every request and
/// redirect.
public struct AddressPolicy: Sendable, Hashable {
    /// Whether to allow this machine and the networks around it: loopback, private, link-local, shared.
    public var allowsPrivate = false
    /// Networks that are allowed in any case.
    package var allowedNetworks: [IPNetwork] = []
    /// Hosts that are allowed with any address.
    public var allowedHosts: [HostRule] = []
    /// If set, no other hosts are allowed.
    public var onlyHosts: [HostRule]?

    init() {}

    /// A policy for local images: also allows private addresses.
    package static let withPrivate = {
        var policy = AddressPolicy()
        policy.allowsPrivate = true
        return policy
    }()

    /// The feature that an `.addressDenied` error names if ``allowsPrivate`` would allow the address.
    package static let privateAddresses = "private-addresses"

    /// Checks a host against ``onlyHosts``.
    ///
    /// - Throws: `.addressDenied`.
    func check(host target: WebAddress) throws(CoderError) {
        guard let onlyHosts, !onlyHosts.contains(where: { $0.matches(target) }) else { return }
        throw CoderError(
            .addressDenied, "\(target.origin) is not an allowed host",
            hint: "allow the host if it can be trusted")
    }

    /// Checks all addresses of a host.
    ///
    /// - Throws: `.addressDenied` if one of them is not allowed.
    func check(_ addresses: [IPAddress], of target: WebAddress) throws(CoderError) {
        if allowedHosts.contains(where: { $0.matches(target) }) { return }
        for address in addresses {
            guard let kind = denial(of: address) else { continue }
            let place = target.address == address ? "\(address)" : "\(target.host) is \(address), which"
            throw CoderError(
                .addressDenied, "\(place) is \(kind.phrase) and is not allowed",
                hint: kind.isNear
                    ? "allow private addresses, or this host, if it can be trusted"
                    : "allow this host if it can be trusted",
                feature: kind.isNear ? Self.privateAddresses : nil)
        }
    }

    /// Returns the reason why an address is not allowed; nil if it is allowed.
    func denial(of address: IPAddress) -> AddressClass? {
        if allowedNetworks.contains(where: { $0.contains(address) }) { return nil }
        return AddressClass.all(of: address).filter { $0 != .global && !(allowsPrivate && $0.isNear) }
            // The class of the inner address is more informative than "tunnel".
            .min { ($0 == .tunnelled ? 1 : 0, $0.rawValue) < ($1 == .tunnelled ? 1 : 0, $1.rawValue) }
    }
}

/// Matches a host and all its subdomains, optionally with a scheme and a port.
///
/// `example.com` matches `example.com` and `a.example.com`, but not `example.com.evil.org` or `notexample.com`. An
/// address matches only itself.
public struct HostRule: Sendable, Hashable, CustomStringConvertible {
    let host: String
    let address: IPAddress?
    let scheme: WebAddress.Scheme?
    let port: Int?

    /// Parses a rule.
    ///
    /// - Parameter text: `example.com`, `example.com:8080`, `https://example.com`, `[::1]:8080`.
    /// - Throws: `.invalidArgument`.
    public init(_ text: String) throws(CoderError) {
        let hasScheme = text.contains("://")
        do throws(CoderError) {
            let target = try WebAddress(hasScheme ? text : "http://\(text)")
            guard target.target == "/", target.userInfo == nil else {
                throw CoderError(.invalidArgument, "it contains more than a host")
            }
            host = target.host
            address = target.address
            scheme = hasScheme ? target.scheme : nil
            port = target.hasPort ? target.port : nil
        } catch {
            throw .invalidArgument(
                "\(text) is not a host: \(error.message)",
                hint: "write it like example.com or https://example.com:8443")
        }
    }

    func matches(_ target: WebAddress) -> Bool {
        if let scheme, scheme != target.scheme { return false }
        if let port, port != target.port { return false }
        if let address { return address == target.address }
        return target.address == nil && (target.host == host || target.host.hasSuffix(".\(host)"))
    }

    /// The rule in the notation that ``init(_:)`` parses.
    public var description: String {
        let name = address?.isV6 == true ? "[\(host)]" : host
        return (scheme.map { "\($0.rawValue)://" } ?? "") + name + (port.map { ":\($0)" } ?? "")
    }
}

extension AddressClass {
    /// Whether it is this machine or a local network.
    var isNear: Bool { [.loopback, .private, .linkLocal, .shared].contains(self) }

    var phrase: String {
        switch self {
        case .global: "a public address"
        case .loopback: "a loopback address"
        case .private: "a private address"
        case .linkLocal: "a link-local address"
        case .shared: "a shared address of a provider"
        case .unspecified: "the unspecified address"
        case .multicast: "a multicast address"
        case .broadcast: "the broadcast address"
        case .reserved: "a reserved address"
        case .tunnelled: "a tunnel to an IPv4 address"
        }
    }
}
