/// The purpose of an address; determines whether the downloader may connect to it.
package enum AddressClass: String, Sendable, Hashable, CaseIterable {
    /// Public internet.
    case global
    case loopback
    case `private`
    case linkLocal
    /// Between a provider and its customers (RFC 6598).
    case shared
    case unspecified
    case multicast
    case broadcast
    /// Documentation, benchmarks, discard, and unassigned addresses.
    case reserved
    /// An IPv6 address that contains an IPv4 address, in an obsolete transition scheme.
    case tunnelled

    /// Returns the classes of an address and of all addresses inside it.
    static func all(of address: IPAddress) -> Set<AddressClass> {
        var result: Set<AddressClass> = [of(address)]
        for inner in embedded(in: address) {
            // A mapped address is only another spelling, and IPv6-only networks need NAT64 to reach IPv4 addresses.
            if mapped.contains(address) || nat64.contains(address) { result.remove(.tunnelled) }
            result.formUnion(all(of: inner))
        }
        return result
    }

    private static func of(_ address: IPAddress) -> AddressClass {
        if address.isV6, isISATAP(address) { return .tunnelled }
        for (network, kind) in address.isV6 ? v6 : v4 where network.contains(address) { return kind }
        // IANA has assigned only 2000::/3 for global IPv6 addresses.
        return address.isV6 && address.value >> 125 != 1 ? .reserved : .global
    }

    /// Returns the IPv4 addresses inside an IPv6 address.
    private static func embedded(in address: IPAddress) -> [IPAddress] {
        guard address.isV6 else { return [] }
        func v4(_ shift: UInt128) -> IPAddress { IPAddress(v4: UInt32(truncatingIfNeeded: address.value >> shift)) }
        if isISATAP(address) { return [v4(0)] }
        // ::1 and :: contain no other address.
        if address.value <= 1 { return [] }
        if mapped.contains(address) || translated.contains(address) || compatible.contains(address)
            || nat64.contains(address)
        {
            return [v4(0)]
        }
        if sixToFour.contains(address) { return [v4(80)] }
        // The server's address, and the client's address with inverted bits.
        if teredo.contains(address) { return [v4(64), IPAddress(v4: ~UInt32(truncatingIfNeeded: address.value))] }
        // The prefix may be of 48, 56, 64 or 96 bits; bits 64 to 71 are skipped (RFC 6052 §2.2).
        if localNAT64.contains(address) {
            let value = address.value
            func part(_ shift: UInt128, _ bits: UInt128) -> UInt32 {
                UInt32(truncatingIfNeeded: value >> shift & ((1 << bits) - 1))
            }
            return [
                IPAddress(v4: part(64, 16) << 16 | part(40, 16)), IPAddress(v4: part(64, 8) << 24 | part(32, 24)),
                v4(24), v4(0),
            ]
        }
        return []
    }

    /// An interface identifier that holds an IPv4 address, behind any prefix.
    ///
    /// - Source: RFC 5214 §6.1.
    private static func isISATAP(_ address: IPAddress) -> Bool {
        let middle = UInt32(truncatingIfNeeded: address.value >> 32)
        return middle & ~0x0200_0000 == 0x5EFE
    }

    // MARK: Tables, the most specific network first

    private static let mapped = network("::ffff:0:0/96")
    private static let translated = network("::ffff:0:0:0/96")
    private static let compatible = network("::/96")
    private static let nat64 = network("64:ff9b::/96")
    private static let localNAT64 = network("64:ff9b:1::/48")
    private static let teredo = network("2001::/32")
    private static let sixToFour = network("2002::/16")

    /// - Source: IANA IPv4 Special-Purpose Address Registry.
    private static let v4: [(IPNetwork, AddressClass)] = [
        (network("0.0.0.0/8"), .unspecified),
        (network("10.0.0.0/8"), .private),
        (network("100.64.0.0/10"), .shared),
        (network("127.0.0.0/8"), .loopback),
        (network("169.254.0.0/16"), .linkLocal),
        (network("172.16.0.0/12"), .private),
        (network("192.0.0.0/24"), .reserved),
        (network("192.0.2.0/24"), .reserved),
        (network("192.88.99.0/24"), .reserved),
        (network("192.168.0.0/16"), .private),
        (network("198.18.0.0/15"), .reserved),
        (network("198.51.100.0/24"), .reserved),
        (network("203.0.113.0/24"), .reserved),
        (network("224.0.0.0/4"), .multicast),
        (network("255.255.255.255/32"), .broadcast),
        (network("240.0.0.0/4"), .reserved),
    ]

    /// - Source: IANA IPv6 Special-Purpose Address Registry.
    private static let v6: [(IPNetwork, AddressClass)] = [
        (network("::/128"), .unspecified),
        (network("::1/128"), .loopback),
        (mapped, .tunnelled),
        (translated, .tunnelled),
        (compatible, .tunnelled),
        (nat64, .tunnelled),
        (localNAT64, .tunnelled),
        (network("100::/64"), .reserved),
        (teredo, .tunnelled),
        (network("2001::/23"), .reserved),
        (network("2001:db8::/32"), .reserved),
        (sixToFour, .tunnelled),
        (network("3fff::/20"), .reserved),
        (network("fc00::/7"), .private),
        (network("fe80::/10"), .linkLocal),
        // site-local, the predecessor of fc00::/7
        (network("fec0::/10"), .private),
        (network("ff00::/8"), .multicast),
    ]

    private static func network(_ text: String) -> IPNetwork {
        guard let network = IPNetwork(text) else { preconditionFailure("\(text) is no network") }
        return network
    }
}
