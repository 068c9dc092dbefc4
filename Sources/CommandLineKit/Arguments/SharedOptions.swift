// The options that several commands accept. A command states only how its option differs.
extension OptionSpecification {
    // MARK: Input

    /// `--frame` of commands that write images.
    package static let frame = OptionSpecification(
        "--frame", value: "N", help: "write frame N only, from 0 (default: all)")
    /// `--first-frame`.
    package static let firstFrame = OptionSpecification("--first-frame", help: "write the first frame only")
    /// `--incomplete` of commands that write one image for each input.
    package static let incomplete = OptionSpecification(
        "--incomplete", help: "write the available part of a truncated image")
    /// `--coder`.
    package static let coder = OptionSpecification(
        "--coder", value: "ID", help: "decode with this coder only (default: the best)")
    /// `-O` of commands that decode or encode.
    package static let coderOption = OptionSpecification(
        "-O", "--option", value: "KEY=VALUE", isList: true,
        help: "set an option of the coder (may be repeated); list --format FORMAT --options shows all")

    // MARK: Output

    /// Returns `--output`.
    package static func output(value: String = "OUT", _ help: String) -> OptionSpecification {
        OptionSpecification("-o", "--output", value: value, help: help)
    }

    /// Returns `--format`.
    ///
    /// - Parameter usual: the format without this option.
    package static func format(default usual: String) -> OptionSpecification {
        OptionSpecification("-f", "--format", value: "FORMAT", help: "output format (default: \(usual))")
    }

    /// Returns `--format` of commands that write several files for each input.
    ///
    /// - Parameter usual: the format without this option.
    package static func formats(default usual: String) -> OptionSpecification {
        OptionSpecification(
            "-f", "--format", value: "FORMATS", isList: true,
            help: "output format, or several such as avif,webp,jpeg (default: \(usual))")
    }

    /// `--skip-existing`.
    package static let skipExisting = OptionSpecification(
        "--skip-existing", help: "keep outputs that are not empty and not older than their input, for example to resume"
    )
    /// `--no-mkdir`.
    package static let noMkdir = OptionSpecification(
        "--no-mkdir", help: "fail if the folder of an output is missing")
    /// `--mkdir`.
    package static let mkdir = OptionSpecification(
        "--mkdir", help: "create missing folders also for a single named output")
    /// `--no-overwrite`.
    package static let noOverwrite = OptionSpecification("--no-overwrite", help: "fail if the output exists")
    /// `--verbose`.
    package static let verbose = OptionSpecification(
        "-v", "--verbose", help: "print the name of each written file")

    // MARK: Size and memory

    /// `--resize`.
    package static let resize = OptionSpecification(
        "--resize", value: "SIZE",
        help: "target size: 800x600, 800x, x600, 256 for 256x256, 50%; 800x600^ covers, ! stretches (default: keep)")
    /// `--max`.
    package static let max = OptionSpecification(
        "--max", value: "N", help: "longest side in px; never enlarges (default: no limit)")
    /// `--limit-bytes`.
    package static let limitBytes = OptionSpecification(
        "--limit-bytes", value: "SIZE",
        help: "shrink until the decoded pixels fit; k: 1024 bytes, kB: 1000 (default: no limit)")
    /// `--budget`; ``MemoryBudget/init(_:)`` reads it.
    package static let budget = OptionSpecification(
        "--budget", value: "SIZE",
        help: "total memory for images; a larger image is processed alone (default: 512M)")

    /// Returns `--threads`.
    package static func threads(default usual: String) -> OptionSpecification {
        OptionSpecification("--threads", value: "N", help: "threads per image (default: \(usual))")
    }
}
