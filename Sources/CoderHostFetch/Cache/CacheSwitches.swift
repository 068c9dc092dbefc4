import CommandLineKit
import ImageLoading

/// Which cache on disk is meant, and how much it keeps.
struct CacheSwitches {
    let directory: String
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
        if directory.isEmpty { throw UsageError("--cache-dir needs the name of a folder") }
        namespace = arguments.value("--namespace") ?? "default"
        configuration = DiskCacheConfiguration()
        configuration.maxSize = Self.standardSize
        // A command ends before a sweep in the background does; it tidies up before it ends.
        configuration.sweepInterval = nil
    }

    func open() -> DiskCache {
        DiskCache(directory: directory, namespace: namespace, configuration: configuration)
    }
}
