import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Gets pictures by their URLs.
enum FetchCommand: Command {
    /// What is got, and where it goes.
    private static let way = [
        OptionSpecification(
            "-o", "--output", value: "OUT",
            help:
                "file, existing folder ending in /, template with the URL's {stem} {w} {h}, its number {n} "
                + "from 0, .{ext} as it is written, or - (default: the URL's name in the current folder)"),
        OptionSpecification(
            "-f", "--format", value: "FORMAT",
            help: "output format (default: that of the output's ending; a name without one keeps the file's)"),
        OptionSpecification(
            "--progressive-to", value: "DIR",
            help: "write previews as PNG into this existing folder, as far as there are some (default: none)"),
        OptionSpecification("--no-overwrite", help: "fail where the output exists"),
        OptionSpecification("--overwrite", help: "without -o: replace files of the same names"),
        OptionSpecification("--no-cache", help: "neither look into the cache nor keep anything there"),
        OptionSpecification("--offline", help: "look into the cache alone"),
    ]

    /// What becomes of the picture, as convert has it.
    private static let picture: [OptionSpecification] =
        [
            OptionSpecification(
                "--resize", value: "SIZE", help: "800x600, 800x, x600, or 256 for a box of 256x256 (default: as it is)")
        ] + PictureChanges.specification + PictureChanges.transforms + EncodingSwitches.specification
        + EncodingSwitches.stillSpecification + rest

    private static let rest = [
        OptionSpecification(
            "--limit-bytes", value: "SIZE",
            help: "make it so small that its pixels take at most so many bytes (default: no limit)"),
        OptionSpecification("--frame", value: "N", help: "write this frame alone, from 0 (default: all)"),
        OptionSpecification("--first-frame", help: "write the first frame alone"),
        OptionSpecification(
            "--keep", value: "KINDS", help: "of exif,icc,xmp,iptc,text keep only these (default: all)"),
        OptionSpecification(
            "--strip", value: "KINDS", help: "leave out these kinds of metadata, or all (default: none)"),
        OptionSpecification(
            "--coder", value: "ID", help: "decode with this coder and no other (default: the best)"),
        OptionSpecification(
            "--budget", value: "SIZE",
            help: "memory that pictures may take together; a larger one is worked on alone (default: 512M)"),
    ]

    static let specification = CommandSpecification(
        name: "fetch", summary: NetworkProgram.summary(of: "fetch"), operands: "URL…", operandCount: 1...1_000_000,
        examples: [
            ("coderhost fetch https://example.org/photo.jpg", "photo.jpg in the current folder, byte for byte"),
            ("coderhost fetch https://example.org/a.heic -o a.png", "another format, as convert makes it"),
            ("coderhost fetch --resize 800 -o '{stem}-{n}.webp' URL…", "many at once, smaller, names from a template"),
            ("coderhost fetch --progressive-to looks/ URL", "also what could be seen on its way"),
            ("coderhost fetch --allow-private http://192.168.0.9/cam.jpg", "from the network around this machine"),
            ("coderhost fetch --json --no-cache URL -o - > photo", "facts for programs; the file to standard output"),
        ],
        options: way + NetworkSwitches.specification + CacheSwitches.specification + picture,
        notes: """

            What is not changed is written byte for byte, once all of it was decoded; otherwise it is converted.
            Exit code 77: an address of this machine or the networks around it; --allow-private or --allow-host.

            """)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try refuseContradictions(arguments)
        let job = try FetchJob(arguments)
        let isJSON = arguments.has("--json")
        let batch = Batch<FetchOutcome>(arguments.operands.map { redacted($0) }, showsProgress: false) {
            number, label, result in
            job.bars.aside { job.report(number, label, result, asJSON: isJSON) }
        }
        return batch.run(threads: job.network.jobs, watching: job.bars, closing: job.network) {
            number throws(CoderError) in
            try job.fetch(number: number)
        }
    }

    private static func refuseContradictions(_ arguments: ParsedArguments) throws(UsageError) {
        for other in ["--no-cache", "--refresh"] where arguments.has("--offline") && arguments.has(other) {
            throw UsageError(
                "--offline asks the cache alone, and \(other) \(other == "--refresh" ? "the server" : "not at all")",
                hint: "leave one of the two out", command: "fetch")
        }
        if arguments.has("--overwrite"), arguments.has("--no-overwrite") {
            throw UsageError(
                "--overwrite and --no-overwrite say opposite things", hint: "leave one of the two out",
                command: "fetch")
        }
    }
}
