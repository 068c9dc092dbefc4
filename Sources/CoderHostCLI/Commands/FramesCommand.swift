import CoderHost
import CommandLineKit
import ImageModel

/// Looks into animations, takes them apart and puts them together.
enum FramesCommand: Command {
    static let specification = CommandSpecification(
        name: "frames", summary: "look into animations, take them apart, put them together",
        operands: "info|extract|assemble FILE…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost frames info cat.gif", "every frame: place, duration, blend, disposal, key frames"),
            ("coderhost frames info --decode *.gif", "the same, and that every frame can be decoded"),
            ("coderhost frames extract cat.gif -o 'cat-{n:04}.png' --timing cat.json", "one picture a frame, as seen"),
            ("coderhost frames extract --items burst.heic -o 'burst-{n}.png'", "every image of the file"),
            ("coderhost frames assemble cat-*.png -o cat.webp --timing cat.json", "the same animation again"),
            ("coderhost frames assemble --timing cat.json -o cat.gif", "the pictures that the timing file names"),
            ("coderhost frames assemble *.png -o film.gif --fps 25 --loop forever", "an animation from pictures"),
            ("coderhost frames assemble *.png -o film.apng --delay 1/30", "frames of exactly 1/30 s"),
        ],
        options: [
            OptionSpecification(
                "-o", "--output", value: "OUT", of: ["extract"],
                help: "a template with {n}, {stem}, {dir}; {n} has as many digits as the last one needs"),
            OptionSpecification("-o", "--output", value: "OUT", of: ["assemble"], help: "the animation, or -"),
            OptionSpecification(
                "-f", "--format", value: "FORMAT", of: ["extract", "assemble"],
                help: "output format (default: from the output's name)"),
            OptionSpecification(
                "--timing", value: "FILE", of: ["extract"],
                help: "write names, durations and loop count there, or to - (default: nowhere)"),
            OptionSpecification(
                "--items", of: ["extract"],
                help: "the images of a file in place of frames: pages, thumbnails, auxiliary images; {n} is the item"),
            OptionSpecification("--raw", of: ["extract"], help: "frames as stored, not composited"),
            OptionSpecification(
                "--incomplete", of: ["extract"],
                help: "of what was cut off write the whole frames; of the first, what is there"),
            OptionSpecification(
                "--timing", value: "FILE", of: ["assemble"],
                help: "order, durations and loop count; pictures are found in it by name (default: none)"),
            OptionSpecification(
                "--fps", value: "N", of: ["assemble"],
                help: "frames a second, where --timing has no duration (default: 10, or an animation's own)"),
            OptionSpecification(
                "--delay", value: "MS|N/D", of: ["assemble"],
                help: "the same in ms, such as 33.3, or exact: 1/30 (default: 1/10, or an animation's own)"),
            OptionSpecification(
                "--loop", value: "N|forever", of: ["assemble"],
                help: "plays (default: as --timing says, or an animation that is the only FILE; else forever)"),
            OptionSpecification("--decode", of: ["info"], help: "decode every frame, too; one that fails is an error"),
            OptionSpecification("--no-overwrite", of: ["extract", "assemble"], help: "fail where the output exists"),
            OptionSpecification("-v", "--verbose", of: ["extract", "assemble"], help: "say what was written"),
        ]
            + EncodingSwitches.specification.map { option in
                var option = option
                option.verbs = ["extract", "assemble"]
                return option
            }, notes: notes, verbs: ["info", "extract", "assemble"])

    private static let notes = """

        info: --decode warns of damage that a coder makes do with, as that of GIF does; this is no error.
        extract: pictures without an ending are PNG. Those of --raw may be smaller than the canvas; frames info tells where
        they lie, --timing does not.
        assemble: --timing reads - as well. Equal pictures that follow each other may become one frame that is seen longer; one
        frame alone is a still, except in GIF. The colour profile is that of the first picture.
        A file that fails does not end info and extract: of several files the exit code is 1 then.

        """

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let verb = arguments.operands[0]
        let files = Array(arguments.operands.dropFirst())
        if files.isEmpty, verb == "info" || verb == "extract" {
            throw UsageError("frames \(verb) needs a FILE", command: "frames")
        }
        switch verb {
        case "info": return try FramesInfo(arguments).run(files)
        case "extract": return try FramesExtraction(arguments).run(files)
        case "assemble": return try FramesAssembly(arguments).run(files)
        default:
            throw UsageError(
                "frames cannot \(verb)",
                hint: OptionCheck.nearest(verb, specification.verbs).map { "did you mean frames \($0)?" }
                    ?? "it can info, extract and assemble", command: "frames")
        }
    }

    /// Works through files; one that fails does not end it.
    ///
    /// - Parameter body: returns what is wrong behind what it printed; JSON has that already. It may say that an error is
    ///   about another file.
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
