@testable import CoderHost
import Glibc
@testable import PluginCatalogue
import TestSupport
import Testing

/// Signatures, keys and the resulting trust.
@Suite(.timeLimit(.minutes(40))) struct `A signature` {
    private static let day = 86_400_000
    /// 2026-11-21.
    private static let today = 20_778 * day + 12_345

    /// A signed plugin, and a store that trusts its key.
    private struct Signed {
        let folder = TemporaryDirectory()
        let trust = TemporaryDirectory()
        let key: SigningKey
        let own: TrustedKey
        let path: String
        let hash: ContentHash
        var sig: String { "\(path).sig" }

        init(expires: Int? = nil, believed: Bool = true) throws {
            key = try #require(SigningKey())
            own = try #require(key.publicKey(expires: expires, name: "Example"))
            path = try BuiltPlugin.put("claims-formats", into: folder)
            hash = try contentHash(of: path)
            let file = try #require(key.signature(ofPlugin: "org.example.bad-plugin", hash))
            folder.write(file, to: "libcoder-claims-formats.so.sig")
            if believed { trust.write(own.file, to: "example.pub") }
        }

        func plugin(_ policy: TrustPolicy = .owned) throws -> PluginRecord {
            try #require(testHost(folder.path, policy: policy, trust: [trust.path]).plugins.first)
        }

        func state(_ file: [UInt8], now: Int = wallMilliseconds()) -> SignatureState {
            PluginSignature.examine(
                file, plugin: "org.example.bad-plugin", hash, TrustStore(folders: [trust.path], now: now))
        }
    }

    // MARK: Ed25519

    /// - Source: RFC 8032, section 7.1, tests 1, 2 and 3.
    static let vectors = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24"
                + "655141438e7a100b"
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aee"
                + "b00d291612bb0c00"
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28d"
                + "c027beceea1ec40a"
        ),
    ]

    @Test(arguments: vectors) func `equals the standard's test vector`(
        seed: String, key: String, message: String, signature: String
    ) throws {
        let (seed, key) = (try #require(hexBytes(seed)), try #require(hexBytes(key)))
        let (message, signature) = (try #require(hexBytes(message)), try #require(hexBytes(signature)))

        #expect(Ed25519.publicKey(of: seed) == key)
        #expect(Ed25519.sign(message, with: seed) == signature)
        #expect(Ed25519.verify(signature, of: message, by: key))
        #expect(!Ed25519.verify(signature, of: message + [0], by: key))
    }

    @Test func `cannot be modified, or created with a key of small order`() throws {
        let (_, key, message, signature) = Self.vectors[1]
        var other = try #require(hexBytes(signature))
        // S + L is congruent to S modulo the group order (RFC 8032, section 5.1).
        let order = try #require(hexBytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010"))
        var carry = 0
        for index in 0..<32 {
            carry += Int(other[32 + index]) + Int(order[index])
            other[32 + index] = UInt8(carry & 0xFF)
            carry >>= 8
        }
        #expect(!Ed25519.verify(other, of: try #require(hexBytes(message)), by: try #require(hexBytes(key))))
        // With the neutral element as key and R, and S = 0, the equation holds for every message.
        let neutral = [UInt8(1)] + [UInt8](repeating: 0, count: 31)
        #expect(!Ed25519.verify(neutral + [UInt8](repeating: 0, count: 32), of: [1, 2, 3], by: neutral))
    }

    // MARK: The file

    @Test func `by a trusted key makes a plugin signed`() throws {
        let signed = try Signed()
        try shell("chmod", "o+w", signed.path)

        let plugin = try signed.plugin()

        #expect(plugin.status.state == .ready)
        #expect(plugin.tier == .signed)
        #expect(plugin.signature == .valid(signed.own.id))
        #expect(plugin.examination.grounds == .content(signed.hash))
        #expect(plugin.warnings.isEmpty)
    }

    @Test func `is invalid after a change of any byte`() throws {
        let signed = try Signed()
        let file = try #require(readFile(signed.sig))
        try #require(signed.state(file).isValid)

        for index in file.indices {
            for bits: UInt8 in [0x01, 0x20, 0x80] {
                var changed = file
                changed[index] ^= bits
                #expect(!signed.state(changed).isValid, "byte \(index) of \(file.count)")
            }
            #expect(!signed.state(Array(file[..<index])).isValid)
            #expect(!signed.state(Array(file[..<index] + file[(index + 1)...])).isValid)
            #expect(!signed.state(Array(file[...index] + file[index...])).isValid)
        }
        #expect(!signed.state(file + [0x0A]).isValid)
    }

    @Test func `is invalid after a change of the plugin, anywhere`() throws {
        let signed = try Signed()
        var bytes = try #require(readFile(signed.path))
        // Beyond the segments, where no loader reads.
        bytes[bytes.count - 1] ^= 1
        try #require(writeFile(signed.path, bytes))

        let plugin = try signed.plugin()

        #expect(plugin.status.state == .badSignature)
        #expect(plugin.status.reason.contains("the file differs from the signed file"))
        #expect(plugin.status.remedy.contains("\(signed.sig)"))
        #expect(try signed.plugin(.signed).status.state == .badSignature)
        let tolerated = try signed.plugin(.any)
        #expect(tolerated.status.state == .ready)
        #expect(tolerated.warnings.first?.contains("signature is invalid") == true)
    }

    @Test func `of one plugin is invalid for another`() throws {
        let signed = try Signed()
        let file = try #require(signed.key.signature(ofPlugin: "org.example.other-plugin", signed.hash))

        #expect(signed.state(file) == .invalid("it is for the plugin org.example.other-plugin"))
    }

    @Test func `of another key is invalid under the name of a trusted key`() throws {
        let signed = try Signed()
        let stranger = try #require(SigningKey())
        let id = try #require(stranger.publicKey(expires: nil, name: "")).id
        let file = try #require(stranger.signature(ofPlugin: "org.example.bad-plugin", signed.hash))
        let text = String(decoding: file, as: UTF8.self).replacing("key \(id)", with: "key \(signed.own.id)")

        #expect(signed.state(file) == .unknownKey(id))
        #expect(signed.state(Array(text.utf8)) == .invalid("the key \(signed.own.id) did not create it"))
    }

    @Test(arguments: ["empty", "huge", "folder", "fifo", "text"]) func `in a malformed file is invalid`(kind: String)
        throws
    {
        let signed = try Signed()
        try shell("rm", signed.sig)
        switch kind {
        case "empty": try #require(writeFile(signed.sig, []))
        case "huge": try shell("truncate", "-s", "1G", signed.sig)
        case "folder": try shell("mkdir", signed.sig)
        case "fifo": try shell("mkfifo", signed.sig)
        default: try #require(writeFile(signed.sig, Array("coderhost-signature 2\n".utf8)))
        }

        #expect(try signed.plugin().status.state == .badSignature)
    }

    // MARK: Keys

    @Test func `is valid up to the last day of its key`() throws {
        let signed = try Signed(expires: 20_778)
        let file = try #require(readFile(signed.sig))

        #expect(signed.state(file, now: Self.today).isValid)
        #expect(signed.state(file, now: 20_779 * Self.day - 1).isValid)
        #expect(signed.state(file, now: 20_779 * Self.day) == .expired(signed.own.id, "2026-11-21"))
    }

    @Test func `of an expired key does not count, but is not refused`() throws {
        let signed = try Signed(expires: 10_000)

        let plugin = try signed.plugin()

        #expect(plugin.status.state == .ready)
        #expect(plugin.warnings.first?.contains("expired on 1997-05-19") == true)
        #expect(try signed.plugin(.signed).status.state == .unsigned)
        try shell("chmod", "o+w", signed.path)
        #expect(try signed.plugin().status.state == .untrustedPath)
    }

    @Test(arguments: [false, true]) func `of a revoked key is refused, in any folder`(elsewhere: Bool) throws {
        let signed = try Signed()
        let other = TemporaryDirectory()
        let list = Array("# given away\n  \(signed.own.id.uppercased())  # in May\n".utf8)
        _ = elsewhere ? other.write(list, to: "revoked") : signed.trust.write(list, to: "revoked")

        let plugin = try #require(
            testHost(signed.folder.path, trust: [signed.trust.path, other.path]).plugins.first)

        #expect(plugin.status.state == .badSignature)
        #expect(plugin.signature == .revoked(signed.own.id))
        #expect(plugin.status.reason.contains("was revoked"))
    }

    @Test func `is not accepted while the list of revoked keys is unreadable`() throws {
        let signed = try Signed()
        signed.trust.folder("revoked")
        let host = testHost(signed.folder.path, policy: .signed, trust: [signed.trust.path])

        let plugin = try #require(host.plugins.first)

        #expect(plugin.status.state == .unsigned)
        #expect(host.warnings.contains { $0.contains("revoked") })
    }

    @Test func `of an untrusted key does not count`() throws {
        let signed = try Signed(believed: false)

        let plugin = try signed.plugin(.signed)

        #expect(plugin.status.state == .unsigned)
        #expect(plugin.status.reason == "the key \(signed.own.id) that signed it is not trusted")
        #expect(plugin.status.remedy.contains("coderhost plugin trust KEY.pub"))
        #expect(try signed.plugin().status.state == .ready)
        #expect(try signed.plugin().tier != .signed)
    }

    @Test func `has a key that is written and read unchanged`() throws {
        let key = try #require(SigningKey())
        let own = try #require(key.publicKey(expires: 20_778, name: "Ex\nample"))

        #expect(TrustedKey(file: own.file) == own)
        #expect(own.name == "Ex?ample")
        #expect(SigningKey(file: key.file)?.file == key.file)
        #expect(String(decoding: own.file, as: UTF8.self).contains("\nexpires 2026-11-21\n"))
        for count in own.file.indices { #expect(TrustedKey(file: Array(own.file[..<count])) == nil) }
        #expect(TrustedKey(file: own.file + [0x20]) == nil)
        let text = String(decoding: own.file, as: UTF8.self)
        for day in ["2026-02-29", "2026-1-1", "soon", ""] {
            #expect(TrustedKey(file: Array(text.replacing("2026-11-21", with: day).utf8)) == nil)
        }
    }

    /// - Source: `date -u -d @N +%FT%TZ`.
    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (951_782_399_999, "2000-02-28T23:59:59Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
        (1_795_292_147_000, "2026-11-21T20:15:47Z"), (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        (-5, "1970-01-01T00:00:00Z"), (Int.max, "9999-12-31T23:59:59Z"),
    ]) func `has calendar days`(milliseconds: Int, text: String) {
        #expect(CivilTime.text(milliseconds: milliseconds) == text)
        let day = String(text.prefix(10))
        #expect(CivilTime.days(day).map(CivilTime.day) == day)
    }
}
