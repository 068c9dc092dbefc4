extension JSON {
    /// The keys that identify the kind of a signature rule, as in the host.
    private static let ruleKeys = ["find", "xml-root", "tiff-tag", "gzip", "brands", "riff", "chunk", "at"]

    /// Checks that the host knows each rule of a signature, and validates the values of complex rules.
    func checkSignature() throws(ManifestError) {
        let rules = has("all") ? try elements("all") : [self]
        for rule in rules { try rule.checkRule() }
    }

    private func checkRule() throws(ManifestError) {
        guard let kind = Self.ruleKeys.first(where: has) else {
            throw ManifestError(
                message: "unknown rule: expected one of the keys \(Self.ruleKeys.joined(separator: ", "))",
                offset: offset)
        }
        switch kind {
        case "find":
            let digits = try string("find").utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
            guard digits.count % 2 == 0, digits.count <= 128, !digits.contains(nil) else {
                throw ManifestError(message: "\"find\" must be 2 to 128 hexadecimal digits", offset: offset)
            }
            try integer("within", in: 1...4096)
        case "xml-root":
            if try string("xml-root").contains(":") {
                throw ManifestError(message: "\"xml-root\" must be a name without prefix", offset: offset)
            }
            if has("namespace") { try string("namespace") }
        case "tiff-tag": try integer("tiff-tag", in: 1...65_535)
        case "gzip":
            let inner = try object("gzip")
            if inner.has("gzip") {
                throw ManifestError(message: "a gzip rule must not contain a gzip rule", offset: inner.offset)
            }
            try inner.checkRule()
        default: break
        }
    }

    func has(_ key: String) -> Bool {
        guard case .object(let members) = content else { return false }
        return members.contains { $0.key == key }
    }
}
