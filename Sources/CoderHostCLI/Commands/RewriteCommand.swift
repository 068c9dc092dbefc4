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
            OptionSpecification(
                "-o", "--output", value: "OUT",
                help: "file, folder/, - (stdout) or template of {dir} {stem} {ext} {n}"),
            OptionSpecification(
                "--strip", value: "PARTS",
                help: "metadata to remove: \(parts), or all except icc (default: none)"),
            OptionSpecification(
                "--keep", value: "PARTS", help: "metadata to keep, besides icc (default: all)"),
            OptionSpecification(
                "--set-orientation", value: "N", help: "set the Exif orientation tag, 1 to 8 (default: keep)"),
            OptionSpecification(
                "--rotate", value: "DEGREES", help: "rotate clockwise by 90, 180 or 270 degrees (default: 0)"),
            OptionSpecification("--flip", value: "HOW", help: "mirror: horizontal or vertical (default: none)"),
            OptionSpecification("--crop", value: "WxH+X+Y", help: "crop, extended to block boundaries (default: all)"),
            OptionSpecification("--perfect", help: "fail if the exact pixels are not possible (default: warn)"),
            OptionSpecification("--optimize", help: "compress the same pixels better"),
        ] + ConvertJob.outputSpecification)

    private static let parts = RewriteOptions.Part.allCases.map(\.rawValue).joined(separator: ",")

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try RewriteJob(arguments, try options(arguments), command: specification.name).run(arguments)
    }

    private static func options(_ arguments: ParsedArguments) throws(UsageError) -> RewriteOptions {
        var options = RewriteOptions()
        if let text = arguments.value("--keep") {
            let kept = try parts(text)
            options.removed = Set(RewriteOptions.Part.allCases).subtracting(kept).subtracting([.icc])
            // GPS and thumbnail are parts of Exif: keeping Exif keeps them, and keeping one of them keeps Exif.
            if kept.contains(.exif) { options.removed.subtract([.gps, .thumbnail]) }
            if !kept.isDisjoint(with: [.gps, .thumbnail]) { options.removed.remove(.exif) }
        }
        if let text = arguments.value("--strip") { options.removed.formUnion(try parts(text)) }
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

    private static func parts(_ text: String) throws(UsageError) -> Set<RewriteOptions.Part> {
        if text == "all" { return Set(RewriteOptions.Part.allCases).subtracting([.icc]) }
        var result: Set<RewriteOptions.Part> = []
        for word in text.split(separator: ",").map({ $0.lowercased() }) {
            guard let part = RewriteOptions.Part(rawValue: word) else {
                let names = RewriteOptions.Part.allCases.map(\.rawValue)
                throw UsageError(
                    "unknown metadata part \(word)",
                    hint: OptionCheck.nearest(word, names).map { "did you mean \($0)?" } ?? "parts: \(parts), all")
            }
            result.insert(part)
        }
        return result
    }
}
