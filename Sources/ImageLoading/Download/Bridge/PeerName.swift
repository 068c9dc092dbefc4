import NIOCore
import NIOPosix
import NIOSSL

/// Checks that a certificate is valid for the requested host name.
///
/// Rationale: the TLS library also accepts a certificate for the IP address, for any requested name. An attacker
/// who forges a DNS answer could get such a certificate for their own address. Through a proxy, that address is the
/// one of the proxy, which could then read every tunnel.
enum PeerName {
    /// Closes the connection if its certificate does not contain the host name.
    static func check(_ host: String, _ channel: any Channel) -> EventLoopFuture<Void> {
        channel.nioSSL_peerCertificate().flatMapThrowing { certificate in
            guard let certificate, isValid(certificate, for: host) else {
                throw NIOSSLExtraError.failedToValidateHostname
            }
        }.flatMapError { error in
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    /// Whether a certificate contains a host name or an address.
    static func isValid(_ certificate: NIOSSLCertificate, for host: String) -> Bool {
        guard let address = IPAddress(host) else { return names(certificate).contains { matches(host, $0) } }
        return certificate._subjectAlternativeNames().contains {
            $0.nameType == .ipAddress && IPAddress(bytes: Array($0.contents)) == address
        }
    }

    /// Returns the names of a certificate for a message.
    static func shownNames(_ certificate: NIOSSLCertificate) -> [String] {
        names(certificate).map { name in String(name.filter { $0.isASCII && !$0.isWhitespace }.prefix(64)) }
    }

    private static func names(_ certificate: NIOSSLCertificate) -> [String] {
        certificate._subjectAlternativeNames().filter { $0.nameType == .dnsName }
            .map { String(decoding: Array($0.contents), as: UTF8.self).lowercased() }
    }

    /// Whether a certificate name matches a host; a "*" matches exactly the first label.
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
