extension Signature {
    package init(_ field: ManifestField) throws(PluginManifest.Failure) {
        // A signature with a single rule may omit "all".
        rules = field["all"].value == nil ? [try Rule(field)] : try field["all"].list(Rule.init)
        rank = try field["rank"].integer(default: 0)
        guard !rules.isEmpty else { throw field.failure("has no rule") }
    }
}

extension Signature.Rule {
    /// The keys that select the kind of a rule, and the keys allowed with each.
    private static let kinds: [(key: String, others: Set<String>)] = [
        ("find", ["within"]), ("xml-root", ["namespace"]), ("tiff-tag", []), ("gzip", []), ("brands", []),
        ("riff", ["chunk", "at", "bytes", "mask"]), ("chunk", ["before", "from"]), ("at", ["bytes", "mask"]),
        ("bytes", ["at", "mask"]),
    ]

    fileprivate init(_ field: ManifestField) throws(PluginManifest.Failure) {
        let given = Self.kinds.filter { field[$0.key].value != nil }
        guard let kind = given.first else {
            let known = Self.kinds.dropLast().map(\.key).joined(separator: ", ")
            throw field.failure("has no known rule (\(known)); correct it, or update coderhost")
        }
        if let other = given.first(where: { $0.key != kind.key && !kind.others.contains($0.key) }) {
            throw field.failure("has both \(kind.key) and \(other.key); put each into its own rule in \"all\"")
        }
        switch kind.key {
        case "find":
            self = .find(
                try Self.hex(field["find"]), within: try Self.number(field["within"], 1...FormatSniffer.headCount))
        case "xml-root":
            self = .xmlRoot(
                try Self.elementName(field["xml-root"]),
                namespace: field["namespace"].value == nil ? nil : Array(try field["namespace"].string().utf8))
        case "tiff-tag": self = .tiffTag(try Self.number(field["tiff-tag"], 1...65_535))
        case "gzip": self = .gzip(try Self.inner(try field["gzip"].object()))
        default: self = try Self.placed(field)
        }
    }

    /// Parses a rule for the content of a gzip file.
    private static func inner(_ field: ManifestField) throws(PluginManifest.Failure) -> Self {
        let rule = try Self(field)
        switch rule {
        case .gzip: throw field.failure("is a gzip rule inside a gzip rule: remove one of them")
        case .bytes(let at, _, _) where at < 0:
            throw field["at"].failure("is \(at): the end of gzip content is not read; count from its start")
        default: return rule
        }
    }

    private static func number(
        _ field: ManifestField, _ range: ClosedRange<Int>
    ) throws(PluginManifest.Failure) -> Int {
        let number = try field.integer()
        guard range.contains(number) else {
            throw field.failure("is \(number); expected \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func elementName(_ field: ManifestField) throws(PluginManifest.Failure) -> [UInt8] {
        let name = Array(try field.string().utf8)
        let isName = name.allSatisfy { $0 > 0x20 && !"<>/=&;:\"'".utf8.contains($0) }
        guard isName, !name.isEmpty, name.count <= 128 else {
            throw field.failure("is not an element name; write it without prefix, for example \"svg\"")
        }
        return name
    }

    /// Parses a rule for bytes at a fixed position.
    private static func placed(_ field: ManifestField) throws(PluginManifest.Failure) -> Self {
        if field["brands"].value != nil {
            var brands: [[UInt8]] = []
            for brand in try field["brands"].strings() { brands.append(try tag(brand, field)) }
            return .brands(brands)
        } else if field["riff"].value != nil {
            let form = try tag(try field["riff"].string(), field)
            guard field["chunk"].value != nil else {
                return .riff(form)
            }
            let bytes = try hex(field["bytes"])
            return .riffChunk(
                form: form, chunk: try tag(try field["chunk"].string(), field),
                at: try field["at"].integer(default: 0), bytes, mask: try mask(field, bytes.count))
        } else if field["chunk"].value != nil {
            return .chunk(
                try tag(try field["chunk"].string(), field),
                before: try tag(try field["before"].string(), field),
                from: try field["from"].integer(default: 8))
        } else {
            let bytes = try hex(field["bytes"])
            return .bytes(at: try field["at"].integer(), bytes, mask: try mask(field, bytes.count))
        }
    }

    /// Parses a four-character code.
    private static func tag(_ text: String, _ field: ManifestField) throws(PluginManifest.Failure) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count == 4 else { throw field.failure("\"\(text.prefix(16))\" does not have four characters") }
        return bytes
    }

    private static func mask(_ field: ManifestField, _ count: Int) throws(PluginManifest.Failure) -> [UInt8] {
        guard field["mask"].value != nil else { return [UInt8](repeating: 0xFF, count: count) }
        let mask = try hex(field["mask"])
        guard mask.count == count else { throw field.failure("has a mask whose length differs from its bytes") }
        return mask
    }

    private static func hex(_ field: ManifestField) throws(PluginManifest.Failure) -> [UInt8] {
        let digits = try field.string().utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count % 2 == 0, digits.count > 0, digits.count <= 128, !digits.contains(nil) else {
            throw field.failure("is not hexadecimal text of 2 to 128 digits")
        }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0]! << 4 | digits[$0 + 1]!) }
    }
}
