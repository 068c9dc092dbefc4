import CoderHost
import CommandLineKit
import ImageLoading

/// Which cache on disk is meant, and how much it keeps.
struct CacheSwitches {
    /// Nil for a user who has no place for caches.
    let directory: String?
    let namespace: String
    var configuration: DiskCacheConfiguration

    /// Bytes that the commands let it grow to, whatever came last goes last.
    static let standardSize = 1 << 30

    static let specification = [
        OptionSpecification(
            "--cache-dir", value: "DIR",
            help: "the directory of caches (default: $XDG_CACHE_HOME/coderhost, or ~/.cache/coderhost)"),
        OptionSpecification(
            "--namespace", value: "NAME", help: "the cache in it; others share nothing with it (default: default)"),
    ]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        directory = arguments.value("--cache-dir") ?? DiskCache.standardDirectory
        if directory?.isEmpty == true { throw UsageError("--cache-dir needs the name of a folder") }
        namespace = arguments.value("--namespace") ?? "default"
        guard DiskCache.isFolderName(namespace) else {
            throw UsageError(
                "--namespace \"\(namespace)\" cannot be the name of a folder",
                hint: "choose one without slashes and spaces that begins with no dot, such as pictures")
        }
        configuration = DiskCacheConfiguration()
        configuration.maxSize = Self.standardSize
        // A command ends before a sweep in the background does; it tidies up before it ends.
        configuration.sweepInterval = nil
    }

    static let homeless = "there is no place for a cache: no XDG_CACHE_HOME, no HOME, and this user has no home"
    static let homelessHint = "name one with --cache-dir DIR"

    /// Nil, after a warning, where there is no place for one.
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
