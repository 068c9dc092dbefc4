import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Prints the directory of the cache, or the file of one entry.
enum CachePath: CacheVerb {
    static let name = "path"
    static let summary = "print the directory of the cache, or the file of an entry"
    static let operands = "[URL]"
    static let operandCount = 0...1
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache path", "print the cache directory"),
        (
            "coderhost cache path https://example.org/photo.jpg",
            "print the file of an entry; exit code 66 if missing"
        ),
    ]

    static let options = [NetworkSwitches.header]

    static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) throws(UsageError) -> ExitCode {
        let isJSON = arguments.has("--json")
        guard let url = operands.first else {
            Console.out(
                isJSON
                    ? JSONValue.object([("schema", .integer(1)), ("directory", .string(cache.directory))]).text
                    : cache.directory)
            return .success
        }
        if url.firstIndex(of: ":") == nil {
            throw UsageError(
                "invalid URL \(printable(url)): no scheme", hint: "for example https://example.org/photo.jpg"
            )
        }
        var request = ImageRequest(url)
        request.options.request.headers = try NetworkSwitches.headers(arguments)
        let key = CacheKey(request).original
        guard cache.contains(key) else {
            let error = CoderError(
                .notFound, "not in the cache",
                hint: mayBeKept(url)
                    ? "to download it: coderhost cache warm URL"
                    : "the cache stores only http and https URLs")
            if isJSON {
                Console.out(FetchOutcome.json(redacted(url), error).text)
            } else {
                for line in error.lines(file: redacted(url)) { Console.error(line) }
            }
            return ExitCode(error.code)
        }
        let path = cache.path(for: key)
        Console.out(
            isJSON
                ? JSONValue.object([
                    ("schema", .integer(1)), ("url", .string(redacted(url))), ("path", .string(path)),
                ]).text : path)
        return .success
    }
}
