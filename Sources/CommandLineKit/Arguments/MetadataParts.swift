package import CoderHost

/// The parts of metadata that `--keep` and `--strip` name, with the same words in every command.
package enum MetadataParts {
    package typealias Part = RewriteOptions.Part

    /// The words in the order of the help.
    private static let words: [(word: String, element: Part)] = [
        ("exif", .exif), ("gps", .gps), ("thumbnail", .thumbnail), ("xmp", .xmp), ("icc", .icc), ("iptc", .iptc),
        ("text", .comment), ("other", .other),
    ]

    /// Further spellings, which the help does not list.
    private static let aliases: [(word: String, element: Part)] = [("comment", .comment), ("raw", .other)]

    /// All words, for completions.
    package static let choices = words.map(\.word) + ["all"]

    /// The words, for the help.
    package static let list = words.map(\.word).joined(separator: ",")

    /// Returns the parts that an option names; nil without the option.
    ///
    /// - Parameter all: the meaning of `all`; nil for all parts.
    package static func named(
        by key: String, _ arguments: ParsedArguments, all: Set<Part>? = nil
    ) throws(UsageError) -> Set<Part>? {
        try arguments.set(key, of: words, aliases: aliases, noun: "metadata part", all: all)
    }

    /// Returns the parts that are left out if only some parts are kept.
    package static func removed(keeping kept: Set<Part>) -> Set<Part> {
        var removed = Set(Part.allCases).subtracting(kept)
        // GPS and thumbnail are parts of Exif: keeping Exif keeps them, and keeping one of them keeps Exif.
        if kept.contains(.exif) { removed.subtract([.gps, .thumbnail]) }
        if !kept.isDisjoint(with: [.gps, .thumbnail]) { removed.remove(.exif) }
        return removed
    }

    /// Returns `--keep` and `--strip` of commands that re-encode images.
    ///
    /// - Parameter usual: the metadata kept without `--keep`.
    package static func options(kept usual: String) -> [OptionSpecification] {
        options(keep: " (default: \(usual))", strip: ", or all")
    }

    /// Returns `--keep` and `--strip` of commands that change files without re-encoding.
    package static var rewriteOptions: [OptionSpecification] {
        options(keep: ", besides icc (default: all)", strip: ", or all except icc")
    }

    private static func options(keep: String, strip: String) -> [OptionSpecification] {
        [
            OptionSpecification(
                "--keep", value: "PARTS", isList: true, choices: choices, help: "metadata to keep: \(list)\(keep)"),
            OptionSpecification(
                "--strip", value: "PARTS", isList: true, choices: choices,
                help: "metadata to remove: \(list)\(strip) (default: none)"),
        ]
    }
}
