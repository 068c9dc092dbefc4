/// A place in a manifest that knows its path, so that an error can name it.
struct ManifestField {
    let value: JSONValue?
    let path: String

    init(_ value: JSONValue?, path: String) {
        self.value = value == .null ? nil : value
        self.path = path
    }

    subscript(key: String) -> ManifestField {
        ManifestField(value?[key], path: path.isEmpty ? key : "\(path).\(key)")
    }

    func failure(_ message: String) -> PluginManifest.Failure {
        PluginManifest.Failure(message: "\(path) \(message)")
    }

    func object() throws(PluginManifest.Failure) -> ManifestField {
        guard case .object = value else { throw failure(value == nil ? "is missing" : "is no object") }
        return self
    }

    func string(default fallback: String? = nil) throws(PluginManifest.Failure) -> String {
        guard let value else {
            if let fallback { return fallback }
            throw failure("is missing")
        }
        guard let text = value.string else { throw failure("is no string") }
        guard text.utf8.count <= 1024 else { throw failure("is longer than 1024 bytes") }
        return text
    }

    /// A name made of letters, digits and `. - _ +`, so that it can be shown and used as a file name.
    func identifier() throws(PluginManifest.Failure) -> String {
        let text = try string()
        let allowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "+"):
                true
            default: false
            }
        }
        guard allowed, !text.isEmpty, text.utf8.count <= 128, !text.utf8.starts(with: [UInt8(ascii: ".")]) else {
            throw failure("\"\(text.prefix(40))\" is no identifier")
        }
        return text
    }

    func boolean(default fallback: Bool) throws(PluginManifest.Failure) -> Bool {
        guard let value else { return fallback }
        guard case .bool(let flag) = value else { throw failure("is neither true nor false") }
        return flag
    }

    func integer(default fallback: Int? = nil) throws(PluginManifest.Failure) -> Int {
        guard let value else {
            if let fallback { return fallback }
            throw failure("is missing")
        }
        guard let number = value.integer, (-1_000_000...1_000_000).contains(number) else {
            throw failure("is no whole number in range")
        }
        return number
    }

    func list<T>(
        _ element: (ManifestField) throws(PluginManifest.Failure) -> T
    ) throws(PluginManifest.Failure) -> [T] {
        guard let value else { return [] }
        guard let items = value.array else { throw failure("is no list") }
        guard items.count <= 256 else { throw failure("has more than 256 entries") }
        var result: [T] = []
        for (index, item) in items.enumerated() {
            result.append(try element(ManifestField(item, path: "\(path)[\(index)]")))
        }
        return result
    }

    func strings() throws(PluginManifest.Failure) -> [String] {
        try list { field throws(PluginManifest.Failure) in try field.string() }
    }
}
