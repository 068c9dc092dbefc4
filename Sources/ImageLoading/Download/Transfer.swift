import AsyncHTTPClient
import CoderHost
import FoundationEssentials
import ImageModel
import ImageProcessing
import Logging
import NIOCore
import NIOHTTP1
import Synchronization

/// What makes two downloads one: everything that changes what arrives.
struct TransferKey: Hashable, Sendable {
    /// After all that changes requests.
    var request: OutgoingRequest
    /// What tells the cached version apart from others; the server may answer that it is still the last.
    var entityTag: String?
    var lastModified: String?
    /// The URL whose server said so; they mean nothing to others.
    var validatedURL: String
    var credential: Credential?
    var allowsInvalidCertificates: Bool
    var handlesCookies: Bool
    /// Of a download that shares with nobody, because functions of its own decide what becomes of it.
    var loner: Int?

    var isConditional: Bool { entityTag != nil || lastModified != nil }
    var partialKey: PartialStore.Key {
        PartialStore.Key(
            request: request, credential: credential, allowsInvalidCertificates: allowsInvalidCertificates,
            handlesCookies: handlesCookies)
    }
}

/// What all transfers of a downloader share.
struct TransferParts: Sendable {
    var configuration: DownloaderConfiguration
    var pool: ClientPool
    var partials: PartialStore
    var cookies: CookieJar
    /// Origins that have asked for a credential.
    var challenged: OriginSet
}

/// One picture's way from the first request to the last byte.
struct Transfer: Sendable {
    let parts: TransferParts
    let key: TransferKey
    let responseModifier: ResponseModifier?
    let decryptor: Decryptor?
    let report: @Sendable (LoadProgress) -> Void
    let pace = TransferPace()

    /// What one request and its answer lead to.
    enum Step: Sendable {
        case finished(LoadedData)
        case redirect(to: WebAddress, status: Int)
        /// The server wants to know who asks.
        case challenge
        /// What was kept of an earlier transfer is of no use.
        case startOver
    }

    /// One request of a transfer.
    struct Hop: Sendable {
        var address: WebAddress
        var method: String
        var fields: [String: String]
        var body: [UInt8]?
        /// The origin that the picture was asked of; secrets are for it alone.
        var home: WebAddress.Origin
        var sendsCredential: Bool
        var partial: PartialTransfer?
        var timings = TransferTimings()
    }

    /// - Throws: what went wrong, see ``CoderError/Code``.
    func run() async throws(TransferFailure) -> LoadedData {
        let start = ContinuousClock.now
        let address = try Self.checked { () throws(CoderError) in try WebAddress(key.request.url) }
        var hop = Hop(
            address: address, method: key.request.method, fields: key.request.headers, body: key.request.body,
            home: address.origin, sendsCredential: parts.challenged.contains(address.origin))
        hop.fields = hop.fields.filter { name, _ in !Self.ownFields.contains(name.lowercased()) }
        if parts.configuration.resumesTransfers, !key.isConditional, hop.method == "GET" {
            hop.partial = parts.partials.take(key.partialKey)
        }
        var redirects = 0
        var isChallenged = false
        while true {
            let outcome = await request(&hop)
            // What was kept is good for another attempt, unless this one has left more.
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
                guard redirects <= parts.configuration.maxRedirects else {
                    throw .bad("the server redirects more than \(parts.configuration.maxRedirects) times", status)
                }
                guard hop.address.scheme != .https || target.scheme == .https || parts.configuration.allowsDowngrade
                else {
                    throw .bad("the server redirects from https to http, which anybody can read and change", status)
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
                guard !isChallenged else { throw .bad("the server asks again for a credential that it has got", 401) }
                isChallenged = true
                hop.sendsCredential = true
                parts.challenged.insert(hop.home)
            case .startOver: hop.partial = nil
            }
        }
    }

    /// Resolves, looks at every address, connects to one that was looked at.
    private func request(_ hop: inout Hop) async -> Result<Step, TransferFailure> {
        let configuration = parts.configuration
        let addresses: [IPAddress]
        do throws(CoderError) {
            try configuration.addresses.check(host: hop.address)
            let start = ContinuousClock.now
            if let literal = hop.address.address {
                addresses = [literal]
            } else {
                addresses = try await configuration.resolver.addresses(of: hop.address.host)
            }
            hop.timings.resolution += ContinuousClock.now - start
            try configuration.addresses.check(addresses, of: hop.address)
        } catch {
            if error.code == .addressDenied { DownloadMetrics.blocked("address") }
            return .failure(TransferFailure(error))
        }
        guard Self.isReadAlike(hop.address) else {
            return .failure(TransferFailure(WebAddress.invalid("it can be read in more than one way")))
        }
        var outcome = Result<Step, TransferFailure>.failure(
            .passing("the host has no address"))
        // More than a few that do not answer are no better than none.
        for address in addresses.prefix(6) {
            let place = ClientPool.Key(
                host: hop.address.host, address: address, isName: hop.address.address == nil,
                usesTLS: hop.address.scheme == .https, allowsInvalidCertificates: key.allowsInvalidCertificates)
            // A kept connection that the server has closed meanwhile deserves another one.
            for _ in 0..<2 {
                let current = hop
                guard let answer = await parts.pool.withClient(place, { await exchange(current, $0) }) else {
                    return .failure(.cancelled)
                }
                hop.timings.requests += 1
                outcome = answer
                guard case .failure(let failure) = answer, failure.isStaleConnection, hop.method != "POST",
                    !Task.isCancelled
                else { break }
            }
            guard case .failure(let failure) = outcome, failure.isBeforeConnection else { return outcome }
        }
        return outcome
    }

    /// Whether the client's own reading of the URL is ours, so that it connects to the address it was told.
    private static func isReadAlike(_ address: WebAddress) -> Bool {
        guard let url = URL(string: address.text), let host = url.host else { return false }
        let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        return bare == address.host && (url.port ?? address.scheme.defaultPort) == address.port
            && url.scheme == address.scheme.rawValue && url.user == nil && url.password == nil
    }

    /// One request and its answer.
    private func exchange(_ hop: Hop, _ client: HTTPClient) async -> Result<Step, TransferFailure> {
        var hop = hop
        var request = HTTPClientRequest(url: hop.address.text)
        request.method = HTTPMethod(rawValue: hop.method)
        for (name, value) in hop.fields { request.headers.replaceOrAdd(name: name, value: value) }
        if hop.address.origin == hop.home, hop.sendsCredential, let credential = key.credential {
            request.headers.replaceOrAdd(name: "Authorization", value: credential.basic)
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
            return .failure(TransferFailure(error, isAnswered: false, parts.configuration))
        }
        hop.timings.firstByte = ContinuousClock.now - start
        DownloadMetrics.answered(Int(response.status.code))
        parts.configuration.logger.debug(
            "answer", metadata: ["url": "\(hop.address.redacted)", "status": "\(response.status.code)"])
        if key.handlesCookies {
            for field in response.headers["set-cookie"] { parts.cookies.store(field, from: hop.address) }
        }
        do throws(TransferFailure) {
            return .success(try await judge(response, hop))
        } catch {
            var failure = error
            failure.error.httpStatus = failure.error.httpStatus ?? Int(response.status.code)
            return .failure(failure)
        }
    }

    /// What an answer means; reads its body when it is the picture.
    private func judge(_ response: HTTPClientResponse, _ hop: Hop) async throws(TransferFailure) -> Step {
        let status = Int(response.status.code)
        if [301, 302, 303, 307, 308].contains(status), let location = response.headers.first(name: "location") {
            await Self.drain(response)
            guard let target = try? hop.address.resolving(location) else {
                let place = redacted(String(location.prefix(100)))
                throw .bad("the server redirects to what is no http or https URL: \(place)")
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
        for modifier in [parts.configuration.responseModifier, responseModifier] {
            guard let modifier else { continue }
            guard let changed = modifier(facts) else {
                throw .bad("the application does not take what the server said")
            }
            facts = changed
        }
        if facts.status == 304 {
            await Self.drain(response)
            guard key.isConditional, hop.address.text == key.validatedURL else {
                throw TransferFailure(
                    CoderError(
                        .badStatus, "the server says that nothing has changed, but nothing is here", httpStatus: 304))
            }
            return .finished(LoadedData(.notModified, response: facts))
        }
        let retryAfter = facts.headers["retry-after"].flatMap { HTTPDate.delay($0, now: CookieJar.now) }
        if let acceptable = parts.configuration.acceptableStatus, !acceptable.contains(facts.status) {
            await Self.drain(response)
            throw TransferFailure(
                CoderError(
                    .badStatus, "the server answered \(facts.status) \(Self.phrase(facts.status))",
                    httpStatus: facts.status),
                retryAfter: retryAfter)
        }
        try check(type: facts.contentType)
        let reception = Reception(transfer: self, hop: hop, status: status, facts: facts)
        return try await reception.receive(response)
    }

    private func check(type field: String?) throws(TransferFailure) {
        guard let acceptable = parts.configuration.acceptableTypes else { return }
        let type = (field ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
        let kind = type.prefix { $0 != "/" }
        if acceptable.contains(type) || acceptable.contains("\(kind)/*") { return }
        throw TransferFailure(
            CoderError(
                .badContentType,
                type.isEmpty
                    ? "the server does not say what kind of content it sends" : "the server sends \(type), no picture"))
    }

    // MARK: Parts

    /// Reads a short body to its end, so that the connection can be used again.
    private static func drain(_ response: HTTPClientResponse) async {
        var count = 0
        do {
            for try await part in response.body {
                count += part.readableBytes
                if count > 16 << 10 { return }
            }
        } catch {
            // Nobody wants it.
        }
    }

    private static func checked<R>(_ body: () throws(CoderError) -> R) throws(TransferFailure) -> R {
        do throws(CoderError) {
            return try body()
        } catch {
            throw TransferFailure(error)
        }
    }

    private static func phrase(_ status: Int) -> String { HTTPResponseStatus(statusCode: status).reasonPhrase }

    /// Fields that follow from the URL and the body, and must not say anything else.
    static let ownFields: Set<String> = [
        "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "range", "if-range",
    ]

    /// Fields that may be told to another origin: whatever else a caller sends may be meant for the first one alone.
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

/// Origins that are remembered.
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
