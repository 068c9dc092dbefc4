import CoderHost
import CommandLineKit
import ImageModel

/// Measures this build, and others beside it, on somebody's own pictures.
enum BenchCommand: Command {
    static let specification = CommandSpecification(
        name: "bench", summary: "measure speed and memory on your own pictures", operands: "FILE|DIR…",
        operandCount: 1...1_000_000,
        examples: [
            ("coderhost bench photo.jpg", "time, pixels a second and peak memory of every operation"),
            ("coderhost bench pictures/ --ops decode --runs 9", "all pictures in a folder"),
            ("coderhost bench photo.heic --against vips,magick", "beside other programs, turn by turn"),
            ("coderhost bench photo.png --ops convert --to webp -q 75", "what is converted into what"),
            ("coderhost bench photo.jpg --json > today.json", "all numbers, for programs"),
            ("perf stat coderhost bench --once --ops decode photo.jpg", "one operation under another tool"),
        ],
        options: [
            OptionSpecification(
                "--ops", value: "NAMES",
                help: "of info,decode,thumbnail,convert,encode these (default: info,decode,thumbnail)"),
            OptionSpecification(
                "--runs", value: "N", help: "how often each is measured, after one run to warm up (default: 5)"),
            OptionSpecification("--threads", value: "N", help: "threads for one image (default: 1)"),
            OptionSpecification(
                "--against", value: "PROGRAMS", help: "of vips,pillow,magick these, where installed (default: none)"),
            OptionSpecification(
                "--to", value: "FORMAT",
                help: "what convert and encode write (default: JPEG, or PNG for a picture with alpha)"),
            OptionSpecification(
                "-q", "--quality", value: "N", help: "for all that write, where the format has it (default: 80)"),
            OptionSpecification(
                "--once", help: "measure nothing: do each operation once, print nothing"),
        ],
        notes: """

            info reads the header and metadata; decode decodes all frames to memory; thumbnail fits the picture into
            256x256 and writes it; convert decodes and writes; encode writes what was decoded before. All but decode
            take the first frame. Times are medians; SPREAD is from least to most, as a share of the median. Compare
            CPU times: they hardly depend on what else the machine does. Peak memory is that of a process of its own;
            ≤ stands where it is not above that of this one. Other programs work as they do by default, but for -q.

            """)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        // As for one of many: what is compared is the time of one processor.
        let host = CoderHost(configuration: try arguments.configuration(imageCount: 2))
        let settings = try BenchSettings(arguments, host)
        Interruption.listen()
        let gathered = BenchPictures(arguments.operands, host)
        if Interruption.signal != nil { return .interrupted }
        if arguments.has("--once") { return once(gathered, settings, host, arguments) }
        let asJSON = arguments.has("--json")
        if !asJSON, !gathered.pictures.isEmpty {
            for one in gathered.skipped {
                Console.error(printable("coderhost: warning: \(one.file) is left out: \(one.error.message)"))
            }
        }
        guard !gathered.pictures.isEmpty else {
            let problem =
                gathered.skipped.first?.error
                ?? CoderError(.notFound, "there is no picture in it", hint: "name files, or a folder with pictures")
            problem.report(arguments.operands[0], arguments)
            return ExitCode(problem.code)
        }
        let folder: TemporaryFolder
        do {
            folder = try TemporaryFolder()
        } catch {
            Console.error("coderhost: no temporary folder can be made: \(error)")
            return .cannotCreate
        }
        var run = BenchRun(gathered, settings, host, folder)
        run.measure()
        // The folder goes here, whatever came.
        withExtendedLifetime(folder) {}
        if Interruption.signal != nil { return .interrupted }
        if asJSON {
            Console.out(run.json.text)
        } else {
            for result in run.results {
                result.error?.report("\(result.operation.rawValue) \(result.picture.file)", arguments)
            }
            run.lines.forEach { Console.out($0) }
        }
        let errors = run.results.compactMap(\.error)
        if errors.isEmpty, !gathered.skipped.contains(where: { $0.isNamed }) { return .success }
        return errors.count == run.results.count && gathered.pictures.count == 1
            ? ExitCode(errors[0].code) : .partialFailure
    }

    /// Each operation once, for the process that is measured from outside.
    private static func once(
        _ gathered: BenchPictures, _ settings: BenchSettings, _ host: CoderHost, _ arguments: ParsedArguments
    ) -> ExitCode {
        if let one = gathered.skipped.first {
            one.error.report(one.file, arguments)
            return ExitCode(one.error.code)
        }
        for picture in gathered.pictures {
            for operation in settings.operations {
                do throws(CoderError) {
                    try operation.prepare(picture, settings, host)()
                } catch {
                    error.report(picture.file, arguments)
                    return ExitCode(error.code)
                }
            }
        }
        return .success
    }
}

/// What is measured, and how.
struct BenchSettings {
    let operations: [BenchOperation]
    let peers: [BenchPeer.Kind]
    let runs: Int
    let quality: Int
    let threads: Int
    /// Nil for what suits the picture.
    let format: ImageFormat?
    /// What a process of its own has to be told, too.
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
        var shared: [String] = []
        for folder in arguments.all("--plugin-dir") { shared += ["--plugin-dir", folder] }
        if let limits = arguments.value("--limits") { shared += ["--limits", limits] }
        self.shared = shared
    }

    /// The members of a comma-separated list, in the order in which there are such.
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
                        "there is no \(what) \(word)",
                        hint: OptionCheck.nearest(name, names).map { "did you mean \($0)?" }
                            ?? "\(what)s: \(names.joined(separator: ", "))", command: "bench")
                }
                wanted.append(name)
            }
        }
        if wanted.isEmpty { wanted = usual.map(\.rawValue) }
        return all.filter { wanted.contains($0.rawValue) }
    }

    func outputFormat(_ picture: BenchPicture, _ host: CoderHost) -> ImageFormat {
        format ?? host.manager.defaultFormat(hasAlpha: picture.hasAlpha)
    }
}
