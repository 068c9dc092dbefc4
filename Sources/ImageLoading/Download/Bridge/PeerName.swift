import NIOCore
import NIOPosix
import NIOSSL

/// Whether a certificate is for the name that was asked for.
///
/// Rationale: the TLS library also takes a certificate for the address that is connected to, whatever name was asked
/// for; whoever can forge the answer of a resolver could get one for his own address.
enum PeerName {
    /// Ends a connection whose certificate does not have the name of the host.
    static func check(_ host: String, _ channel: any Channel) -> EventLoopFuture<Void> {
        channel.nioSSL_peerCertificate().flatMapThrowing { certificate in
            guard let certificate, names(certificate).contains(where: { matches(host, $0) }) else {
                throw NIOSSLExtraError.failedToValidateHostname
            }
        }.flatMapError { error in
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private static func names(_ certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().filter { $0.nameType == .dnsName }
            .map { String(decoding: Array($0.contents), as: UTF8.self).lowercased() }
    }

    /// A star stands for the whole first label, and for nothing else.
    ///
    /// - Source: RFC 9525 §6.3.
    static func matches(_ host: String, _ name: String) -> Bool {
        if host == name { return true }
        guard name.hasPrefix("*."), name.dropFirst(2).contains("."), let dot = host.firstIndex(of: "."),
            dot != host.startIndex
        else { return false }
        return host[dot...] == name.dropFirst()
    }
}
