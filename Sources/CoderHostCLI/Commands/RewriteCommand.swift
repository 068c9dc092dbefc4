import CoderHost
import CommandLineKit
import ImageModel

/// Changes files without decoding and encoding their pixels.
enum RewriteCommand: Command {
    static let specification = CommandSpecification(
        name: "rewrite", summary: "change files without touching a pixel: metadata, orientation, size",
        operands: "FILE…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost rewrite photo.jpg --strip gps,thumbnail -o clean.jpg", "without place and embedded thumbnail"),
            ("coderhost rewrite *.jpg --optimize -o small/", "fewer bytes, the same pixels"),
            ("coderhost rewrite photo.jpg --rotate 90 -o turned.jpg", "a JPEG turned without loss"),
            ("coderhost rewrite scan.jpg --crop 640x480+32+16 --perfect -o part.jpg", "a part, or an error"),
            ("coderhost rewrite photo.jpg --set-orientation 1 --overwrite -o photo.jpg", "in place"),
        ],
        options: [
            OptionSpecification(
                "-o", "--output", value: "OUT",
                help: "file, existing folder ending in /, template with the input's {dir}{stem} {ext} {n}"),
            OptionSpecification(
                "--strip", value: "PARTS", help: "leave out these of \(parts), or all but icc (default: none)"),
            OptionSpecification(
                "--keep", value: "PARTS", help: "leave out all but these and icc (default: all are kept)"),
            OptionSpecification(
                "--set-orientation", value: "N", help: "store this Exif orientation, 1 to 8; no pixel moves"),
            OptionSpecification("--rotate", value: "DEGREES", help: "turn it clockwise by 90, 180 or 270"),
            OptionSpecification("--flip", value: "HOW", help: "mirror it: horizontal or vertical"),
            OptionSpecification("--crop", value: "WxH+X+Y", help: "keep a part, up to the edges of blocks"),
            OptionSpecification("--perfect", help: "refuse to keep other pixels than asked for (default: warn)"),
            OptionSpecification("--optimize", help: "compress the same pixels into fewer bytes"),
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
            // A part of Exif is kept with Exif, and Exif for its parts.
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
                    "--rotate \(degrees) would lose pixels", hint: "90, 180 or 270; coderhost convert turns by any angle")
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
                    "there is no part of the metadata named \(word)",
                    hint: OptionCheck.nearest(word, names).map { "did you mean \($0)?" } ?? "parts: \(parts), all")
            }
            result.insert(part)
        }
        return result
    }
}
