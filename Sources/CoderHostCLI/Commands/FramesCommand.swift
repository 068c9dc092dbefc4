import CoderHost
import CommandLineKit
import ImageModel

/// Lists, extracts and assembles the frames of animations.
enum FramesCommand: Command {
    static let specification = CommandSpecification(
        name: "frames", summary: "list, extract and assemble the frames of animations",
        operands: "info|extract|assemble FILE…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost frames info cat.gif", "list all frames"),
            ("coderhost frames info --decode *.gif", "check that all frames decode"),
            ("coderhost frames extract cat.gif -o 'cat-{n:04}.png' --timing cat.json", "one image per frame"),
            ("coderhost frames extract cat.gif -o frames/", "write frames/cat-0.png and so on"),
            ("coderhost frames extract --items burst.heic -o 'burst-{n}.png'", "all images of the file"),
            ("coderhost frames assemble cat-*.png -o cat.webp --timing cat.json", "rebuild the animation"),
            ("coderhost frames assemble --timing cat.json -o cat.gif", "use the images that the timing file lists"),
            ("coderhost frames assemble *.png -o film.gif --fps 25 --loop forever", "make an animation from images"),
            ("coderhost frames assemble *.png -o film.apng --delay 1/30", "show each frame for exactly 1/30 s"),
            ("coderhost frames assemble scan-*.png -o scan.tif", "make one file with a page per image"),
        ],
        options: [
            .output("folder/, or template with {n} (frame number), {stem}, {dir}, {tree}").limited(to: ["extract"]),
            .output("output file, or - for stdout").limited(to: ["assemble"]),
            .format(default: "from the output's name").limited(to: writing),
            OptionSpecification(
                "--timing", value: "FILE", of: ["extract"],
                help: "write durations and loop count to FILE or - (default: none)"),
            OptionSpecification(
                "--items", of: ["extract"],
                help: "write all images (pages, thumbnails, auxiliary) instead of frames"),
            OptionSpecification("--raw", of: ["extract"], help: "write frames as stored, not composited"),
            OptionSpecification(
                "--incomplete", of: ["extract"],
                help: "write the complete frames of a truncated file, or part of frame 0"),
            OptionSpecification(
                "--timing", value: "FILE", of: ["assemble"],
                help: "read order, durations and loop count from FILE or - (default: none)"),
            OptionSpecification(
                "--fps", value: "N", of: ["assemble"],
                help: "frames per second if --timing has none (default: 10, or as in input)"),
            OptionSpecification(
                "--delay", value: "MS|N/D", of: ["assemble"],
                help: "duration in ms (33.3) or s (1/30) (default: 1/10, or as in input)"),
            OptionSpecification(
                "--speed", value: "X", of: ["assemble"],
                help: "playback speed: 2x halves every duration; also 0.5 or 150% (default: 1x)"),
            OptionSpecification("--reverse", of: ["assemble"], help: "write the last frame first"),
            OptionSpecification(
                "--loop", value: "N|forever", of: ["assemble"],
                help: "plays (default: as in --timing or a single input, else forever)"),
            OptionSpecification("--decode", of: ["info"], help: "decode all frames; a failed frame is an error"),
        ] + (OptionSpecification.inputs.map { $0.limited(to: ["info", "extract"]) })
            + [OptionSpecification.noMkdir.limited(to: ["extract"])]
            + ([.noOverwrite, .verbose] + EncodingSwitches.specification).map { $0.limited(to: writing) }, notes: notes,
        verbs: ["info", "extract", "assemble"].map { CommandSpecification.Verb($0) })

    /// The subcommands that write files.
    private static let writing = ["extract", "assemble"]

    private static let notes = """

        Without a subcommand, frames FILE means info, and frames FILE -o FOLDER/ means extract.
        info: --decode prints a warning, not an error, for damage that a coder repairs, as the GIF coder
        does.
        extract: images without file extension are PNG. Images of --raw can be smaller than the canvas;
        frames info lists their positions, --timing does not.
        assemble: a format with pages or sizes holds every image as it is.
        --timing can be -. Consecutive equal images can become one longer frame. A single frame
        becomes a still image, except in GIF. The color space is that of the first image. A folder stands
        for its images.
        With several files, info and extract continue after a failed file; the exit code is then 1.

        """

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        var verb = arguments.operands[0]
        var files = Array(arguments.operands.dropFirst())
        if !specification.verbNames.contains(verb), verb == "-" || FileStatus.of(verb) != nil {
            files = arguments.operands
            verb = try usualVerb(arguments)
        }
        if files.isEmpty, verb == "info" || verb == "extract" {
            throw UsageError("no input file (use - for stdin)", command: "frames")
        }
        switch verb {
        case "info": return try FramesInfo(arguments).run(files)
        case "extract": return try FramesExtraction(arguments).run(files)
        case "assemble": return try FramesAssembly(arguments).run(files)
        default:
            throw UsageError(
                "unknown subcommand \"\(verb)\"",
                hint: OptionCheck.nearest(verb, specification.verbNames).map { "did you mean frames \($0)?" }
                    ?? "subcommands: info, extract, assemble", command: "frames")
        }
    }

    /// Whether an output is a folder: an existing one, or a new name without file extension.
    static func isFolder(_ output: String) -> Bool {
        if output.hasSuffix("/") { return true }
        if let status = FileStatus.of(output) { return status.isDirectory }
        return output != "-" && !output.isEmpty && !output.contains("{") && FileName(output).suffix == nil
    }

    /// Returns the subcommand that files without a subcommand mean: a folder or a template asks for single frames.
    private static func usualVerb(_ arguments: ParsedArguments) throws(UsageError) -> String {
        guard let output = arguments.value("--output") else { return "info" }
        if isFolder(output) || output.contains("{") { return "extract" }
        throw UsageError(
            "no subcommand: expected info, extract or assemble",
            hint: "frames extract writes single frames, frames assemble writes an animation to \(output)",
            command: "frames")
    }

    /// Processes all files; continues after a failed file.
    ///
    /// - Parameter body: prints the result of one file. It returns an error that its JSON output already contains, and
    ///   sets `subject` if an error is about another file.
    static func each(
        _ files: [String], _ arguments: ParsedArguments, _ host: CoderHost,
        _ body: (String, _ subject: inout String) throws(CoderError) -> CoderError?
    ) -> ExitCode {
        var failures = 0
        var lastCode = CoderError.Code.corrupt
        var unrecognized = 0
        for file in files {
            var subject = file
            do throws(CoderError) {
                if let problem = try body(file, &subject) {
                    failures += 1
                    lastCode = problem.code
                    if !arguments.has("--json") { problem.report(file, arguments) }
                }
            } catch {
                if error.message == CoderError.readerIsGone.message { return .inputOutput }
                if arguments.inputs.skips(subject, after: error, host) {
                    unrecognized += 1
                    continue
                }
                failures += 1
                lastCode = error.code
                error.report(subject, arguments)
            }
            if Console.outputError != nil { return .inputOutput }
        }
        if unrecognized > 0 { Console.error("coderhost: \(BatchSummary.unrecognized(unrecognized))") }
        if failures == 0 { return arguments.inputs.unreadFolders == 0 ? .success : .partialFailure }
        return files.count == 1 ? ExitCode(lastCode) : .partialFailure
    }
}
