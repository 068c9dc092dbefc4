import CoderHost
import CommandLineKit
import ImageModel

/// Creates thumbnails of images.
enum ThumbnailCommand: Command {
    static let specification = CommandSpecification(
        name: "thumbnail", summary: "create thumbnails of images", operands: "IN…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost thumbnail photo.jpg", "write photo-thumb.jpg, at most 256x256"),
            ("coderhost thumbnail *.heic -s 400 -o thumbs/ -f jpeg", "create many thumbnails in a folder"),
            ("coderhost thumbnail -r photos -s 400 -o thumbs/", "create thumbnails of a folder, with its subfolders"),
            ("coderhost thumbnail *.jpg -s 200x200 --fit cover --crop attention -o 't/{stem}.webp'", "crop to squares"),
            ("coderhost thumbnail cat.gif -s 120x -o small.webp", "shrink an animation"),
            ("coderhost thumbnail - -s 256 -o - -f png < photo.jpg > t.png", "use in a pipe"),
        ],
        options: [
            OptionSpecification(
                "-s", "--size", value: "SIZE",
                help: "size: 256 for 256x256, 800x600, 800x, x600, 50%; 800x600^ covers, ! stretches (default: 256)")
        ] + [.max] + Renditions.specification + ImageChanges.specification + OverlaySwitches.specification + [
            .output(
                "file, folder/, - or template of {dir} {tree} {stem} {ext} {n} {w} {h} "
                    + "(default: {dir}{stem}-thumb)"),
            .formats(default: "by output name, else as the input"),
        ] + EncodingSwitches.specification + EncodingSwitches.stillSpecification
            + [.frame, .firstFrame, .incomplete] + MetadataParts.options(kept: "icc")
            + ConvertJob.specification)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        if arguments.has("--recursive") || arguments.has("--glob"), arguments.value("--output") == nil {
            throw UsageError(
                "thumbnail -r needs -o: a second run would make thumbnails of the thumbnails beside the images",
                hint: "for example -o thumbs/", command: specification.name)
        }
        var style = ConvertJob.Style()
        style.command = specification.name
        style.sizeOption = "--size"
        style.box = PixelSize(256, 256)
        style.output = OutputTarget.besideInput
        style.kept = [.icc]
        style.keepsFormat = true
        return try ConvertJob(arguments, style).run(arguments)
    }
}
