import CoderHost
public import ImageModel
import Synchronization

// MARK: Where it is

extension ImageCache {
    private static let directory = Mutex<String?>(nil)

    /// The folder with one folder for every namespace: `$XDG_CACHE_HOME/coderhost`, or else `~/.cache/coderhost`.
    ///
    /// Setting it concerns caches that are made later. Nil where the environment names neither.
    public static var defaultDirectory: String? {
        get { directory.withLock { $0 } ?? standardDirectory }
        set { directory.withLock { $0 = newValue } }
    }

    private static var standardDirectory: String? {
        // - Source: XDG Base Directory Specification 0.8: a path that is not absolute is to be ignored.
        if let folder = trustedEnvironment("XDG_CACHE_HOME"), folder.hasPrefix("/") { return "\(folder)/coderhost" }
        if let home = trustedEnvironment("HOME"), home.hasPrefix("/") { return "\(home)/.cache/coderhost" }
        return nil
    }

    /// The folder of a namespace.
    ///
    /// - Parameter directory: nil for ``defaultDirectory``.
    /// - Throws: `.invalidArgument` for a namespace that is no name of a folder; `.notFound` without any directory.
    public static func folder(_ namespace: String, in directory: String? = nil) throws(CoderError) -> String {
        let isName =
            !namespace.isEmpty && namespace != "." && namespace != ".." && namespace.utf8.count <= 255
            && !namespace.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
        guard isName else {
            throw .invalidArgument("\"\(namespace)\" cannot be a namespace", hint: "it becomes the name of a folder")
        }
        guard let directory = directory ?? defaultDirectory else {
            throw CoderError(
                .notFound, "there is no folder for caches", hint: "set XDG_CACHE_HOME or HOME, or name a directory")
        }
        return "\(directory)/\(namespace)"
    }
}
