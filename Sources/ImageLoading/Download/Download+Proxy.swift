import ImageModel

extension Download {
    /// How long to wait for the addresses of a host that a proxy resolves; networks with proxies often have no
    /// resolver for other hosts.
    private static let resolutionTime = Duration.seconds(2)

    /// Returns the addresses of a host that a proxy resolves, as far as they are known here.
    func knownAddresses(of host: String) async throws(CoderError) -> [IPAddress] {
        let resolver = parts.configuration.servers.resolver
        do throws(CoderError) {
            return try await TimeLimit.run(Self.resolutionTime, "resolving the host name took too long") {
                () async throws(CoderError) -> [IPAddress] in try await resolver.addresses(of: host)
            }
        } catch {
            if error.code == .cancelled { throw error }
            return []
        }
    }

    /// Sends a request through a proxy, which resolves the host.
    func request(_ hop: inout Hop, through proxy: Proxy) async -> Result<Step, DownloadFailure> {
        let place = ClientPool.Key(
            host: hop.address.host, address: nil, isName: hop.address.address == nil,
            usesTLS: hop.address.scheme == .https, allowsInvalidCertificates: key.allowsInvalidCertificates,
            proxy: proxy)
        return await request(&hop, at: place).mapError { failure in
            guard failure.error.httpStatus == nil, failure.error.code != .cancelled else { return failure }
            var failure = failure
            failure.error.message += ", through the proxy \(proxy)"
            return failure
        }
    }
}
