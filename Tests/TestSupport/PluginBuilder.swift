import Glibc

/// Builds the C plugins in `Tests/ThirdParty`, as a third party does with a compiler and the header.
public enum PluginBuilder {
    /// A file could not be built.
    public struct Failure: Error, CustomStringConvertible {
        /// The message of the compiler, or another reason.
        public var description: String

        /// Creates a failure.
        public init(description: String) { self.description = description }
    }

    /// The version of the header for which the QOI coder is built.
    public enum Edition: String, Sendable, CaseIterable {
        /// An older header, whose tables are shorter than the host's.
        case older
        /// The current header.
        case current
        /// A header of minor 7, whose structs are longer than the host's.
        case future
    }

    /// The folder with `coder_plugin.h`.
    public static let headers = "\(Repository.root)/Sources/CCoderPlugin/include"

    /// Returns the folder of a header of minor 7; creates it once per process.
    public static func futureHeaders() throws -> String {
        try made.get()
    }

    /// Builds one source file below `Tests/ThirdParty` into a shared object.
    ///
    /// - Parameters:
    ///   - source: Path below `Tests/ThirdParty`, for example `bad/no-note.c`.
    ///   - flags: Additional arguments for the compiler, for example `["-DMISMATCH=2"]`.
    ///   - folder: The folder for the file.
    ///   - name: The file's name; nil = `libcoder-<source>.so`.
    /// - Returns: The path of the file.
    /// - Throws: Failure with the message of the compiler.
    @discardableResult
    public static func build(
        _ source: String, flags: [String] = [], into folder: String, named name: String? = nil
    ) throws -> String {
        let output = "\(folder)/\(name ?? "libcoder-\(stem(source)).so")"
        try compile(
            ["-shared", "-fPIC", "-fvisibility=hidden", "\(Repository.root)/Tests/ThirdParty/\(source)"] + flags
                + ["-I\(headers)", "-o", output])
        return output
    }

    /// Builds the QOI coder as `libcoder-qoi.so`.
    @discardableResult
    public static func buildQOI(_ edition: Edition = .current, into folder: String) throws -> String {
        switch edition {
        case .older: try build("past/past.c", into: folder, named: "libcoder-qoi.so")
        case .current: try build("qoi/qoi.c", into: folder)
        case .future:
            // The first folder takes precedence over the current header.
            try build("future/future.c", flags: ["-I\(try futureHeaders())"], into: folder, named: "libcoder-qoi.so")
        }
    }

    /// Builds a hostile replacement for `coderhost-worker`; see `Tests/ThirdParty/worker/hostile.c`.
    public static func buildHostileWorker(lie: String, into folder: String) throws -> String {
        let output = "\(folder)/worker-\(lie.lowercased())"
        try compile([
            "\(Repository.root)/Tests/ThirdParty/worker/hostile.c", "-DLIE=\(lie)", "-I\(headers)",
            "-I\(Repository.root)/Sources/CIsolationWire/include", "-o", output,
        ])
        return output
    }

    /// Builds a plugin that needs `libcoderhost-absent.so.3`, and removes that library.
    @discardableResult
    public static func buildMissingLibrary(into folder: String) throws -> String {
        let library = TemporaryDirectory()
        try build(
            "bad/absent.c", flags: ["-Wl,-soname,libcoderhost-absent.so.3"], into: library.path,
            named: "libcoderhost-absent.so")
        return try build(
            "bad/missing-library.c", flags: ["-L\(library.path)", "-Wl,--no-as-needed", "-lcoderhost-absent"],
            into: folder)
    }

    /// Builds a valid plugin whose ELF header declares another machine.
    @discardableResult
    public static func buildWrongArchitecture(into folder: String) throws -> String {
        let path = try build("bad/claims-formats.c", into: folder, named: "libcoder-wrong-arch.so")
        guard var bytes = readFile(path), bytes.count > 20 else { throw Failure(description: "\(path) is not ELF") }
        // e_machine, 16 bits at 18 (System V ABI, "ELF header"): 8 is MIPS.
        bytes[18] = 8
        bytes[19] = 0
        guard writeFile(path, bytes) else { throw Failure(description: "\(path) cannot be written") }
        return path
    }

    /// Builds a valid plugin and truncates it.
    @discardableResult
    public static func buildTruncated(to count: Int, into folder: String) throws -> String {
        let path = try build("bad/claims-formats.c", into: folder, named: "libcoder-truncated.so")
        guard let bytes = readFile(path), bytes.count > count, writeFile(path, Array(bytes[..<count])) else {
            throw Failure(description: "\(path) has no \(count) bytes to keep")
        }
        return path
    }

    /// Writes a text file with the name of a plugin.
    @discardableResult
    public static func writeText(into folder: String) throws -> String {
        let path = "\(folder)/libcoder-text.so"
        guard writeFile(path, Array("This is no shared object.\n".utf8)) else {
            throw Failure(description: "\(path) cannot be written")
        }
        return path
    }

    /// Builds a minimal host that tests a plugin without coderhost; see `Tests/ThirdParty/host/host.c`.
    @discardableResult
    public static func buildHost(_ edition: Edition = .current, into folder: String) throws -> String {
        let output = "\(folder)/host-\(edition.rawValue)"
        let flags =
            switch edition {
            case .older, .current: ["-I\(headers)"]
            case .future: ["-I\(try futureHeaders())"]
            }
        try compile(["\(Repository.root)/Tests/ThirdParty/host/host.c"] + flags + ["-o", output, "-ldl"])
        return output
    }

    /// Returns a folder beside the products that several tests share; it stays until the build is cleaned.
    public static func keptFolder(_ name: String) throws -> String {
        let path = "\(Repository.products)/\(name)"
        guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else { throw Failure(description: "no folder \(path)") }
        return path
    }

    private static func compile(_ arguments: [String]) throws {
        let result = try run(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror"] + arguments)
        if result.status != 0 { throw Failure(description: result.stderr) }
    }

    private static func stem(_ path: String) -> Substring {
        let name = path.split(separator: "/").last ?? ""
        return name.split(separator: ".").first ?? name
    }

    private static let made = Result {
        let folder = try keptFolder("future-headers")
        let script = "\(Repository.root)/Tests/ThirdParty/future/headers.sh"
        let result = try run(["sh", script, headers, folder])
        if result.status != 0 { throw Failure(description: result.stderr) }
        return folder
    }
}
