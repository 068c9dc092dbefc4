import NIOSSL
import TestSupport
import Testing

@testable import ImageLoading

/// The reasons why a certificate is not accepted. openssl prints the dates of the test certificate.
@Suite(.timeLimit(.minutes(40))) struct `Problems of certificates` {
    private let chain: [NIOSSLCertificate]

    init() throws { chain = try NIOSSLCertificate.fromPEMFile(Repository.fixture("server/certificate.pem")) }

    @Test(arguments: [
        ("localhost", 5_000_000_000, "expired on 2126-10-28"), ("other.test", 5_000_000_000, "expired on 2126-10-28"),
        ("localhost", 951_782_400, "valid only from 2026-11-21"),
        ("other.test", 1_800_000_000, "for localhost, tls.test, not for other.test"),
        ("127.0.0.1", 1_800_000_000, "from an unknown issuer"), ("tls.test", 1_800_000_000, "from an unknown issuer"),
        ("10.0.0.1", 1_800_000_000, "not for 10.0.0.1"),
    ])
    func `are named with the date or the names`(host: String, now: Int, text: String) throws {
        let problem = try #require(CertificateProblem(chain, host: host, now: now))
        #expect(problem.message.hasPrefix("its certificate ") && problem.message.hasSuffix(text), "\(problem.message)")
        #expect(!problem.hint.isEmpty)
        #expect((problem.feature != nil) == text.contains("issuer"))
    }

    @Test func `are unknown without a certificate`() {
        #expect(CertificateProblem([], host: "localhost", now: 0) == nil)
    }
}
