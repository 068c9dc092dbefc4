import CoderHost
import CommandLineKit
import ImageModel

/// Decodes pictures and writes them in another format.
enum ConvertCommand: Command {
    static let specification = CommandSpecification(
        name: "convert", summary: "write pictures in another format", operands: "IN…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost convert photo.heic -o photo.png", "the format follows from the name"),
            ("coderhost convert *.heic -o out/ -f jpeg -q 85", "many at once, into a folder"),
            ("coderhost convert *.png -o '{dir}{stem}-small.webp' --lossless", "names from a template"),
            ("coderhost convert in.png -o out.jpg -O jpeg.progressive=true", "an option of the coder"),
            ("coderhost convert *.heic -o web/ -f jpeg --resize 1600 --to-srgb --target-size 300k", "for the web"),
            ("coderhost convert logo.png -o logo.jpg --bg '#204060'", "a background where the format has no alpha"),
            ("coderhost convert - -o - -f png < in.webp > out.png", "in a pipe"),
            ("coderhost convert cat.gif -o cat.webp", "an animation stays one, where the format holds it"),
            ("coderhost convert cat.gif --frame 3 -o cat.png", "one frame of an animation"),
            ("coderhost convert burst.heic --item all -o 'burst-{item}.jpg'", "every image of a file"),
        ],
        options: [
            OptionSpecification(
                "-o", "--output", value: "OUT",
                help: "file, existing folder ending in /, template with the input's {dir}{stem} {ext} {n} {w} {h}, or -"
            ),
            OptionSpecification(
                "-f", "--format", value: "FORMAT",
                help: "output format (default: from the output's name; without one PNG with alpha, else JPEG)"),
        ] + EncodingSwitches.specification + EncodingSwitches.stillSpecification + [
            OptionSpecification(
                "--resize", value: "SIZE", help: "800x600, 800x, x600, or 256 for a box of 256x256 (default: as it is)")
        ] + PictureChanges.specification + PictureChanges.transforms + [
            OptionSpecification(
                "--limit-bytes", value: "SIZE",
                help: "make it so small that its pixels take at most so many bytes (default: no limit)"),
        ] + ItemChoice.specification + [
            OptionSpecification("--frame", value: "N", help: "write this frame alone, from 0 (default: all)"),
            OptionSpecification(
                "--first-frame", help: "write the first frame alone, even where the format holds animations"),
            OptionSpecification("--incomplete", help: "write what is there of a picture that was cut off"),
            OptionSpecification(
                "--keep", value: "KINDS", help: "of exif,icc,xmp,iptc,text keep only these (default: all)"),
            OptionSpecification(
                "--strip", value: "KINDS", help: "leave out these kinds of metadata, or all (default: none)"),
        ] + ConvertJob.specification)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try ConvertJob(arguments).run(arguments)
    }
}

extension ConvertJob {
    /// Converts all inputs, and tells what became of each.
    func run(_ arguments: ParsedArguments) -> ExitCode {
        let (json, verbose) = (arguments.has("--json"), arguments.has("--verbose"))
        let batch = Batch<Outcome>(arguments.operands) { [self] _, file, result in
            switch result {
            case .failure(let error): error.report(file, json: json, outputIsTaken: outputIsTaken)
            case .success(let outcome):
                for one in [outcome] + outcome.others {
                    if json {
                        report(one.json)
                        continue
                    }
                    for warning in one.warnings {
                        Console.error(printable("coderhost: \(file): warning: \(warning)"))
                    }
                    if verbose { Console.error(printable(one.line)) }
                }
            }
        }
        // Host and worker never run at the same time; on one processor the wake-up is cheaper.
        let isBound = host.configuration.isolation.mode == .require
        return batch.run(threads: threads, isBound: isBound) { [self] index, file throws(CoderError) in
            try convert(file, number: index)
        }
    }
}
