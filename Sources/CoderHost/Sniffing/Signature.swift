/// What the first and last bytes of a format look like; data, so that no plugin code runs to recognise a file.
public struct Signature: Sendable, Hashable {
    /// One condition. Container probes are written once here; which values they look for is the plugin's word.
    public enum Rule: Sendable, Hashable {
        /// Bytes at an offset from the start, or from the end when negative; `mask` picks bits.
        case bytes(at: Int, [UInt8], mask: [UInt8])
        /// The major brand or a compatible brand of an ISO base media file.
        case brands([[UInt8]])
        /// The form of a RIFF file.
        case riff([UInt8])
        /// Masked bytes inside the first chunk of a RIFF file, which must have this tag.
        case riffChunk(form: [UInt8], chunk: [UInt8], at: Int, [UInt8], mask: [UInt8])
        /// A chunk of a length-type-data-checksum file that stands before another.
        case chunk([UInt8], before: [UInt8], from: Int)
    }

    /// All of them must hold.
    public var rules: [Rule]
    /// Higher wins between signatures that hold at the same time.
    public var rank: Int

    public init(rules: [Rule], rank: Int = 0) {
        self.rules = rules
        self.rank = rank
    }
}

extension Signature {
    init(_ field: ManifestField) throws(PluginManifest.Failure) {
        // A signature of one rule may be that rule itself.
        rules = field["all"].value == nil ? [try Rule(field)] : try field["all"].list(Rule.init)
        rank = try field["rank"].integer(default: 0)
        guard !rules.isEmpty else { throw field.failure("has no rule") }
    }
}

extension Signature.Rule {
    fileprivate init(_ field: ManifestField) throws(PluginManifest.Failure) {
        if field["brands"].value != nil {
            var brands: [[UInt8]] = []
            for brand in try field["brands"].strings() { brands.append(try Self.tag(brand, field)) }
            self = .brands(brands)
        } else if field["riff"].value != nil {
            let form = try Self.tag(try field["riff"].string(), field)
            guard field["chunk"].value != nil else {
                self = .riff(form)
                return
            }
            let bytes = try Self.hex(field["bytes"])
            self = .riffChunk(
                form: form, chunk: try Self.tag(try field["chunk"].string(), field),
                at: try field["at"].integer(default: 0), bytes, mask: try Self.mask(field, bytes.count))
        } else if field["chunk"].value != nil {
            self = .chunk(
                try Self.tag(try field["chunk"].string(), field),
                before: try Self.tag(try field["before"].string(), field),
                from: try field["from"].integer(default: 8))
        } else {
            let bytes = try Self.hex(field["bytes"])
            self = .bytes(at: try field["at"].integer(), bytes, mask: try Self.mask(field, bytes.count))
        }
    }

    /// Four characters.
    private static func tag(_ text: String, _ field: ManifestField) throws(PluginManifest.Failure) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.count == 4 else { throw field.failure("\"\(text.prefix(16))\" does not have four characters") }
        return bytes
    }

    private static func mask(_ field: ManifestField, _ count: Int) throws(PluginManifest.Failure) -> [UInt8] {
        guard field["mask"].value != nil else { return [UInt8](repeating: 0xFF, count: count) }
        let mask = try hex(field["mask"])
        guard mask.count == count else { throw field.failure("has a mask of another length than its bytes") }
        return mask
    }

    private static func hex(_ field: ManifestField) throws(PluginManifest.Failure) -> [UInt8] {
        let digits = try field.string().utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count % 2 == 0, digits.count > 0, digits.count <= 128, !digits.contains(nil) else {
            throw field.failure("is no hexadecimal text")
        }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0]! << 4 | digits[$0 + 1]!) }
    }
}
