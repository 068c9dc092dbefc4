import ImageModel
import Testing

@testable import ImageLoading

@Suite struct `Parsed URLs` {
    @Test(arguments: [
        ("http://example.com", "http://example.com/"),
        ("HTTP://EXAMPLE.com:80/a", "http://example.com/a"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("http://example.com./a", "http://example.com/a"),
        ("http://example.com?q=1#part", "http://example.com/?q=1"),
        ("http://example.com/a b?c d", "http://example.com/a%20b?c%20d"),
        ("http://example.com/ä/%C3%A4/100%", "http://example.com/%C3%A4/%C3%A4/100%25"),
        ("http://example.com/a/./b/../c/..", "http://example.com/a/"),
        ("http://example.com/../../a", "http://example.com/a"),
        ("http://example.com/a\\b", "http://example.com/a%5Cb"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://017700000001/", "http://127.0.0.1/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://[0:0:0:0:0:0:0:1]:81/", "http://[::1]:81/"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://BÜCHER.example/", "http://xn--bcher-kva.example/"),
        ("http://例え.example/", "http://xn--r8jz45g.example/"),
        ("http://пример.example/", "http://xn--e1afmkfd.example/"),
    ])
    func `have one spelling`(text: String, spelling: String) throws {
        #expect(try WebAddress(text).text == spelling)
    }

    @Test(arguments: [
        "", "example.com", "ftp://example.com/", "javascript:alert(1)", "http:", "http:/example.com", "http://",
        "http:///path", "http://:80/", "http://example.com:0/", "http://example.com:65536/", "http://example.com:8o/",
        "http://exa mple.com/", "http://example.com\\@evil.com/", "http://a@b@c/", "http://exam\tple.com/",
        "http://example.com/\u{0}", "http://ex%61mple.com/", "http://[::1/", "http://[::1]x/",
        "http://[fe80::1%25eth0]/",
        "http://[127.0.0.1]/", "http://a..b/", "http://1.2.3.4.5/", "http://256.256.256.256/", "http://１２７.0.0.1/",
        "http://127。0。0。1/", "http://exam\u{00AD}ple.com/", "http://ⓔxample.com/", "http://a.0x/b.1.2.3.4/..0xg/",
        "http://4294967296/", "http://09.0.0.1/", "http:\\\\example.com/",
    ])
    func `are refused if parsers could disagree`(text: String) {
        #expect(throws: CoderError.self) { try WebAddress(text) }
    }

    @Test(arguments: [
        ("/c", "http://h.example:81/c"), ("c?d", "http://h.example:81/a/c?d"), ("?x", "http://h.example:81/a/b?x"),
        ("../c", "http://h.example:81/c"), ("//other.example/c", "http://other.example/c"),
        ("https://other.example/c", "https://other.example/c"), ("", "http://h.example:81/a/b?q"),
        ("#part", "http://h.example:81/a/b?q"),
    ])
    func `resolve relative references`(reference: String, result: String) throws {
        #expect(try WebAddress("http://h.example:81/a/b?q").resolving(reference).text == result)
    }

    @Test func `contain no secrets in their text forms`() throws {
        let address = try WebAddress("https://user:pass%40word@example.com/a?token=1")

        #expect(address.userInfo == Credential(user: "user", password: "pass@word"))
        #expect(address.redacted == "https://example.com/a?…")
        #expect(address.sourceName == "https://example.com/a")
    }
}

@Suite struct `Redacted URLs` {
    @Test(arguments: [
        ("https://joe:SECRET@h/a@2x.png", "https://h/a@2x.png"), ("http://h/cat@2x.png", "http://h/cat@2x.png"),
        ("HTTP:joe:SECRET@h/a", "HTTP:h/a"), ("http:/joe:SECRET@h/a", "http:/h/a"), ("joe:SECRET@h/a", "joe:h/a"),
        ("http:\\\\joe:SECRET@h/a", "http:\\\\h/a"), ("http://joe:SEC/SECRET@h/a", "http://h/a"),
        ("http://joe:SEC#SECRET@h/a", "http://h/a"), ("ftp://joe:SECRET@h/a", "ftp://h/a"),
        ("http://[::1]:80/a@2x.png", "http://[::1]:80/a@2x.png"), ("http://h:80/a@b", "http://h:80/a@b"),
        ("asset:cat@2x.png", "asset:cat@2x.png"), ("data:text/plain,a@b", "data:text/plain,a@b"),
        ("cat@2x.png", "cat@2x.png"), ("http://:@", "http://"), ("", ""),
    ])
    func `contain no password, even if malformed`(url: String, shown: String) { #expect(redacted(url) == shown) }
}

@Suite struct `Host rules` {
    @Test(arguments: [
        ("example.com", "http://example.com/", true), ("example.com", "https://a.b.example.com:8080/", true),
        ("example.com", "http://example.com.evil.com/", false), ("example.com", "http://notexample.com/", false),
        ("example.com", "http://example.co/", false), ("EXAMPLE.com.", "http://a.example.com./", true),
        ("https://example.com", "http://example.com/", false), ("https://example.com", "https://example.com/", true),
        ("example.com:8080", "http://example.com:8080/", true), ("example.com:8080", "http://example.com/", false),
        ("example.com", "http://example.com@evil.com/", false), ("0.0.1", "http://127.0.0.1/", false),
        ("127.0.0.1", "http://2130706433/", true), ("[::1]", "http://[0::1]/", true), ("::1", "http://[::1]/", false),
        ("1", "http://127.0.0.1/", false), ("bücher.example", "http://xn--bcher-kva.example/", true),
    ])
    func `match whole labels, scheme and port`(rule: String, url: String, matches: Bool) throws {
        guard let rule = try? HostRule(rule) else {
            #expect(!matches)
            return
        }
        #expect(rule.matches(try WebAddress(url)) == matches)
    }

    @Test(arguments: ["", "exa mple", "example.com/path", "user@example.com", "*.example.com", "ftp://example.com"])
    func `are refused if they are not hosts`(text: String) {
        #expect(throws: CoderError.self) { try HostRule(text) }
    }
}
