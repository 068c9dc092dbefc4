import JSONModel

/// A validated manifest, with the values that the generated file needs.
///
/// The build checks the errors that would make the host ignore the plugin. The host validates everything else when it
/// reads the note.
struct Manifest {
    /// `plugin.id`.
    let id: String
    /// `abi.minor_needed`: the lowest host minor the plugin works with.
    var minorNeeded: Int
    /// The option keys of each coder.
    var optionKeys: [(coder: String, keys: [String])] = []
    /// The JSON text without white space.
    var compact: [UInt8]

    /// The maximum size in bytes (`CPI_MANIFEST_LIMIT`).
    static let limit = 65_536
    /// `CPI_ABI_MAJOR`, and the minor version that `CoderPluginKit` implements.
    static let abi = (major: 1, minor: 0)
    /// The names of `CoderRoles`.
    static let roles: Set = [
        "decode", "encode", "animation", "encode-animation", "incremental", "scale", "region", "metadata", "items",
        "rewrite", "transcode", "encode-items",
    ]

    init(_ text: [UInt8]) throws(ManifestError) {
        guard text.count <= Self.limit else {
            throw ManifestError(message: "the manifest is larger than \(Self.limit) bytes", offset: Self.limit)
        }
        if let place = Self.invalidUTF8(text) { throw ManifestError(message: "not valid UTF-8", offset: place) }
        let root = try JSON(text)

        guard case .object = root.content else {
            throw ManifestError(message: "the manifest must be one JSON object", offset: root.offset)
        }
        try root.integer("schema", in: 1...1)
        let plugin = try root.object("plugin")
        id = try plugin.string("id")
        for key in ["name", "version", "license"] { try plugin.string(key) }
        let abi = try root.object("abi")
        try abi.integer("major", in: Self.abi.major...Self.abi.major)
        try abi.integer("minor_built", in: Self.abi.minor...Self.abi.minor)
        minorNeeded = try abi.integer("minor_needed", in: 0...Self.abi.minor)
        try root.checkIsolation()
        for coder in try root.elements("coders") {
            try coder.string("id")
            for role in try coder.elements("roles") {
                guard case .plain(.string(let name)) = role.content, Self.roles.contains(name) else {
                    throw ManifestError(
                        message: "invalid role: expected \(Self.roles.sorted().joined(separator: ", "))",
                        offset: role.offset)
                }
            }
            for format in try coder.elements("formats") {
                try format.string("id")
                for signature in format.optional("signatures") { try signature.checkSignature() }
            }
            var keys: [String] = []
            for option in coder.optional("options") { keys.append(try option.string("key")) }
            optionKeys.append((try coder.string("id"), keys))
        }
        compact = JSON.compact(text)
    }

    /// Returns the offset of the first byte that is not valid UTF-8.
    private static func invalidUTF8(_ text: [UInt8]) -> Int? {
        var decoder = UTF8()
        var bytes = text.makeIterator()
        var offset = 0
        while true {
            switch decoder.decode(&bytes) {
            case .scalarValue(let scalar): offset += UTF8.width(scalar)
            case .emptyInput: return nil
            case .error: return offset
            }
        }
    }
}

extension JSON {
    /// Returns the value of a required key.
    private func member(_ key: String) throws(ManifestError) -> JSON {
        guard case .object(let members) = content else { throw fault("expected an object") }
        guard let member = members.first(where: { $0.key == key }) else {
            throw fault("the key \"\(key)\" is missing in this object")
        }
        return member.value
    }

    private func fault(_ message: String) -> ManifestError { ManifestError(message: message, offset: offset) }

    func object(_ key: String) throws(ManifestError) -> JSON {
        let value = try member(key)
        guard case .object = value.content else { throw value.fault("\"\(key)\" must be an object") }
        return value
    }

    func elements(_ key: String) throws(ManifestError) -> [JSON] {
        let value = try member(key)
        guard case .array(let elements) = value.content, !elements.isEmpty else {
            throw value.fault("\"\(key)\" must be an array with at least one element")
        }
        return elements
    }

    /// Returns the elements of an optional array.
    func optional(_ key: String) -> [JSON] {
        guard let value = try? member(key), case .array(let elements) = value.content else { return [] }
        return elements
    }

    @discardableResult
    func string(_ key: String) throws(ManifestError) -> String {
        let value = try member(key)
        guard case .plain(.string(let text)) = value.content, !text.isEmpty else {
            throw value.fault("\"\(key)\" must be a non-empty string")
        }
        return text
    }

    @discardableResult
    func integer(_ key: String, in range: ClosedRange<Int>) throws(ManifestError) -> Int {
        let value = try member(key)
        guard case .plain(.integer(let number)) = value.content, range.contains(number) else {
            let wanted = range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
            throw value.fault("\"\(key)\" must be \(wanted)")
        }
        return number
    }
}

extension JSON {
    /// The resources that `isolation.read` may name.
    private static let readable = ["fonts"]

    /// Checks the isolation requirements. With a misspelled one, the plugin would run without its protection.
    fileprivate func checkIsolation() throws(ManifestError) {
        guard has("isolation") else { return }
        let isolation = try object("isolation")
        if isolation.has("required") {
            let value = try isolation.member("required")
            guard case .plain(.bool) = value.content else { throw value.fault("\"required\" must be true or false") }
        }
        for resource in isolation.has("read") ? try isolation.elements("read") : [] {
            guard case .plain(.string(let name)) = resource.content, Self.readable.contains(name) else {
                throw resource.fault("\"read\" takes \(Self.readable.joined(separator: ", "))")
            }
        }
    }
}
