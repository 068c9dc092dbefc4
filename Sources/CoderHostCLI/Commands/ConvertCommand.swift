import CoderHost
import CommandLineKit
import ImageModel

/// Converts images to another format.
enum ConvertCommand: Command {
    static let specification = CommandSpecification(
        name: "convert", summary: "convert images to another format", operands: "IN…",
        operandCount: 1...1_000_000,
        examples: [
            ("coderhost convert photo.heic -o photo.png", "convert HEIC to PNG"),
            ("coderhost convert *.heic -o out/ -f jpeg -q 85", "convert many files into a folder"),
            ("coderhost convert -r photos -o web/ -f webp --skip-existing", "convert a folder, or continue it"),
            ("coderhost convert *.png -o '{dir}{stem}-small.webp' --lossless", "name outputs by a template"),
            ("coderhost convert in.png -o out.jpg -O jpeg.progressive=true", "set an option of the coder"),
            (
                "coderhost convert *.heic -o web/ -f jpeg --resize 1600 --to-srgb --strip gps --target-size 300k",
                "prepare for the web"
            ),
            (
                "coderhost convert in.jpg -o web/ --sizes 400,800 -f avif,jpeg --strip gps --srcset html",
                "write a <picture>"
            ),
            ("coderhost convert in.jpg -o out.jpg --crop 16:9 --gravity north --max 2048", "crop and limit the size"),
            ("coderhost convert *.jpg -o web/ --overlay logo.png --opacity 60% --margin 16", "add a watermark"),
            (
                "coderhost convert photo.jpg -o out.jpg --text '© 2026 A. Smith' --gravity southeast",
                "write on an image"
            ),
            ("coderhost convert logo.png -o logo.jpg --bg '#204060'", "fill transparent pixels"),
            ("coderhost convert - -o - -f png < in.webp > out.png", "convert in a pipe"),
            ("coderhost convert cat.gif -o cat.webp", "convert an animation"),
            ("coderhost convert cat.gif -o small.gif --fps 10 --lossy 60", "make an animation smaller"),
            ("coderhost convert cat.gif -o cat.webp --target-size 500k", "meet a size limit"),
            ("coderhost convert cat.gif --frame 3 -o cat.png", "extract frame 3"),
            ("coderhost convert burst.heic --item all -o 'burst-{item}.jpg'", "extract all images of a file"),
        ],
        options: [
            .output("file, folder/, - or template of {dir} {tree} {stem} {ext} {n} {w} {h} {item}"),
            .formats(default: "by output name, else PNG with alpha or JPEG"),
        ] + EncodingSwitches.specification + EncodingSwitches.stillSpecification + [.resize, .max]
            + Renditions.specification + ImageChanges.specification + ImageChanges.transforms + [.limitBytes]
            + ItemChoice.specification
            + ParsedArguments.frameSpecification + [.incomplete] + MetadataParts.options(kept: "all")
            + ConvertJob.specification)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try ConvertJob(arguments).run(arguments)
    }
}

extension ConvertJob {
    /// Converts all inputs and reports each result.
    func run(_ arguments: ParsedArguments) -> ExitCode {
        let (json, verbose) = (arguments.has("--json"), arguments.has("--verbose"))
        let batch = Batch<Outcome>(arguments, host, outputIsTaken: outputIsTaken) { [self] _, file, result in
            switch result {
            case .failure(let error): error.report(file, json: json, outputIsTaken: outputIsTaken)
            case .success(let outcome):
                let outcomes = [outcome] + outcome.others
                // Outputs of one input share most warnings.
                var told: Set<String> = []
                for one in outcomes {
                    if json {
                        report(one.json)
                        continue
                    }
                    for warning in one.warnings where told.insert(warning).inserted {
                        Console.error(printable("coderhost: \(file): warning: \(warning)"))
                    }
                    if verbose { Console.error(printable(one.line)) }
                }
                if let style = renditions.markup {
                    let lines = Srcset(outcomes, alternative: renditions.alternative, host.manager).lines(style)
                    lines.forEach { Console.out($0) }
                }
            }
        }
        // Host and worker alternate, so binding both to one processor makes wake-ups cheaper.
        let isBound = host.configuration.isolation.mode == .require
        return batch.run(threads: schedule.threads, isBound: isBound) { [self] index, file throws(CoderError) in
            try convert(file, number: index)
        }
    }
}
