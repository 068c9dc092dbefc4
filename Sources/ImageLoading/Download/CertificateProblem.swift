import HostSystem
import ImageModel
import NIOCore
import NIOPosix
import NIOSSL

/// Finds the reason why a server's certificate is not accepted.
///
/// Rationale: the TLS library does not name it. Another connection reads the certificate, and ends before the host sends
/// any request.
struct CertificateProblem {
    /// The feature of errors that another trusted certificate resolves.
    static let trust = "trusted certificate"
    static let trustHint = "check the certificate, and trust its issuer with trustedCertificates or SSL_CERT_FILE"

    let message: String
    let hint: String
    var feature: String?

    private final class Seen: Sendable {
        let chain = Mutex<[NIOSSLCertificate]>([])
    }

    /// Reads the certificates of a server; returns nil if it shows none in time.
    static func find(
        _ host: String, isName: Bool, at address: IPAddress, port: Int, within time: Duration
    ) async -> CertificateProblem? {
        let seen = Seen()
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.minimumTLSVersion = .tlsv12
        guard let context = try? NIOSSLContext(configuration: settings) else { return nil }
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(TimeAmount(time))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(
                            context: context, serverHostname: isName ? host : nil,
                            customVerificationCallback: { certificates, promise in
                                seen.chain.withLock { $0 = certificates }
                                promise.succeed(.failed)
                            }))
                }
            }
        guard let channel = try? await bootstrap.connect(host: address.description, port: port).get() else {
            return nil
        }
        let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(time)) { channel.close(promise: nil) }
        try? await channel.closeFuture.get()
        timeout.cancel()
        return CertificateProblem(seen.chain.withLock { $0 }, host: host, now: wallMilliseconds() / 1000)
    }

    /// Finds the reason in a chain of certificates, the server's own first; nil without a certificate.
    ///
    /// - Parameter now: seconds since 1970.
    init?(_ chain: [NIOSSLCertificate], host: String, now: Int) {
        guard let own = chain.first else { return nil }
        let expired = chain.first { Int($0.notValidAfter) < now }
        if Int(own.notValidAfter) < now {
            message = "its certificate expired on \(Self.day(Int(own.notValidAfter)))"
            hint = "the owner of the server must renew it; check the clock of this machine"
        } else if Int(own.notValidBefore) > now {
            message = "its certificate is valid only from \(Self.day(Int(own.notValidBefore)))"
            hint = "check the clock of this machine"
        } else if !PeerName.isValid(own, for: host) {
            let names = PeerName.shownNames(own)
            let shown = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? " …" : "")
            message = "its certificate is for \(names.isEmpty ? "no host name" : shown), not for \(host)"
            hint = "check the host in the URL and the names in the certificate"
        } else if let expired {
            message = "the certificate of its issuer expired on \(Self.day(Int(expired.notValidAfter)))"
            hint = "the owner of the server must replace it"
        } else {
            message = "its certificate is from an unknown issuer"
            hint = Self.trustHint
            feature = Self.trust
        }
    }

    /// Returns the day of a time in UTC, such as 2026-03-31.
    ///
    /// - Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    private static func day(_ seconds: Int) -> String {
        let days = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400 + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let year = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let (m, d) = (month < 10 ? month + 3 : month - 9, dayOfYear - (153 * month + 2) / 5 + 1)
        let y = year + era * 400 + (m <= 2 ? 1 : 0)
        return "\(y)-\(m < 10 ? "0" : "")\(m)-\(d < 10 ? "0" : "")\(d)"
    }
}

extension Download {
    /// Returns a failure with the reason why the certificate is not accepted.
    func explained(
        _ failure: DownloadFailure, _ target: WebAddress, _ address: IPAddress
    ) async -> DownloadFailure {
        let limit = min(Duration.seconds(5), parts.configuration.timeouts.effectiveConnect)
        guard
            let problem = await CertificateProblem.find(
                target.host, isName: target.address == nil, at: address, port: target.port, within: limit)
        else { return failure }
        var failure = failure
        failure.error.message = "cannot establish a trusted connection to the server: \(problem.message)"
        (failure.error.hint, failure.error.feature) = (problem.hint, problem.feature)
        return failure
    }
}
