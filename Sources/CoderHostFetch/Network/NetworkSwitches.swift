import CommandLineKit
import ImageLoading
import ImageModel

/// What a person said about who may be asked, how, and for how long.
struct NetworkSwitches {
    var downloader: DownloaderConfiguration
    let headers: [String: String]
    /// Whether files of this machine may be read by their URL.
    let allowsPrivate: Bool
    let asksAgain: Bool

    static let specification = [
        OptionSpecification(
            "--allow-host", value: "HOST",
            help:
                "ask this host whatever address it has, such as intranet.example:8080 (may be repeated; default: none)"),
        OptionSpecification(
            "--allow-private", help: "also ask this machine and the networks around it, and read file: URLs"),
        header,
        OptionSpecification(
            "--timeout", value: "SECONDS", help: "how long a server may send nothing (default: 15)"),
        OptionSpecification(
            "--max-time", value: "SECONDS",
            help: "how long one file may take with all attempts; 0 is no limit (default: 600)"),
        OptionSpecification(
            "--min-rate", value: "SIZE",
            help: "bytes per second that have to arrive, averaged over 30 s; 0 is any rate (default: 1k)"),
        OptionSpecification(
            "--retries", value: "N",
            help: "more attempts after a lost connection, silence, or a busy server (default: 2)"),
        OptionSpecification(
            "--max-bytes", value: "SIZE",
            help: "bytes that one file may have, also in the cache; k, M, G (default: 200 MiB at most)"),
        OptionSpecification("--refresh", help: "ask the server whether what is cached is still good"),
        OptionSpecification(
            "-j", "--jobs", value: "N", help: "transfers at a time (default: 6)"),
    ]

    static let header = OptionSpecification(
        "--header", value: "'NAME: VALUE'",
        help: "send this field, too; what is cached is for the same fields alone (may be repeated; default: none)")

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var downloader = DownloaderConfiguration()
        allowsPrivate = arguments.has("--allow-private")
        asksAgain = arguments.has("--refresh")
        downloader.maxConcurrent = try arguments.integer("--jobs", 1...256) ?? downloader.maxConcurrent
        downloader.addresses.allowsPrivate = allowsPrivate
        for text in arguments.all("--allow-host") {
            do throws(CoderError) {
                downloader.addresses.allowedHosts.append(try HostRule(text))
            } catch {
                throw UsageError("--allow-host \(text) is no host", hint: "write it like example.org or [::1]:8080")
            }
        }
        if let seconds = try arguments.real("--timeout", 0...86_400) {
            guard seconds > 0 else { throw UsageError("--timeout 0 leaves no time", hint: "name some seconds") }
            downloader.timeout = .milliseconds(Int(max(1, seconds * 1000)))
            downloader.connectTimeout = downloader.timeout
        }
        if let seconds = try arguments.real("--max-time", 0...864_000) {
            downloader.totalTimeout = seconds > 0 ? .milliseconds(Int(max(1, seconds * 1000))) : nil
        }
        if let rate = try arguments.byteCount("--min-rate", allowsZero: true) {
            downloader.minimumRate = rate > 0 ? MinimumRate(bytesPerSecond: rate) : nil
        }
        let retries = try arguments.integer("--retries", 0...100) ?? 2
        downloader.retry = RetryPolicy(maxCount: retries)
        // What no decoder takes is not worth its way.
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
                // What it says may be a secret, wherever the colon is missing.
                throw UsageError(
                    texts.count == 1 ? "--header is no field" : "--header number \(index + 1) is no field",
                    hint: "write 'NAME: VALUE', such as 'Authorization: Bearer x'")
            }
            if result.contains(where: { $0.key.lowercased() == name.lowercased() }) {
                throw UsageError("--header names \(name) twice", hint: "write its values in one field, with commas")
            }
            if Downloader.setsItself(name) {
                throw UsageError("--header \(name) is set by the transfer itself", hint: "leave it out")
            }
            result[name] = value
        }
        return result
    }

    private static func trimmed(_ text: String) -> String {
        String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
