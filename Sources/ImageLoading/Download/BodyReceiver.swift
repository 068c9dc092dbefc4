import AsyncHTTPClient
import CoderHost
import ImageModel
import NIOCore
import NIOHTTP1

/// Receives the body of a response.
struct BodyReceiver: Sendable {
    let download: Download
    let hop: Download.Hop
    let status: Int
    let facts: ResponseFacts

    private var maxBytes: Int { download.parts.configuration.maxBytes }
    private var isEncoded: Bool { !["", "identity"].contains(encoding) }
    private var encoding: String { (facts.headers["content-encoding"] ?? "").lowercased() }

    func receive(_ response: HTTPClientResponse) async throws(DownloadFailure) -> Download.Step {
        guard !isEncoded || ["gzip", "deflate"].contains(encoding) else {
            throw .permanent("the server used a content encoding that was not requested: \(encoding.prefix(40))")
        }
        // The decompressed length is unknown until the end.
        let length = isEncoded ? nil : response.headers.first(name: "content-length").flatMap { Int($0) }
        var start = 0
        var total = length
        if status == 206 {
            guard let partial = hop.partial else {
                throw .permanent("the server sent a partial response to a full request")
            }
            guard !isEncoded, let range = ContentRange(facts.headers["content-range"] ?? ""),
                range.first == partial.source.count, range.total == nil || range.last + 1 == range.total,
                partial.total == nil || range.total == nil || partial.total == range.total,
                length == nil || length == range.last - range.first + 1, isSameVersion(partial),
                // Without a total length, it is unknown whether this part is the last one.
                range.total ?? partial.total != nil
            else { return .startOver }
            start = range.first
            total = range.total ?? partial.total
            DownloadMetrics.resumed()
        }
        try check(total ?? length ?? 0)
        let source = try start > 0 ? hop.partial!.source : makeSource(total)
        do throws(DownloadFailure) {
            try await read(response, into: source, total)
        } catch {
            keep(source, total)
            throw error
        }
        if let total, source.count < total {
            keep(source, total)
            throw .transient("the connection ended after \(source.count) of \(total) bytes")
        }
        source.finish()
        if source.count == 0 {
            throw DownloadFailure(CoderError(.corrupt, "the server sent an empty file"))
        }
        if download.parts.configuration.response.decryptor == nil, download.decryptor == nil {
            download.report(LoadProgress(source, expected: source.count))
        }
        return .finished(LoadedData(.source(try finished(source, total)), response: timed(source.count)))
    }

    /// Whether a partial response has the same version as the bytes received before; some servers ignore If-Range.
    ///
    /// - Source: RFC 9110, section 15.3.7: a partial response repeats the entity tag, but may omit the modification
    ///   date.
    private func isSameVersion(_ partial: PartialDownload) -> Bool {
        partial.validator.hasPrefix("\"")
            ? facts.headers["etag"] == partial.validator
            : (facts.headers["last-modified"] ?? partial.validator) == partial.validator
    }

    private func read(
        _ response: HTTPClientResponse, into source: ImageSource, _ total: Int?
    ) async throws(DownloadFailure) {
        let needsDecryption = download.parts.configuration.response.decryptor != nil || download.decryptor != nil
        do {
            for try await part in response.body {
                let bytes = Array(part.readableBytesView)
                try check(source.count + bytes.count)
                if let total, source.count + bytes.count > total {
                    throw DownloadFailure.permanent("the server sent more bytes than it announced")
                }
                try source.append(bytes)
                DownloadMetrics.received(bytes.count)
                download.pace.add(bytes.count)
                if source.count == total { continue }
                var progress = LoadProgress(source, expected: total)
                progress.isReadable = !needsDecryption
                download.report(progress)
            }
        } catch let failure as DownloadFailure {
            throw failure
        } catch let error as CoderError {
            throw DownloadFailure(error)
        } catch {
            throw DownloadFailure(error, isAnswered: true, download.parts.configuration)
        }
        if Task.isCancelled { throw .cancelled }
    }

    private func check(_ count: Int) throws(DownloadFailure) {
        guard maxBytes > 0, count > maxBytes else { return }
        throw DownloadFailure(
            CoderError(
                .limitExceeded, "the image has \(count) bytes or more, above the limit of \(maxBytes)",
                hint: "raise the limit of the downloader if the server is trusted",
                limit: .init(
                    name: "download", allowed: UInt64(clamping: maxBytes), requested: UInt64(clamping: count))))
    }

    private func makeSource(_ total: Int?) throws(DownloadFailure) -> ImageSource {
        do throws(CoderError) {
            return try ImageSource(
                growingTo: total ?? (maxBytes > 0 ? maxBytes : 1 << 32), name: hop.address.sourceName, origin: .network)
        } catch {
            throw DownloadFailure(error)
        }
    }

    /// Keeps the received bytes if the server supports resuming.
    private func keep(_ source: ImageSource, _ total: Int?) {
        guard download.parts.configuration.maxPartialBytes > 0, !isEncoded, hop.method == "GET",
            status <= 206,
            status == 206 || facts.headers["accept-ranges"]?.lowercased().contains("bytes") ?? false,
            total.map({ source.count < $0 }) ?? true
        else { return }
        let strong = facts.entityTag.flatMap { $0.hasPrefix("W/") ? nil : $0 }
        guard
            let validator = strong ?? (facts.entityTag == nil ? strongDate : nil)
                ?? (status == 206 ? hop.partial?.validator : nil)
        else { return }
        download.parts.partials.put(
            PartialDownload(source: source, url: hop.address.text, validator: validator, total: total),
            download.key.partialKey)
    }

    /// The modification date, if it is a strong validator: older than the response by at least a second.
    ///
    /// - Source: RFC 9110, sections 8.8.2.2 and 13.1.5.
    private var strongDate: String? {
        guard let text = facts.headers["last-modified"], let changed = HTTPDate.seconds(text),
            let sent = facts.headers["date"].flatMap(HTTPDate.seconds), sent > changed
        else { return nil }
        return text
    }

    /// Returns the bytes, decrypted if requested, without spare memory.
    private func finished(_ source: ImageSource, _ total: Int?) throws(DownloadFailure) -> ImageSource {
        let result: ImageSource
        do throws(CoderError) {
            result = try source.decrypted(
                by: [download.parts.configuration.response.decryptor, download.decryptor], facts)
        } catch {
            throw DownloadFailure(error)
        }
        // For an unknown length, the source has reserved much more address space than needed.
        if result === source, total == nil {
            return ImageSource(source.bytes(0..<source.count), name: source.name, origin: .network)
        }
        return result
    }

    private func timed(_ count: Int) -> ResponseFacts {
        var facts = facts
        facts.timings?.received = count
        return facts
    }
}

/// A `Content-Range` field, for example `bytes 100-199/200`.
///
/// - Source: RFC 9110 §14.4.
struct ContentRange: Hashable {
    var first: Int
    var last: Int
    /// Nil for `*`.
    var total: Int?

    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let sides = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
            return nil
        }
        self.first = first
        self.last = last
        if sides[1] != "*" {
            guard let total = Self.number(sides[1]), last < total else { return nil }
            self.total = total
        }
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
    }
}
