import CoderHost
import CommandLineKit
import ImageModel

/// Writes small versions of pictures.
enum ThumbnailCommand: Command {
    static let specification = CommandSpecification(
        name: "thumbnail", summary: "write small versions of pictures", operands: "IN…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost thumbnail photo.jpg", "photo-thumb.jpg, within 256x256"),
            ("coderhost thumbnail *.heic -s 400 -o thumbs/ -f jpeg", "many at once, into a folder"),
            ("coderhost thumbnail *.jpg -s 200x200 --fit cover --crop attention -o 't/{stem}.webp'", "squares"),
            ("coderhost thumbnail cat.gif -s 120x -o small.webp", "an animation stays one"),
            ("coderhost thumbnail - -s 256 -o - -f png < photo.jpg > t.png", "in a pipe"),
        ],
        options: [
            OptionSpecification(
                "-s", "--size", value: "SIZE",
                help: "256 for a box of 256x256, or 800x600, 800x, x600 (default: 256)")
        ] + PictureChanges.specification + [
            OptionSpecification(
                "-o", "--output", value: "OUT",
                help:
                    "file, existing folder ending in /, template with the input's {dir}{stem} {ext} {n} {w} {h}, or - "
                    + "(default: '{dir}{stem}-thumb' with the ending of its format)"),
            OptionSpecification(
                "-f", "--format", value: "FORMAT",
                help: "output format (default: from the output's name; without one that of the input)"),
        ] + EncodingSwitches.specification + EncodingSwitches.stillSpecification + [
            OptionSpecification("--frame", value: "N", help: "this frame of an animation alone, from 0 (default: all)"),
            OptionSpecification("--first-frame", help: "the first frame alone"),
            OptionSpecification("--incomplete", help: "write what is there of a picture that was cut off"),
            OptionSpecification(
                "--keep", value: "KINDS", help: "of exif,icc,xmp,iptc,text keep these (default: icc)"),
            OptionSpecification(
                "--strip", value: "KINDS", help: "leave out these kinds of metadata, or all (default: none)"),
        ] + ConvertJob.specification)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        var style = ConvertJob.Style()
        style.command = specification.name
        style.box = try arguments.box("--size") ?? PixelSize(256, 256)
        style.output = OutputTarget.besideInput
        style.kept = [.icc]
        style.keepsFormat = true
        return try ConvertJob(arguments, style).run(arguments)
    }
}
