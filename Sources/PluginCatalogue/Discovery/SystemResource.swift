import HostSystem

/// System files that a plugin may read while it is loaded in a worker, in addition to its libraries.
package enum SystemResource: String, Sendable, Hashable, CaseIterable {
    /// The fonts of the system, and the settings and caches of fontconfig.
    case fonts

    /// The description in messages.
    package var summary: String {
        switch self {
        case .fonts: "the system's fonts"
        }
    }

    /// The folders with these files; none of them belongs to a user.
    package var folders: [String] {
        let named =
            switch self {
            case .fonts:
                // The links in /etc/fonts/conf.d point to /usr/share/fontconfig.
                [
                    "/usr/share/fonts", "/usr/local/share/fonts", "/etc/fonts", "/usr/share/fontconfig",
                    "/var/cache/fontconfig",
                ]
            }
        return named.filter { folder in
            guard let real = resolvedPath(folder) else { return false }
            // An administrator may have linked one of them to any other place.
            return ["/usr/", "/etc/", "/var/"].contains { real.hasPrefix($0) }
        }
    }
}

extension SystemResource {
    package init(_ field: ManifestField) throws(PluginManifest.Failure) {
        let name = try field.string()
        guard let known = Self(rawValue: name) else {
            var failure = field.failure(
                "is \"\(name.prefix(40))\", unknown to this version "
                    + "(\(Self.allCases.map(\.rawValue).joined(separator: ", "))); update coderhost")
            failure.remedy = "update coderhost"
            throw failure
        }
        self = known
    }
}
