package import HostSystem

/// A value in a manifest and its path, which error messages name.
package struct ManifestField {
    package let value: JSONValue?
    package let path: String

    package init(_ value: JSONValue?, path: String) {
        self.value = value == .null ? nil : value
        self.path = path
    }

    package subscript(key: String) -> ManifestField {
        ManifestField(value?[key], path: path.isEmpty ? key : "\(path).\(key)")
    }

    package func failure(_ message: String) -> PluginManifest.Failure {
        PluginManifest.Failure(message: "\(path) \(message)")
    }

    package func object() throws(PluginManifest.Failure) -> ManifestField {
        guard case .object = value else { throw failure(value == nil ? "is missing" : "is not an object") }
        return self
    }

    package func string(default fallback: String? = nil) throws(PluginManifest.Failure) -> String {
        guard let value else {
            if let fallback { return fallback }
            throw failure("is missing")
        }
        guard let text = value.string else { throw failure("is not a string") }
        guard text.utf8.count <= 1024 else { throw failure("is longer than 1024 bytes") }
        return text
    }

    /// Returns a name of letters, digits and `. - _ +`, which is safe to print and to use as a file name.
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
            throw failure("\"\(text.prefix(40))\" is not an identifier")
        }
        return text
    }

    func boolean(default fallback: Bool) throws(PluginManifest.Failure) -> Bool {
        guard let value else { return fallback }
        guard case .bool(let flag) = value else { throw failure("is neither true nor false") }
        return flag
    }

    package func integer(default fallback: Int? = nil) throws(PluginManifest.Failure) -> Int {
        guard let value else {
            if let fallback { return fallback }
            throw failure("is missing")
        }
        guard let number = value.integer, (-1_000_000...1_000_000).contains(number) else {
            throw failure("is not an integer in range")
        }
        return number
    }

    package func list<T>(
        _ element: (ManifestField) throws(PluginManifest.Failure) -> T
    ) throws(PluginManifest.Failure) -> [T] {
        guard let value else { return [] }
        guard let items = value.array else { throw failure("is not a list") }
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
