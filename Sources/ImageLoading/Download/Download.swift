import AsyncHTTPClient
import CoderHost
import FoundationEssentials
import ImageModel
import ImageProcessing
import Logging
import NIOCore
import NIOHTTP1

/// Identifies a download; requests with equal keys share one.
struct DownloadKey: Hashable, Sendable {
    /// The request after all modifiers.
    var request: OutgoingRequest
    /// The entity tag of the cached version, for a conditional request.
    var entityTag: String?
    var lastModified: String?
    /// The URL that sent the validators; they are not valid for other URLs.
    var validatedURL: String
    var credential: Credential?
    var allowsInvalidCertificates: Bool
    var handlesCookies: Bool
    /// A unique number for a download that is not shared, because it has its own modifier or decryptor.
    var loner: Int?

    var isConditional: Bool { entityTag != nil || lastModified != nil }
    var partialKey: PartialStore.Key {
        PartialStore.Key(
            request: request, credential: credential, allowsInvalidCertificates: allowsInvalidCertificates,
            handlesCookies: handlesCookies)
    }
}

/// The state that all downloads of a downloader share.
struct DownloadContext: Sendable {
    var configuration: DownloaderConfiguration
    var proxies: ProxySelection
    var pool: ClientPool
    var partials: PartialStore
    var cookies: CookieJar
    /// Origins that have requested a credential.
    var challenged: OriginSet
}

/// One attempt to download an image, from the first request to the last byte.
struct Download: Sendable {
    let parts: DownloadContext
    let key: DownloadKey
    let responseModifier: ResponseModifier?
    let decryptor: Decryptor?
    let report: @Sendable (LoadProgress) -> Void
    let pace = DownloadPace()

    /// The outcome of one request.
    enum Step: Sendable {
        case finished(LoadedData)
        case redirect(to: WebAddress, status: Int)
        /// The server requires a credential.
        case challenge
        /// The partial bytes of an earlier download cannot be used.
        case startOver
    }

    /// One request of a download; each redirect leads to another one.
    struct Hop: Sendable {
        var address: WebAddress
        var method: String
        var fields: [String: String]
        var body: [UInt8]?
        /// The origin of the requested URL; only this origin receives the credential.
        var home: WebAddress.Origin
        var sendsCredential: Bool
        var partial: PartialDownload?
        var timings = DownloadTimings()
    }

    /// Downloads the image, following redirects.
    ///
    /// - Throws: see ``CoderError/Code``.
    func run() async throws(DownloadFailure) -> LoadedData {
        let start = ContinuousClock.now
        let address = try Self.checked { () throws(CoderError) in try WebAddress(key.request.url) }
        var hop = Hop(
            address: address, method: key.request.method, fields: key.request.headers, body: key.request.body,
            home: address.origin, sendsCredential: parts.challenged.contains(address.origin))
        hop.fields = hop.fields.filter { name, _ in !Self.ownFields.contains(name.lowercased()) }
        if parts.configuration.maxPartialBytes > 0, !key.isConditional, hop.method == "GET" {
            hop.partial = parts.partials.take(key.partialKey)
        }
        var redirects = 0
        var isChallenged = false
        while true {
            let outcome = await request(&hop)
            // Keep the partial bytes for the next attempt, unless this attempt has stored more of them.
            if case .failure = outcome, let partial = hop.partial { parts.partials.putBack(partial, key.partialKey) }
            if case .failure(var failure) = outcome, redirects > 0, failure.error.code == .addressDenied {
                failure.error.message = "the server redirects to \(hop.address.redacted): \(failure.error.message)"
                throw failure
            }
            switch try outcome.get() {
            case .finished(var data):
                data.response?.timings?.total = ContinuousClock.now - start
                return data
            case .redirect(let target, let status):
                redirects += 1
                guard redirects <= parts.configuration.servers.maxRedirects else {
                    throw .permanent(
                        "the server redirects more than \(parts.configuration.servers.maxRedirects) times", status)
                }
                guard
                    hop.address.scheme != .https || target.scheme == .https
                        || parts.configuration.servers.allowsDowngrade
                else {
                    throw .permanent("the server redirects from https to http, which is not encrypted", status)
                }
                hop.timings.redirects += 1
                DownloadMetrics.redirected()
                if status == 303 && hop.method != "HEAD" || (301...302).contains(status) && hop.method == "POST" {
                    hop.method = "GET"
                    hop.body = nil
                }
                if target.origin != hop.address.origin { hop.fields = hop.fields.filter { !Self.isSecret($0.key) } }
                hop.address = target
            case .challenge:
                guard !isChallenged else { throw .permanent("the server rejected the credential", 401) }
                isChallenged = true
                hop.sendsCredential = true
                parts.challenged.insert(hop.home)
            case .startOver: hop.partial = nil
            }
        }
    }

    /// Resolves the host, checks all addresses, and connects to one of them.
    private func request(_ hop: inout Hop) async -> Result<Step, DownloadFailure> {
        let configuration = parts.configuration
        let proxy = parts.proxies.proxy(for: hop.address)
        let addresses: [IPAddress]
        do throws(CoderError) {
            try configuration.servers.addresses.check(host: hop.address)
            let start = ContinuousClock.now
            if let literal = hop.address.address {
                addresses = [literal]
            } else if proxy != nil {
                addresses = try await knownAddresses(of: hop.address.host)
            } else {
                addresses = try await configuration.servers.resolver.addresses(of: hop.address.host)
            }
            hop.timings.resolution += ContinuousClock.now - start
            try configuration.servers.addresses.check(addresses, of: hop.address)
        } catch {
            if error.code == .addressDenied { DownloadMetrics.blocked("address") }
            return .failure(DownloadFailure(error))
        }
        guard Self.isReadAlike(hop.address) else {
            return .failure(DownloadFailure(WebAddress.invalid("it is ambiguous")))
        }
        if let proxy { return await request(&hop, through: proxy) }
        var outcome = Result<Step, DownloadFailure>.failure(
            .transient("the host has no address"))
        var refusing: IPAddress?
        // Trying more addresses than a few only adds delay.
        for address in addresses.prefix(6) {
            let place = ClientPool.Key(
                host: hop.address.host, address: address, isName: hop.address.address == nil,
                usesTLS: hop.address.scheme == .https, allowsInvalidCertificates: key.allowsInvalidCertificates)
            outcome = await request(&hop, at: place)
            guard case .failure(let failure) = outcome, failure.isBeforeConnection else { return outcome }
            refusing = failure.hasBadCertificate ? address : nil
        }
        if case .failure(let failure) = outcome, let refusing {
            return .failure(await explained(failure, hop.address, refusing))
        }
        return outcome
    }

    /// Sends a request with the client of one place; retries once if the server has closed an idle connection.
    func request(_ hop: inout Hop, at place: ClientPool.Key) async -> Result<Step, DownloadFailure> {
        var outcome = Result<Step, DownloadFailure>.failure(.cancelled)
        for _ in 0..<2 {
            let current = hop
            let send = { @Sendable client in await exchange(current, client, place.forwarder) }
            guard let answer = await parts.pool.withClient(place, send) else {
                return .failure(.cancelled)
            }
            hop.timings.requests += 1
            outcome = answer
            guard case .failure(let failure) = answer, failure.isStaleConnection, hop.method != "POST",
                !Task.isCancelled
            else { break }
        }
        return outcome
    }

    /// Whether the HTTP client parses the URL in the same way, so that it connects to the checked address.
    private static func isReadAlike(_ address: WebAddress) -> Bool {
        guard let url = URL(string: address.text), let host = url.host else { return false }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        return bare == address.host && (url.port ?? address.scheme.defaultPort) == address.port
            && url.scheme == address.scheme.rawValue && url.user == nil && url.password == nil
    }

    /// Sends one request and handles its response.
    private func exchange(
        _ hop: Hop, _ client: HTTPClient, _ forwarder: Proxy?
    ) async -> Result<Step, DownloadFailure> {
        var hop = hop
        // The client connects to a forwarding proxy as to a server; ``AbsoluteTarget`` completes the URL.
        let place = forwarder.map { "http://\($0)" } ?? hop.address.origin.description
        var request = HTTPClientRequest(url: place + hop.address.target)
        request.method = HTTPMethod(rawValue: hop.method)
        for (name, value) in hop.fields { request.headers.replaceOrAdd(name: name, value: value) }
        if hop.address.origin == hop.home, hop.sendsCredential, let credential = key.credential {
            request.headers.replaceOrAdd(name: "Authorization", value: credential.basic)
        }
        if let forwarder {
            request.headers.replaceOrAdd(name: "Host", value: hop.address.origin.authority)
            if let credential = forwarder.credential {
                request.headers.replaceOrAdd(name: "Proxy-Authorization", value: credential.basic)
            }
        }
        if key.handlesCookies, let cookies = parts.cookies.field(for: hop.address) {
            let own = request.headers.first(name: "Cookie").map { "\($0); " } ?? ""
            request.headers.replaceOrAdd(name: "Cookie", value: own + cookies)
        }
        let isValidated = hop.address.text == key.validatedURL
        if isValidated, let tag = key.entityTag { request.headers.replaceOrAdd(name: "If-None-Match", value: tag) }
        if isValidated, let date = key.lastModified {
            request.headers.replaceOrAdd(name: "If-Modified-Since", value: date)
        }
        if hop.partial?.url != hop.address.text { hop.partial = nil }
        if let partial = hop.partial {
            request.headers.replaceOrAdd(name: "Range", value: "bytes=\(partial.source.count)-")
            request.headers.replaceOrAdd(name: "If-Range", value: partial.validator)
        }
        if let body = hop.body { request.body = .bytes(ByteBuffer(bytes: body)) }
        DownloadMetrics.requested()
        pace.beginRequest()
        let start = ContinuousClock.now
        let response: HTTPClientResponse
        do {
            response = try await client.execute(request, deadline: .now() + .hours(24))
        } catch {
            return .failure(DownloadFailure(error, isAnswered: false, parts.configuration))
        }
        hop.timings.firstByte = ContinuousClock.now - start
        DownloadMetrics.answered(Int(response.status.code))
        parts.configuration.logger.debug(
            "answer", metadata: ["url": "\(hop.address.redacted)", "status": "\(response.status.code)"])
        if key.handlesCookies {
            for field in response.headers["set-cookie"] { parts.cookies.store(field, from: hop.address) }
        }
        do throws(DownloadFailure) {
            return .success(try await judge(response, hop))
        } catch {
            var failure = error
            failure.error.httpStatus = failure.error.httpStatus ?? Int(response.status.code)
            return .failure(failure)
        }
    }

    /// Handles a response; reads its body if it is the image.
    private func judge(_ response: HTTPClientResponse, _ hop: Hop) async throws(DownloadFailure) -> Step {
        let status = Int(response.status.code)
        if [301, 302, 303, 307, 308].contains(status), let location = response.headers.first(name: "location") {
            await Self.drain(response)
            guard let target = try? hop.address.resolving(location) else {
                let place = redacted(String(location.prefix(100)))
                throw .permanent("the server redirects to a URL that is not http or https: \(place)")
            }
            return .redirect(to: target, status: status)
        }
        if status == 401, key.credential != nil, !hop.sendsCredential, hop.address.origin == hop.home,
            response.headers["www-authenticate"].contains(where: { $0.lowercased().contains("basic") })
        {
            await Self.drain(response)
            return .challenge
        }
        if hop.partial != nil, status == 416 {
            await Self.drain(response)
            return .startOver
        }
        var facts = ResponseFacts(url: hop.address.text, status: status, headers: [:])
        for (name, value) in response.headers { facts.headers[name.lowercased()] = value }
        let caching = response.headers["cache-control"]
        if caching.count > 1 { facts.headers["cache-control"] = caching.joined(separator: ", ") }
        facts.timings = hop.timings
        facts.timings?.requests += 1
        for modifier in [parts.configuration.response.modifier, responseModifier] {
            guard let modifier else { continue }
            guard let changed = modifier(facts) else {
                throw .permanent("the application refused the response")
            }
            facts = changed
        }
        if facts.status == 304 {
            await Self.drain(response)
            guard key.isConditional, hop.address.text == key.validatedURL else {
                throw DownloadFailure(
                    CoderError(
                        .badStatus, "the server answered 304 Not Modified, but nothing is cached for this URL",
                        httpStatus: 304))
            }
            return .finished(LoadedData(.notModified, response: facts))
        }
        let retryAfter = facts.headers["retry-after"].flatMap { HTTPDate.delay($0, now: CookieJar.now) }
        if let acceptable = parts.configuration.response.acceptableStatus, !acceptable.contains(facts.status) {
            await Self.drain(response)
            throw DownloadFailure(
                CoderError(
                    .badStatus, "the server answered \(facts.status) \(Self.phrase(facts.status))",
                    httpStatus: facts.status),
                retryAfter: retryAfter)
        }
        try check(type: facts.contentType)
        let receiver = BodyReceiver(download: self, hop: hop, status: status, facts: facts)
        return try await receiver.receive(response)
    }

    private func check(type field: String?) throws(DownloadFailure) {
        guard let acceptable = parts.configuration.response.acceptableTypes else { return }
        let type = (field ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
        let kind = type.prefix { $0 != "/" }
        if acceptable.contains(type) || acceptable.contains("\(kind)/*") { return }
        throw DownloadFailure(
            CoderError(
                .badContentType,
                type.isEmpty
                    ? "the server did not declare a content type" : "the server sent \(type), not an image"))
    }

    // MARK: Implementation

    /// Reads a short body to its end, so that the connection can be reused.
    private static func drain(_ response: HTTPClientResponse) async {
        var count = 0
        do {
            for try await part in response.body {
                count += part.readableBytes
                if count > 16 << 10 { return }
            }
        } catch {
            // The body is discarded, so errors are ignored.
        }
    }

    private static func checked<R>(_ body: () throws(CoderError) -> R) throws(DownloadFailure) -> R {
        do throws(CoderError) {
            return try body()
        } catch {
            throw DownloadFailure(error)
        }
    }

    private static func phrase(_ status: Int) -> String { HTTPResponseStatus(statusCode: status).reasonPhrase }

    /// Header fields that the downloader derives from URL and body, and that callers cannot set.
    static let ownFields: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "range", "if-range",
    ]

    /// Header fields that may be sent to another origin; all others may be confidential.
    private static let publicFields: Set<String> = [
        "accept", "accept-encoding", "accept-language", "cache-control", "dnt", "if-modified-since", "if-none-match",
        "pragma", "sec-gpc", "user-agent",
    ]

    static func isSecret(_ name: String) -> Bool { !publicFields.contains(name.lowercased()) }
}

extension Credential {
    /// - Source: RFC 7617 §2.
    var basic: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
}

/// A bounded set of origins.
final class OriginSet: Sendable {
    private static let maxCount = 1000
    private let origins = Mutex<Set<WebAddress.Origin>>([])

    func contains(_ origin: WebAddress.Origin) -> Bool { origins.withLock { $0.contains(origin) } }

    func insert(_ origin: WebAddress.Origin) {
        origins.withLock { origins in
            if origins.count >= Self.maxCount { origins = [] }
            origins.insert(origin)
        }
    }
}
