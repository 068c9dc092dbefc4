import Testing

@testable import ImageLoading

/// SSRF: the classes of addresses.
@Suite struct `Classes of addresses` {
    @Test(arguments: [
        "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
        "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "11.0.0.0", "9.255.255.255", "128.0.0.1",
        "2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "2001:200::1", "2400:cb00::1",
        // IPv4 addresses of the internet, as IPv6-only networks reach them
        "64:ff9b::8.8.8.8", "::ffff:8.8.8.8",
    ])
    func `allow public addresses`(text: String) throws {
        #expect(AddressPolicy().denial(of: try #require(IPAddress(text))) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1", AddressClass.loopback), ("127.255.255.254", .loopback), ("::1", .loopback),
        ("10.0.0.1", .private), ("172.16.0.1", .private), ("172.31.255.255", .private), ("192.168.1.1", .private),
        ("fc00::1", .private), ("fdff::1", .private), ("fec0::1", .private), ("169.254.169.254", .linkLocal),
        ("fe80::1", .linkLocal), ("febf::1", .linkLocal), ("100.64.0.1", .shared), ("100.127.255.255", .shared),
        ("0.0.0.0", .unspecified), ("0.1.2.3", .unspecified), ("::", .unspecified), ("224.0.0.1", .multicast),
        ("239.255.255.255", .multicast), ("ff02::1", .multicast), ("255.255.255.255", .broadcast),
        ("240.0.0.1", .reserved), ("192.0.0.1", .reserved), ("192.0.2.1", .reserved), ("198.18.0.1", .reserved),
        ("198.19.255.255", .reserved), ("198.51.100.1", .reserved), ("203.0.113.1", .reserved),
        ("192.88.99.1", .reserved), ("100::1", .reserved), ("2001:db8::1", .reserved), ("2001:2::1", .reserved),
        ("3fff::1", .reserved), ("4000::1", .reserved), ("5f00::1", .reserved), ("1::1", .reserved),
        // addresses inside of addresses: mapped, NAT64
        ("::ffff:127.0.0.1", .loopback), ("::ffff:a9fe:a9fe", .linkLocal), ("64:ff9b::127.0.0.1", .loopback),
        ("64:ff9b::10.0.0.1", .private), ("64:ff9b::a9fe:a9fe", .linkLocal),
        // compatible, translated, 6to4, local NAT64, Teredo (server, and inverted client), ISATAP
        ("::127.0.0.1", .loopback), ("::ffff:0:127.0.0.1", .loopback), ("2002:7f00:1::", .loopback),
        ("2002:a9fe:a9fe::1", .linkLocal), ("64:ff9b:1::127.0.0.1", .loopback),
        ("64:ff9b:1:7f00:0:100::", .loopback), ("2001:0:7f00:1::", .loopback),
        ("2001:0:808:808::80ff:fffe", .loopback), ("2a00:1450::5efe:127.0.0.1", .loopback),
        ("2a00:1450::200:5efe:10.0.0.1", .private), ("fe80::5efe:8.8.8.8", .tunnelled),
        // obsolete tunnels to public addresses
        ("::8.8.8.8", .tunnelled), ("2002:808:808::", .tunnelled), ("2001:0:808:808::f7f7:f7f7", .tunnelled),
        ("2a00:1450::5efe:8.8.8.8", .tunnelled),
    ])
    func `deny addresses that are not public`(text: String, kind: AddressClass) throws {
        let address = try #require(IPAddress(text))

        let denial = AddressPolicy().denial(of: address)

        #expect(denial != nil)
        #expect(AddressClass.all(of: address).contains(kind))
    }

    @Test(arguments: ["127.0.0.1", "::1", "10.1.2.3", "169.254.1.1", "fd00::1", "100.64.0.1", "::ffff:127.0.0.1"])
    func `allow private addresses on request`(text: String) throws {
        #expect(AddressPolicy.withPrivate.denial(of: try #require(IPAddress(text))) == nil)
    }

    @Test(arguments: ["0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "2002:7f00:1::", "ff02::1"])
    func `still deny other addresses then`(text: String) throws {
        #expect(AddressPolicy.withPrivate.denial(of: try #require(IPAddress(text))) != nil)
    }

    @Test func `allow an allowed network and no other`() throws {
        var policy = AddressPolicy()
        policy.allowedNetworks = [try #require(IPNetwork("10.1.0.0/16")), try #require(IPNetwork("fd12::/16"))]

        #expect(policy.denial(of: try #require(IPAddress("10.1.255.255"))) == nil)
        #expect(policy.denial(of: try #require(IPAddress("fd12::7"))) == nil)
        #expect(policy.denial(of: try #require(IPAddress("10.2.0.0"))) == .private)
        #expect(policy.denial(of: try #require(IPAddress("fd13::7"))) == .private)
    }
}

@Suite struct `Addresses as text` {
    @Test(arguments: [
        ("1.2.3.4", "1.2.3.4"), ("::", "::"), ("::1", "::1"), ("1::", "1::"),
        ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"), ("::ffff:1.2.3.4", "::ffff:102:304"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("1:0:3:4:5:6:7:8", "1:0:3:4:5:6:7:8"), ("0:0:3:4:5:6:7:8", "::3:4:5:6:7:8"),
    ])
    func `are printed in their shortest form`(text: String, short: String) {
        #expect(IPAddress(text)?.description == short)
    }

    @Test(arguments: [
        "", "1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "1.2.3.-4", "1.2.3.4 ", "0x7f.0.0.1", "1..2.3", ":", ":::",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "::g", "fe80::1%eth0", "[::1]", "1.2.3.4::",
        "::1.2.3.4:5", "1:2:3:4:5:6:7::8:9", "１.2.3.4",
    ])
    func `are refused if they are invalid`(text: String) {
        #expect(IPAddress(text) == nil)
    }
}
