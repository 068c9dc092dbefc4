public import ImageModel

/// Which hosts may be asked, and which addresses may be connected to.
///
/// Without anything said, only addresses of the internet: neither this machine, nor its network, nor what a provider
/// keeps for itself, in whatever way they are written. What counts is the address that is connected to, looked at after
/// the name was resolved and before every request, also after a redirect.
public struct AddressPolicy: Sendable, Hashable {
    /// Whether this machine and the networks around it may be asked: loopback, private, link-local, shared.
    public var allowsPrivate = false
    /// Networks that may be asked whatever they are for.
    public var allowedNetworks: [IPNetwork] = []
    /// Hosts that may be asked whatever address they have.
    public var allowedHosts: [HostRule] = []
    /// The only hosts that may be asked; nil for all.
    public var onlyHosts: [HostRule]?

    public init() {}

    /// For pictures that are known to be near.
    public static let withPrivate = {
        var policy = AddressPolicy()
        policy.allowsPrivate = true
        return policy
    }()

    /// - Throws: `.addressDenied` when the host is not one of the only ones.
    func check(host target: WebAddress) throws(CoderError) {
        guard let onlyHosts, !onlyHosts.contains(where: { $0.matches(target) }) else { return }
        throw CoderError(
            .addressDenied, "\(target.origin) is not among the hosts that may be asked",
            hint: "allow the host if it can be trusted")
    }

    /// - Throws: `.addressDenied` when one of the addresses that a host has may not be connected to.
    func check(_ addresses: [IPAddress], of target: WebAddress) throws(CoderError) {
        if allowedHosts.contains(where: { $0.matches(target) }) { return }
        for address in addresses {
            guard let kind = denial(of: address) else { continue }
            let place = target.address == address ? "\(address)" : "\(target.host) is \(address), which"
            throw CoderError(
                .addressDenied, "\(place) is \(kind.phrase) and may not be connected to",
                hint: kind.isNear
                    ? "allow private addresses, or this host, if it can be trusted"
                    : "allow this host if it can be trusted")
        }
    }

    /// Why an address may not be connected to; nil when it may.
    func denial(of address: IPAddress) -> AddressClass? {
        if allowedNetworks.contains(where: { $0.contains(address) }) { return nil }
        return AddressClass.all(of: address).filter { $0 != .global && !(allowsPrivate && $0.isNear) }
            // What is inside says more than that something is inside.
            .min { ($0 == .tunnelled ? 1 : 0, $0.rawValue) < ($1 == .tunnelled ? 1 : 0, $1.rawValue) }
    }
}

/// Hosts of one name: the name itself and everything below it, perhaps only by one scheme and at one port.
///
/// `example.com` stands for `example.com` and `a.example.com`, not for `example.com.evil.org` or `notexample.com`. An
/// address stands for itself.
public struct HostRule: Sendable, Hashable, CustomStringConvertible {
    let host: String
    let address: IPAddress?
    let scheme: WebAddress.Scheme?
    let port: Int?

    /// - Parameter text: `example.com`, `example.com:8080`, `https://example.com`, `[::1]:8080`.
    /// - Throws: `.invalidArgument`.
    public init(_ text: String) throws(CoderError) {
        let hasScheme = text.contains("://")
        do throws(CoderError) {
            let target = try WebAddress(hasScheme ? text : "http://\(text)")
            guard target.target == "/", target.userInfo == nil else {
                throw CoderError(.invalidArgument, "there is more than a host")
            }
            host = target.host
            address = target.address
            scheme = hasScheme ? target.scheme : nil
            port = target.hasPort ? target.port : nil
        } catch {
            throw .invalidArgument(
                "\(text) is no host: \(error.message)", hint: "write it like example.com or https://example.com:8443")
        }
    }

    func matches(_ target: WebAddress) -> Bool {
        if let scheme, scheme != target.scheme { return false }
        if let port, port != target.port { return false }
        if let address { return address == target.address }
        return target.address == nil && (target.host == host || target.host.hasSuffix(".\(host)"))
    }

    public var description: String {
        let name = address?.isV6 == true ? "[\(host)]" : host
        return (scheme.map { "\($0.rawValue)://" } ?? "") + name + (port.map { ":\($0)" } ?? "")
    }
}

extension AddressClass {
    /// Whether it is this machine or a network around it.
    var isNear: Bool { [.loopback, .private, .linkLocal, .shared].contains(self) }

    var phrase: String {
        switch self {
        case .global: "an address of the internet"
        case .loopback: "this machine itself"
        case .private: "in a private network"
        case .linkLocal: "in the local network only"
        case .shared: "in the network of a provider"
        case .unspecified: "no address"
        case .multicast: "for many receivers"
        case .broadcast: "for all receivers"
        case .reserved: "reserved"
        case .tunnelled: "an old way to an IPv4 address"
        }
    }
}
