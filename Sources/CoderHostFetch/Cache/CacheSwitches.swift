import CoderHost
import CommandLineKit
import ImageLoading

/// The options that select the disk cache, and its configuration.
struct CacheSwitches {
    /// The directory of caches; nil if the user has none.
    let directory: String?
    let namespace: String
    var configuration: DiskCacheConfiguration

    /// The default maximum size in bytes.
    static let standardSize = 1 << 30

    static let specification = [
        OptionSpecification(
            "--cache-dir", value: "DIR",
            help: "cache directory (default: $XDG_CACHE_HOME/coderhost or ~/.cache/coderhost)"),
        OptionSpecification(
            "--namespace", value: "NAME", help: "use a separate cache in this directory (default: default)"),
    ]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        directory = arguments.value("--cache-dir") ?? DiskCache.standardDirectory
        if directory?.isEmpty == true { throw UsageError("--cache-dir needs a folder name") }
        namespace = arguments.value("--namespace") ?? "default"
        guard DiskCache.isFolderName(namespace) else {
            throw UsageError(
                "invalid --namespace value \"\(namespace)\"",
                hint: "use a name without slashes, spaces and leading dot, such as images")
        }
        configuration = DiskCacheConfiguration()
        configuration.maxSize = Self.standardSize
        // Commands are too short for background sweeps; they prune the cache before they exit.
        configuration.sweepInterval = nil
    }

    static let homeless = "no cache directory: XDG_CACHE_HOME and HOME are unset, and the user has no home directory"
    static let homelessHint = "use --cache-dir DIR"

    /// Returns the cache; prints a warning and returns nil if there is no cache directory.
    func open() -> DiskCache? {
        if let cache = cache() { return cache }
        Console.error("coderhost: warning: nothing is cached: \(Self.homeless)")
        Console.error("  try: \(Self.homelessHint), or --no-cache")
        return nil
    }

    func cache() -> DiskCache? {
        directory.map { DiskCache(directory: $0, namespace: namespace, configuration: configuration) }
    }
}
