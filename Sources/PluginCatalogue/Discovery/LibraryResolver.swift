import HostSystem

/// Checks whether the loader will find every library of a plugin, without loading anything.
///
/// The search order is the loader's: run path, `LD_LIBRARY_PATH`, the system's cache, the standard folders. The
/// libraries of libraries are checked too, so the result names the library that is really missing.
///
/// - Source: `ld.so(8)`.
package final class LibraryResolver {
    private var found: [String: String?] = [:]
    private var mapped: [String: String?] = [:]
    /// Paths of libraries whose dependencies are complete.
    private var complete: Set<String> = []
    private lazy var cache = LoaderCache()

    package init() {}

    private static let maxLibraries = 512

    private static let standardFolders = [
        "/lib/\(ELFImage.machine.name == "x86-64" ? "x86_64" : "aarch64")-linux-gnu",
        "/usr/lib/\(ELFImage.machine.name == "x86-64" ? "x86_64" : "aarch64")-linux-gnu",
        "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
    ]

    /// Returns the missing libraries and the library that needs each; empty if nothing is missing.
    package func missing(for image: ELFImage, in folder: String) -> [(library: String, neededBy: String?)] {
        var visited: Set<String> = []
        var paths: Set<String> = []
        let result = missing(image, folder, neededBy: nil, &visited, &paths)
        if result.isEmpty { complete.formUnion(paths) }
        return result
    }

    /// Returns the paths that the loader needs to read for a plugin: the standard folders, and single files elsewhere.
    ///
    /// A plugin chooses its library paths, so whole folders stay closed: a path could point into a user's home.
    package func readable(for record: PluginRecord) -> [String] {
        var visited: Set<String> = []
        var paths: Set<String> = []
        if let file = try? File(reading: record.path), let status = try? file.status(),
            let image = try? ELFImage(file, size: status.size)
        {
            _ = missing(image, parentFolder(record.path), neededBy: nil, &visited, &paths)
        }
        let files = Set(paths.flatMap { Self.chain($0) + [resolvedPath($0) ?? $0] }).filter { path in
            path.hasPrefix("/") && !Self.isStandard(path) && !Self.isOfSystem(path)
        }
        return Self.standardFolders + files.sorted()
    }

    /// A path has many spellings, such as `/./proc/…`, so the resolved path decides.
    private static func isOfSystem(_ path: String) -> Bool {
        let real = resolvedPath(path) ?? path
        return systemFolders.contains { path.hasPrefix($0) || real.hasPrefix($0) }
    }

    /// File systems that hold no libraries but expose secrets of the process.
    private static let systemFolders = ["/proc/", "/sys/", "/dev/"]

    private static func isStandard(_ path: String) -> Bool {
        !path.split(separator: "/").contains("..") && standardFolders.contains { path.hasPrefix("\($0)/") }
    }

    /// A path and the target of each symbolic link at its end, for example `libblas.so.3` through `/etc/alternatives`.
    private static func chain(_ path: String) -> [String] {
        var chain = [path]
        while chain.count < 40, let target = linkTarget(chain[chain.count - 1]) {
            chain.append(target.hasPrefix("/") ? target : "\(parentFolder(chain[chain.count - 1]))/\(target)")
        }
        return chain
    }

    /// Returns whether a library of the plugin is found only through `$ORIGIN`.
    package func needsOrigin(_ image: ELFImage, in folder: String) -> Bool {
        image.runPath.contains { $0.hasPrefix("$ORIGIN") || $0.hasPrefix("${ORIGIN}") }
            && image.needed.contains { locate($0, runPath: [], folder: folder) == nil && inProcess($0) == nil }
    }

    private func missing(
        _ image: ELFImage, _ folder: String, neededBy: String?, _ visited: inout Set<String>, _ paths: inout Set<String>
    ) -> [(library: String, neededBy: String?)] {
        var result: [(library: String, neededBy: String?)] = []
        // Real plugins need a few dozen libraries; the limit stops endless chains.
        for name in image.needed where visited.count < Self.maxLibraries && visited.insert(name).inserted {
            guard let path = locate(name, runPath: image.runPath, folder: folder) else {
                // This process has already loaded the library; a worker will load it from the same file.
                if let path = inProcess(name) {
                    if !path.isEmpty { paths.insert(path) }
                } else {
                    result.append((name, neededBy))
                }
                continue
            }
            if complete.contains(path) { continue }
            guard let file = try? File(reading: path), let status = try? file.status(),
                let library = try? ELFImage(file, size: status.size)
            else { continue }
            paths.insert(path)
            result += missing(library, parentFolder(path), neededBy: name, &visited, &paths)
        }
        return result
    }

    /// Returns the file of a library that is loaded already; cached, because the loader searches all its folders.
    private func inProcess(_ name: String) -> String? {
        if let known = mapped[name] { return known }
        let answer = mappedPath(name)
        mapped[name] = answer
        return answer
    }

    private func locate(_ name: String, runPath: [String], folder: String) -> String? {
        if name.utf8.contains(UInt8(ascii: "/")) { return FileStatus.of(name)?.isRegular == true ? name : nil }
        for entry in runPath {
            let place = Self.expand(entry, folder)
            if FileStatus.of("\(place)/\(name)")?.isRegular == true { return "\(place)/\(name)" }
        }
        if let known = found[name] { return known }
        let path = search(name)
        found[name] = path
        return path
    }

    private func search(_ name: String) -> String? {
        if let path = cache.path(of: name), FileStatus.of(path)?.isRegular == true { return path }
        let extra = trustedEnvironment("LD_LIBRARY_PATH")?.split(separator: ":").map(String.init) ?? []
        for folder in extra + Self.standardFolders where FileStatus.of("\(folder)/\(name)")?.isRegular == true {
            return "\(folder)/\(name)"
        }
        return nil
    }

    private static func expand(_ entry: String, _ folder: String) -> String {
        for token in ["$ORIGIN", "${ORIGIN}"] where entry.hasPrefix(token) {
            return folder + entry.dropFirst(token.count)
        }
        return entry
    }
}

/// The system's library cache.
///
/// Only the strings are used: the name of each library is followed by its path.
///
/// - Source: glibc, `elf/cache.c` file format "glibc-ld.so.cache1.1": magic 20 │ count 4 │ strings size 4 │ … 48 bytes │
///   entries of 24: flags 4, key 4, value 4, …
private struct LoaderCache {
    private var paths: [String: String] = [:]

    init() {
        guard let file = try? File(reading: "/etc/ld.so.cache"), let size = try? file.status().size,
            size >= 48, size <= 16 << 20, let data = try? file.bytes(at: 0, count: size), data.count == size,
            data.starts(with: "glibc-ld.so.cache1.1".utf8)
        else { return }
        func u32(_ at: Int) -> Int {
            Int(data[at]) | Int(data[at + 1]) << 8 | Int(data[at + 2]) << 16 | Int(data[at + 3]) << 24
        }
        func text(_ at: Int) -> String? {
            guard at < size, let end = data[at...].firstIndex(of: 0) else { return nil }
            return String(decoding: data[at..<end], as: UTF8.self)
        }
        let count = u32(20)
        guard count <= (size - 48) / 24 else { return }
        for entry in 0..<count {
            let at = 48 + entry * 24
            guard let key = text(u32(at + 4)), let value = text(u32(at + 8)) else { continue }
            // Of several entries for one name, the first suits this machine best.
            if paths[key] == nil { paths[key] = value }
        }
    }

    func path(of name: String) -> String? { paths[name] }
}
