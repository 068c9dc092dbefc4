import Glibc

/// Paths of the project's files.
public enum Repository {
    /// The root of the repository.
    public static let root: String = {
        // Tests/TestSupport/Repository.swift
        var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        parts.removeLast(3)
        return parts.joined(separator: "/")
    }()

    /// Returns the path of a file or folder in `Fixtures/`.
    public static func fixture(_ path: String) -> String { "\(root)/Fixtures/\(path)" }

    /// The build folder with executables and plugins.
    public static let products: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe readlink("/proc/self/exe", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        // The tests run from <products>/<name>.xctest, or from the toolchain's helper with the bundle as argument.
        if let bundle = CommandLine.arguments.first(where: { $0.contains(".xctest") }), !path.contains(".build") {
            return bundle.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        }
        return path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
    }()
}

/// The worker and its plugins. A sanitizer needs system calls and address space that a worker does not get. So for
/// sanitizer builds the environment names a worker and plugins without the sanitizer (`make asan tsan`).
extension Repository {
    /// The path of the worker.
    public static var worker: String { named("CODERHOST_WORKER") ?? "\(products)/coderhost-worker" }
    /// The folder of the plugins for workers.
    public static var workerPlugins: String { named("CODERHOST_TEST_WORKER_PLUGINS") ?? products }

    /// The value of `CODERHOST_PLUGIN_PATH` for isolated commands; nil if workers load the plugins of this build.
    public static var workerPluginPath: String? { named("CODERHOST_TEST_WORKER_PLUGINS") }

    private static func named(_ variable: String) -> String? {
        unsafe getenv(variable).map { unsafe String(cString: $0) }
    }
}

/// Reads a whole file; returns nil if it cannot be read.
public func readFile(_ path: String) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        if count < 0 { return nil }
        if count == 0 { return all }
        all.append(contentsOf: chunk[..<count])
    }
}
