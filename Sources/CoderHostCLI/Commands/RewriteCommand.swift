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
            ("coderhost rewrite photo.jpg --set-orientation 1 --overwrite -o photo.jpg", "change a file in place"),
        ],
        options: [
            .output("file, folder/, - (stdout) or template of {dir} {tree} {stem} {ext} {n}")
        ] + metadataOptions(value: "PARTS", keep: ", besides icc (default: all)", strip: "\(parts), or all except icc")
            + [
                OptionSpecification(
                    "--set-orientation", value: "N", help: "set the Exif orientation tag, 1 to 8 (default: keep)"),
                OptionSpecification(
                    "--rotate", value: "DEGREES", help: "rotate clockwise by 90, 180 or 270 degrees (default: 0)"),
                OptionSpecification("--flip", value: "HOW", help: "mirror: horizontal or vertical (default: none)"),
                OptionSpecification(
                    "--crop", value: "PART",
                    help: "crop to WxH+X+Y or X,Y,W,H, extended to block boundaries (default: all)"),
                OptionSpecification("--perfect", help: "fail if the exact pixels are not possible (default: warn)"),
                OptionSpecification("--optimize", help: "compress the same pixels better"),
            ] + OptionSpecification.inputs + [.skipExisting] + ConvertJob.outputSpecification)

    private static let parts = RewriteOptions.Part.allCases.map(\.rawValue).joined(separator: ",")

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try RewriteJob(arguments, try options(arguments), command: specification.name).run(arguments)
    }

    private static func options(_ arguments: ParsedArguments) throws(UsageError) -> RewriteOptions {
        var options = RewriteOptions()
        if let kept = try parts("--keep", arguments) {
            options.removed = Set(RewriteOptions.Part.allCases).subtracting(kept).subtracting([.icc])
            // GPS and thumbnail are parts of Exif: keeping Exif keeps them, and keeping one of them keeps Exif.
            if kept.contains(.exif) { options.removed.subtract([.gps, .thumbnail]) }
            if !kept.isDisjoint(with: [.gps, .thumbnail]) { options.removed.remove(.exif) }
        }
        options.removed.formUnion(try parts("--strip", arguments) ?? [])
        if let number = try arguments.integer("--set-orientation", 1...8) {
            options.orientation = Orientation(rawValue: number)
        }
        if let degrees = try arguments.integer("--rotate", 0...360) {
            guard let turn = [0: .up, 90: .right, 180: .down, 270: .left, 360: .up][degrees] as Orientation? else {
                throw UsageError(
                    "invalid --rotate value \"\(degrees)\": expected 90, 180 or 270",
                    hint: "coderhost convert rotates by any angle")
            }
            options.transform = turn
        }
        if let flip = try arguments.choice("--flip", Flip.self) {
            options.transform = (flip == .horizontal ? Orientation.upMirrored : .downMirrored)
                .followed(by: options.transform)
        }
        options.crop = try arguments.part("--crop")
        options.isPerfect = arguments.has("--perfect")
        options.optimizes = arguments.has("--optimize")
        return options
    }

    private enum Flip: String, CaseIterable { case horizontal, vertical }

    private static func parts(
        _ key: String, _ arguments: ParsedArguments
    ) throws(UsageError) -> Set<RewriteOptions.Part>? {
        let known = RewriteOptions.Part.allCases.map { ($0.rawValue, $0) }
        return try arguments.set(key, of: known, noun: "metadata part", all: Set(known.map(\.1)).subtracting([.icc]))
    }
}
