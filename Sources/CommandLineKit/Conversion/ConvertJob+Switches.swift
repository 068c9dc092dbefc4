import CoderHost
import ImageModel

extension ConvertJob {
    /// The switches of every command that writes one file for each of several.
    package static let outputSpecification = [
        OptionSpecification("--no-overwrite", help: "fail where the output exists"),
        OptionSpecification("--overwrite", help: "allow the output to be the input"),
        OptionSpecification("-v", "--verbose", help: "name each written file"),
        OptionSpecification(
            "-j", "--jobs", value: "N",
            help: "inputs that are worked on at a time (default: the processors)"),
    ]

    /// The last switches of `convert` and `thumbnail`.
    package static let specification = [
        OptionSpecification(
            "--coder", value: "ID", help: "decode with this coder and no other (default: the best)")
    ] + outputSpecification + [
        OptionSpecification(
            "--threads", value: "N",
            help: "threads for one image (default: the processors for a single input, else 1)"),
        OptionSpecification(
            "--budget", value: "SIZE",
            help: "memory that images may take together; a larger one is worked on alone (default: 512M)"),
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
                        "there is no metadata kind \(word)",
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
