import CoderHost
import CommandLineKit
import ImageModel

/// Measures this build, and optionally other programs, on the user's images.
enum BenchCommand: Command {
    static let specification = CommandSpecification(
        name: "bench", summary: "measure speed and memory on your own images", operands: "FILE|DIR…",
        operandCount: 1...1_000_000,
        examples: [
            ("coderhost bench photo.jpg", "time, throughput and peak memory of each operation"),
            ("coderhost bench images/ --ops decode --runs 9", "all images in a folder"),
            ("coderhost bench photo.heic --against vips,magick", "compare with other programs"),
            ("coderhost bench photo.png --ops convert --to webp -q 75", "convert PNG to WebP at quality 75"),
            ("coderhost bench photo.jpg --json > today.json", "all results as JSON"),
            ("perf stat coderhost bench --once --ops decode photo.jpg", "run one operation under a profiler"),
        ],
        options: [
            OptionSpecification(
                "--ops", value: "NAMES", isList: true,
                help: "operations: info,decode,thumbnail,convert,encode (default: the first three)"),
            OptionSpecification(
                "--runs", value: "N", help: "measured runs per operation, after one warm-up run (default: 5)"),
            .threads(default: "1"),
            OptionSpecification(
                "--against", value: "PROGRAMS", isList: true,
                help: "compare with installed programs: vips,pillow,magick (default: none)"),
            OptionSpecification(
                "--to", value: "FORMAT",
                help: "output format of convert and encode (default: JPEG, or PNG with alpha)"),
            OptionSpecification(
                "-q", "--quality", value: "N", help: "output quality, 0 to 100, if the format has one (default: 80)"),
            OptionSpecification(
                "--once", help: "run each operation once; measure and print nothing"),
        ],
        notes: """

            Operations: info reads header and metadata; decode decodes all frames; thumbnail writes an image
            that fits 256x256; convert decodes and encodes; encode only encodes. All except decode use the
            first frame. Times are medians; SPREAD is the range divided by the median. Compare CPU times:
            other load on the machine hardly changes them. Peak memory is measured in a separate process; ≤
            marks an upper bound, the peak of this process. Other programs run with their defaults, except for
            -q.

            """)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        // The image count 2 selects one thread per image, so that CPU times of single threads are compared.
        let host = CoderHost(configuration: try arguments.configuration(imageCount: 2))
        let settings = try BenchSettings(arguments, host)
        Interruption.listen()
        let gathered = BenchImages(arguments.operands, host)
        if Interruption.signal != nil { return .interrupted }
        if arguments.has("--once") { return once(gathered, settings, host, arguments) }
        let asJSON = arguments.has("--json")
        if !asJSON, !gathered.images.isEmpty {
            for one in gathered.skipped {
                Console.error(printable("coderhost: warning: \(one.file) is skipped: \(one.error.message)"))
            }
        }
        guard !gathered.images.isEmpty else {
            let problem =
                gathered.skipped.first?.error
                ?? CoderError(.notFound, "the folder has no images", hint: "pass files, or a folder with images")
            problem.report(arguments.operands[0], arguments)
            return ExitCode(problem.code)
        }
        let folder: TemporaryFolder
        do {
            folder = try TemporaryFolder()
        } catch {
            Console.error("coderhost: cannot create a temporary folder: \(error)")
            return .cannotCreate
        }
        var run = BenchRun(gathered, settings, host, folder)
        run.measure()
        // The temporary folder lives until here.
        withExtendedLifetime(folder) {}
        if Interruption.signal != nil { return .interrupted }
        if asJSON {
            Console.out(run.json.text)
        } else {
            for result in run.results {
                result.error?.report("\(result.operation.rawValue) \(result.image.file)", arguments)
            }
            run.lines.forEach { Console.out($0) }
        }
        let errors = run.results.compactMap(\.error)
        if errors.isEmpty, !gathered.skipped.contains(where: { $0.isNamed }) { return .success }
        return errors.count == run.results.count && gathered.images.count == 1
            ? ExitCode(errors[0].code) : .partialFailure
    }

    /// Runs each operation once, for a process that an external tool measures.
    private static func once(
        _ gathered: BenchImages, _ settings: BenchSettings, _ host: CoderHost, _ arguments: ParsedArguments
    ) -> ExitCode {
        if let one = gathered.skipped.first {
            one.error.report(one.file, arguments)
            return ExitCode(one.error.code)
        }
        for image in gathered.images {
            for operation in settings.operations {
                do throws(CoderError) {
                    try operation.prepare(image, settings, host)()
                } catch {
                    error.report(image.file, arguments)
                    return ExitCode(error.code)
                }
            }
        }
        return .success
    }
}

/// The settings of a measurement.
struct BenchSettings {
    let operations: [BenchOperation]
    let peers: [BenchPeer.Kind]
    let runs: Int
    let quality: Int
    let threads: Int
    /// The output format; nil to choose by image.
    let format: ImageFormat?
    /// The options to pass on to the measured processes.
    let shared: [String]

    init(_ arguments: ParsedArguments, _ host: CoderHost) throws(UsageError) {
        operations = try Self.list(
            arguments.all("--ops"), BenchOperation.allCases, "operation", or: [.info, .decode, .thumbnail])
        peers = try Self.list(arguments.all("--against"), BenchPeer.Kind.allCases, "program", or: [])
        runs = try arguments.integer("--runs", 1...10_000) ?? 5
        quality = try arguments.integer("--quality", 0...100) ?? 80
        threads = host.configuration.threadsPerImage
        format = arguments.value("--to").map { host.manager.format(named: $0.lowercased()) }
        if let format, !host.manager.canEncode(to: format) {
            let absence = host.manager.absence(ofEncoderFor: format)
            throw UsageError("--to \(format.id): \(absence.message)", hint: absence.hint)
        }
        shared = ["--plugin-dir", "--trust", "--limits", "--isolation", "--workers"].flatMap { key in
            arguments.all(key).flatMap { [key, $0] }
        }
    }

    /// Parses a comma-separated list; the result has the order of `all`.
    private static func list<Choice: RawRepresentable<String>>(
        _ texts: [String], _ all: [Choice], _ what: String, or usual: [Choice]
    ) throws(UsageError) -> [Choice] {
        let names = all.map(\.rawValue)
        var wanted: [String] = []
        for text in texts {
            for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                let name = word.lowercased()
                guard names.contains(name) else {
                    throw UsageError(
                        "unknown \(what) \(word)",
                        hint: OptionCheck.nearest(name, names).map { "did you mean \($0)?" }
                            ?? "\(what)s: \(names.joined(separator: ", "))", command: "bench")
                }
                wanted.append(name)
            }
        }
        if wanted.isEmpty { wanted = usual.map(\.rawValue) }
        return all.filter { wanted.contains($0.rawValue) }
    }

    func outputFormat(_ image: BenchImage, _ host: CoderHost) -> ImageFormat {
        format ?? host.manager.defaultFormat(animated: false, alpha: image.hasAlpha) ?? image.format
    }
}
