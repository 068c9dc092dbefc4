import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Tells where the cache is, or the file of one picture.
enum CachePath: CacheVerb {
    static let name = "path"
    static let summary = "tell where the cache is, or the file of one picture"
    static let operands = "[URL]"
    static let operandCount = 0...1
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache path", "the folder of the cache"),
        (
            "coderhost cache path https://example.org/photo.jpg",
            "the file of a picture; ends with 66 where there is none"
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
                "\(printable(url)) is no URL, for it has no scheme", hint: "write it like https://example.org/photo.jpg"
            )
        }
        var request = ImageRequest(url)
        request.options.headers = try NetworkSwitches.headers(arguments)
        let key = CacheKey(request).original
        guard cache.contains(key) else {
            let error = CoderError(
                .notFound, "it is not in the cache",
                hint: mayBeKept(url)
                    ? "coderhost cache warm URL gets it, coderhost cache ls lists all"
                    : "only what comes by http or https is kept there")
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
