/// What a manifest may ask to read while the plugin is loaded in a worker, beside its libraries.
public enum SystemResource: String, Sendable, Hashable, CaseIterable {
    /// The fonts of the system, and the settings and caches of fontconfig.
    case fonts

    /// What it is, for people.
    package var summary: String {
        switch self {
        case .fonts: "the system's fonts"
        }
    }

    /// The folders that hold it on this system; none of them is a user's.
    var folders: [String] {
        let named =
            switch self {
            case .fonts:
                // The links of /etc/fonts/conf.d lead to /usr/share/fontconfig.
                [
                    "/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts", "/usr/share/fontconfig",
                    "/var/cache/fontconfig",
                ]
            }
        return named.filter { folder in
            guard let real = resolvedPath(folder) else { return false }
            // An administrator may have linked one of them to any place.
            return ["/usr/", "/etc/", "/var/"].contains { real.hasPrefix($0) }
        }
    }
}

extension SystemResource {
    init(_ field: ManifestField) throws(PluginManifest.Failure) {
        let name = try field.string()
        guard let known = Self(rawValue: name) else {
            var failure = field.failure(
                "is \"\(name.prefix(40))\", which this version does not know "
                    + "(\(Self.allCases.map(\.rawValue).joined(separator: ", "))); update coderhost")
            failure.remedy = "update coderhost"
            throw failure
        }
        self = known
    }
}
