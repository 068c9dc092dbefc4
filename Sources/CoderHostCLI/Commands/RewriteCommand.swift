import CoderHost
import CommandLineKit
import ImageModel

/// Changes metadata, orientation or size of files without re-encoding pixels.
enum RewriteCommand: Command {
    static let specification = CommandSpecification(
        name: "rewrite", summary: "change metadata, orientation or file size without re-encoding",
        operands: "FILE…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost rewrite photo.jpg --strip gps,thumbnail -o clean.jpg", "remove location and thumbnail"),
            ("coderhost rewrite *.jpg --optimize -o small/", "reduce the file size, keep the pixels"),
            ("coderhost rewrite photo.jpg --rotate 90 -o turned.jpg", "rotate a JPEG without re-encoding"),
            ("coderhost rewrite scan.jpg --crop 640x480+32+16 --perfect -o part.jpg", "crop exactly, or fail"),
            ("coderhost rewrite photo.jpg -o photo.jxl", "repack a JPEG as a smaller JPEG XL, and back, bit for bit"),
            ("coderhost rewrite photo.jpg --set-orientation 1 --overwrite -o photo.jpg", "change a file in place"),
        ],
        options: [
            .output("file, folder/, - (stdout) or template of {dir} {tree} {stem} {ext} {n}")
        ] + [
            OptionSpecification(
                "-f", "--format", value: "FORMAT",
                help: "repack the coded image as another format without loss (default: by the output name)")
        ] + MetadataParts.rewriteOptions
            + [
                OptionSpecification(
                    "--set-orientation", value: "N", help: "set the Exif orientation tag, 1 to 8 (default: keep)"),
                OptionSpecification(
                    "--rotate", value: "DEGREES", help: "rotate clockwise by 90, 180, 270 or -90 degrees (default: 0)"),
                OptionSpecification(
                    "--flip", value: "HOW", choices: Flip.allCases.map(\.rawValue),
                    help: "mirror: horizontal or vertical (default: none)"),
                OptionSpecification(
                    "--crop", value: "PART",
                    help: "crop to WxH+X+Y or X,Y,W,H, extended to block boundaries (default: all)"),
                OptionSpecification("--perfect", help: "fail if the exact pixels are not possible (default: warn)"),
                OptionSpecification(
                    "--trim-edges",
                    help: "turn the pixels and cut incomplete blocks (default: then set the orientation tag)"),
                OptionSpecification("--optimize", help: "compress the same pixels better"),
            ] + OptionSpecification.inputs + [.skipExisting] + ConvertJob.outputSpecification)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try RewriteJob(arguments, try options(arguments), command: specification.name).run(arguments)
    }

    private static func options(_ arguments: ParsedArguments) throws(UsageError) -> RewriteOptions {
        var options = RewriteOptions()
        let all = Set(RewriteOptions.Part.allCases).subtracting([.icc])
        try arguments.refuseKeepingStripped(all: MetadataParts.choices.filter { !["icc", "all"].contains($0) })
        if let kept = try MetadataParts.named(by: "--keep", arguments, all: all) {
            options.removed = MetadataParts.removed(keeping: kept).subtracting([.icc])
        }
        options.removed.formUnion(try MetadataParts.named(by: "--strip", arguments, all: all) ?? [])
        if let number = try arguments.integer("--set-orientation", 1...8) {
            options.orientation = Orientation(rawValue: number)
        }
        options.transform = try turn(arguments)
        if let flip = try arguments.choice("--flip", Flip.self) {
            options.transform = (flip == .horizontal ? Orientation.upMirrored : .downMirrored)
                .followed(by: options.transform)
        }
        options.crop = try arguments.part("--crop")
        options.isPerfect = arguments.has("--perfect")
        options.trimsEdges = arguments.has("--trim-edges")
        if options.trimsEdges, options.isPerfect {
            throw UsageError(
                "--trim-edges cuts blocks and --perfect forbids that", hint: "remove one of the two",
                command: specification.name)
        }
        if options.trimsEdges, options.transform == .up {
            throw UsageError(
                "--trim-edges needs --rotate or --flip", hint: "add --rotate 90", command: specification.name)
        }
        options.optimizes = arguments.has("--optimize")
        return options
    }

    /// Returns the turn of `--rotate`: any multiple of 90 degrees, of which full turns have no effect.
    private static func turn(_ arguments: ParsedArguments) throws(UsageError) -> Orientation {
        guard let text = arguments.value("--rotate") else { return .up }
        guard let degrees = Int(text), degrees.isMultiple(of: 90) else {
            throw UsageError(
                "invalid --rotate value \"\(text)\": expected a multiple of 90, such as 90, 180, 270 or -90",
                hint: "coderhost convert rotates by any angle", command: specification.name)
        }
        let turns: [Orientation] = [.up, .right, .down, .left]
        return turns[((degrees / 90) % 4 + 4) % 4]
    }

    private enum Flip: String, CaseIterable { case horizontal, vertical }
}
