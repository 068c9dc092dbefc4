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
            ("coderhost frames extract --items burst.heic -o 'burst-{n}.png'", "all images of the file"),
            ("coderhost frames assemble cat-*.png -o cat.webp --timing cat.json", "rebuild the animation"),
            ("coderhost frames assemble --timing cat.json -o cat.gif", "use the images that the timing file lists"),
            ("coderhost frames assemble *.png -o film.gif --fps 25 --loop forever", "make an animation from images"),
            ("coderhost frames assemble *.png -o film.apng --delay 1/30", "show each frame for exactly 1/30 s"),
        ],
        options: [
            .output("template with {n} (frame number, zero-padded), {stem}, {dir}").limited(to: ["extract"]),
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
                "--loop", value: "N|forever", of: ["assemble"],
                help: "plays (default: as in --timing or a single input, else forever)"),
            OptionSpecification("--decode", of: ["info"], help: "decode all frames; a failed frame is an error"),
        ] + ([.noOverwrite, .verbose] + EncodingSwitches.specification).map { $0.limited(to: writing) }, notes: notes,
        verbs: ["info", "extract", "assemble"].map { CommandSpecification.Verb($0) })

    /// The subcommands that write files.
    private static let writing = ["extract", "assemble"]

    private static let notes = """

        info: --decode prints a warning, not an error, for damage that a coder repairs, as the GIF coder
        does.
        extract: images without file extension are PNG. Images of --raw can be smaller than the canvas;
        frames info lists their positions, --timing does not.
        assemble: --timing can be -. Consecutive equal images can become one longer frame. A single frame
        becomes a still image, except in GIF. The color profile comes from the first image.
        With several files, info and extract continue after a failed file; the exit code is then 1.

        """

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let verb = arguments.operands[0]
        let files = Array(arguments.operands.dropFirst())
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

    /// Processes all files; continues after a failed file.
    ///
    /// - Parameter body: prints the result of one file. It returns an error that its JSON output already contains, and
    ///   sets `subject` if an error is about another file.
    static func each(
        _ files: [String], _ arguments: ParsedArguments,
        _ body: (String, _ subject: inout String) throws(CoderError) -> CoderError?
    ) -> ExitCode {
        var failures = 0
        var lastCode = CoderError.Code.corrupt
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
                failures += 1
                lastCode = error.code
                error.report(subject, arguments)
            }
            if Console.outputError != nil { return .inputOutput }
        }
        if failures == 0 { return .success }
        return files.count == 1 ? ExitCode(lastCode) : .partialFailure
    }
}
