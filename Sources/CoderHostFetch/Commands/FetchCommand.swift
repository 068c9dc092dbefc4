import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Downloads images by URL.
enum FetchCommand: NetworkCommand {
    /// The options for inputs and outputs.
    private static let transferOptions = [
        .output("file, folder/, - (stdout) or template of {stem} {ext} {n} {w} {h} (default: as in URL)"),
        .format(default: "by output name, else as downloaded"),
        OptionSpecification(
            "--progressive-to", value: "DIR",
            help: "write PNG previews into DIR, if the format provides any (default: none)"),
        .noMkdir, .mkdir, .noOverwrite,
        OptionSpecification("--overwrite", help: "replace existing files even without -o"),
        OptionSpecification("--no-cache", help: "neither read nor write the cache"),
        OptionSpecification("--offline", help: "read the cache only, no network"),
    ]

    /// The options of `convert` for changing the image.
    private static let image: [OptionSpecification] =
        [.resize, .max] + ImageChanges.specification + ImageChanges.transforms + EncodingSwitches.specification
        + EncodingSwitches.stillSpecification + [.limitBytes, .frame, .firstFrame]
        + MetadataParts.options(kept: "all") + [.coder, .budget]

    static let specification = CommandSpecification(
        name: "fetch", summary: NetworkProgram.summary(of: "fetch"), operands: "URL…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost fetch https://example.org/photo.jpg", "download to photo.jpg, byte for byte"),
            ("coderhost fetch https://example.org/a.heic -o a.png", "download and convert to PNG"),
            ("coderhost fetch --resize 800 -o '{stem}-{n}.webp' URL…", "resize many, name by a template"),
            ("coderhost fetch --progressive-to previews/ URL", "also write previews"),
            ("coderhost fetch --allow-private http://192.168.0.9/cam.jpg", "allow the local network"),
            ("coderhost fetch --json --no-cache URL -o - > photo", "JSON report; image to standard output"),
        ],
        options: transferOptions + NetworkSwitches.specification + CacheSwitches.specification + image,
        notes: """

            Without changes, the file is written byte for byte, after decoding it completely as a check.
            Exit code 77: the address is local or private; use --allow-private or --allow-host.
            Proxies: the variables http_proxy, https_proxy and no_proxy.

            """)

    @MainActor static func run(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
        try refuseContradictions(arguments)
        let job = try FetchJob(arguments)
        let isJSON = arguments.has("--json")
        let batch = Batch<FetchOutcome>(arguments.operands.map { redacted($0) }, showsProgress: false) {
            number, label, result in
            job.bars.aside { job.report(number, label, result, asJSON: isJSON) }
        }
        return await batch.run(
            width: job.network.jobs, watching: job.bars, closing: job.network, leaving: { job.leave(number: $0) }
        ) { number async throws(CoderError) in
            try await job.fetch(number: number)
        }
    }

    private static func refuseContradictions(_ arguments: ParsedArguments) throws(UsageError) {
        for other in ["--no-cache", "--refresh", "--refresh-stale"]
        where arguments.has("--offline") && arguments.has(other) {
            throw UsageError(
                "--offline cannot be combined with \(other)",
                hint: "remove one of the two", command: "fetch")
        }
        if arguments.has("--overwrite"), arguments.has("--no-overwrite") {
            throw UsageError(
                "--overwrite cannot be combined with --no-overwrite", hint: "remove one of the two",
                command: "fetch")
        }
    }
}
