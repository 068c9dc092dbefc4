import CoderHost
import ImageModel

extension ConvertJob {
    /// The options of every command that writes one file for each input.
    package static let outputSpecification = [
        OptionSpecification("--no-overwrite", help: "fail if the output exists"),
        OptionSpecification("--overwrite", help: "allow to replace the input"),
        OptionSpecification("-v", "--verbose", help: "print the name of each written file"),
        OptionSpecification(
            "-j", "--jobs", value: "N",
            help: "inputs to process in parallel (default: number of processors)"),
    ]

    /// The last options of `convert` and `thumbnail`.
    package static let specification =
        [
            OptionSpecification(
                "--coder", value: "ID", help: "decode with this coder only (default: the best)")
        ] + outputSpecification + [
            OptionSpecification(
                "--threads", value: "N",
                help: "threads per image (default: number of processors for one input, else 1)"),
            OptionSpecification(
                "--budget", value: "SIZE",
                help: "total memory for images; a larger image is processed alone (default: 512M)"),
        ]

    static func format(_ arguments: ParsedArguments, _ host: CoderHost) throws(UsageError) -> ImageFormat? {
        guard let word = arguments.value("--format")?.lowercased() else { return nil }
        return host.manager.format(named: word)
    }

    static func kept(
        _ arguments: ParsedArguments, _ usual: Set<MetadataBlob.Kind>
    ) throws(UsageError) -> Set<MetadataBlob.Kind> {
        func kinds(_ text: String) throws(UsageError) -> Set<MetadataBlob.Kind> {
            if text == "all" { return Set(MetadataBlob.Kind.allCases) }
            var result: Set<MetadataBlob.Kind> = []
            for word in text.split(separator: ",") {
                guard let kind = MetadataBlob.Kind.allCases.first(where: { "\($0)" == word.lowercased() }) else {
                    let names = MetadataBlob.Kind.allCases.map { "\($0)" }
                    throw UsageError(
                        "unknown metadata kind \(word)",
                        hint: OptionCheck.nearest(String(word), names).map { "did you mean \($0)?" }
                            ?? "kinds: \(names.joined(separator: ", ")), all")
                }
                result.insert(kind)
            }
            return result
        }
        var result = usual
        if let keep = arguments.value("--keep") { result = try kinds(keep) }
        if let strip = arguments.value("--strip") { result.subtract(try kinds(strip)) }
        return result
    }
}
