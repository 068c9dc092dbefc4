import CommandLineKit
import ImageLoading
import ImageModel

/// The network options: allowed hosts, headers, timeouts, retries and limits.
struct NetworkSwitches {
    var downloader: DownloaderConfiguration
    let headers: [String: String]
    /// Whether file: URLs are allowed.
    let allowsPrivate: Bool
    /// When to ask the server for a cached file.
    let freshness: CachePolicy.Freshness

    static let specification = [
        OptionSpecification(
            "--allow-host", value: "HOST", isList: true,
            help: "allow HOST[:PORT] at any address (may be repeated; default: none)"),
        OptionSpecification(
            "--allow-private", help: "allow this machine, private networks and file: URLs"),
        header,
        OptionSpecification(
            "--ca-file", value: "FILE", isList: true,
            help: "trust these certificates (PEM) too, as SSL_CERT_FILE (may be repeated; default: none)"),
        OptionSpecification(
            "--timeout", value: "SECONDS", help: "timeout without data from the server, in seconds (default: 15)"),
        OptionSpecification(
            "--max-time", value: "SECONDS",
            help: "timeout per file with retries, in seconds; 0: none (default: 600)"),
        OptionSpecification(
            "--min-rate", value: "SIZE",
            help: "minimum bytes per second, averaged over 30 s; 0: none (default: 1k)"),
        OptionSpecification(
            "--retries", value: "N",
            help: "retries after lost connections, timeouts, busy servers (default: 2)"),
        OptionSpecification(
            "--max-bytes", value: "SIZE",
            help: "maximum bytes per file, also from cache; k, M, G (default: 200M or less)"),
        OptionSpecification("--refresh", help: "revalidate cached files with the server"),
        OptionSpecification("--refresh-stale", help: "revalidate cached files whose lifetime (Cache-Control) is over"),
        OptionSpecification(
            "-j", "--jobs", value: "N", help: "parallel downloads (default: 6)"),
    ]

    static let header = OptionSpecification(
        "--header", value: "'NAME: VALUE'", isList: true,
        help: "send this header; cached separately (may be repeated; default: none)")

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var downloader = DownloaderConfiguration()
        allowsPrivate = arguments.has("--allow-private")
        freshness = arguments.has("--refresh") ? .revalidate : arguments.has("--refresh-stale") ? .http : .ignored
        downloader.queue.maxConcurrent = try arguments.integer("--jobs", 1...256) ?? downloader.queue.maxConcurrent
        downloader.servers.addresses.allowsPrivate = allowsPrivate
        for text in arguments.all("--allow-host") {
            do throws(CoderError) {
                downloader.servers.addresses.allowedHosts.append(try HostRule(text))
            } catch {
                throw UsageError(
                    "invalid --allow-host value \"\(text)\"", hint: "for example example.org or [::1]:8080")
            }
        }
        downloader.servers.trustedCertificates += arguments.all("--ca-file")
        if let seconds = try arguments.real("--timeout", 0...86_400) {
            guard seconds > 0 else {
                throw UsageError(
                    "invalid --timeout value 0: expected more than 0 seconds", hint: "for example --timeout 15")
            }
            downloader.timeouts.idle = .milliseconds(Int(max(1, seconds * 1000)))
            downloader.timeouts.connect = downloader.timeouts.idle
        }
        if let seconds = try arguments.real("--max-time", 0...864_000) {
            downloader.timeouts.total = seconds > 0 ? .milliseconds(Int(max(1, seconds * 1000))) : nil
        }
        if let rate = try arguments.byteCount("--min-rate", allowsZero: true) {
            downloader.timeouts.minimumRate = rate > 0 ? MinimumRate(bytesPerSecond: rate) : nil
        }
        let retries = try arguments.integer("--retries", 0...100) ?? 2
        downloader.retry = RetryPolicy(maxCount: retries)
        // Does not download more than the decoders accept.
        let taken = try arguments.limits().maxInputBytes
        if taken > 0 { downloader.maxBytes = min(downloader.maxBytes, taken) }
        if let count = try arguments.byteCount("--max-bytes") { downloader.maxBytes = count }
        headers = try Self.headers(arguments)
        self.downloader = downloader
    }

    static func headers(_ arguments: ParsedArguments) throws(UsageError) -> [String: String] {
        let texts = arguments.all("--header")
        var result: [String: String] = [:]
        for (index, text) in texts.enumerated() {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let name = parts[0]
            let isName = !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            let value = parts.count == 2 ? trimmed(parts[1]) : ""
            guard isName, parts.count == 2, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 9 }) else {
                // The message does not repeat the value, because a header may be a secret.
                throw UsageError(
                    texts.count == 1 ? "invalid --header value" : "invalid --header value number \(index + 1)",
                    hint: "use 'NAME: VALUE', such as 'Authorization: Bearer x'")
            }
            if result.contains(where: { $0.key.lowercased() == name.lowercased() }) {
                throw UsageError("--header sets \(name) twice", hint: "join its values with commas in one header")
            }
            if Downloader.setsItself(name) {
                throw UsageError("--header \(name) is not allowed: the downloader sets it", hint: "remove it")
            }
            result[name] = value
        }
        return result
    }

    private static func trimmed(_ text: String) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
