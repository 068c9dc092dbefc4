extension ConvertJob {
    /// The options of every command that writes one file for each input.
    package static let outputSpecification = [
        .noOverwrite,
        OptionSpecification("--overwrite", help: "allow to replace the input"),
        .noMkdir, .mkdir, .verbose,
        OptionSpecification(
            "-j", "--jobs", value: "N",
            help: "inputs to process in parallel (default: number of processors)"),
    ]

    /// The last options of `convert` and `thumbnail`.
    package static let specification =
        OptionSpecification.inputs + [.skipExisting, .coder] + outputSpecification + [
            .threads(default: "number of processors for one input, else 1"), .budget,
        ]
}
