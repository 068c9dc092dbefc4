import Foundation
import LoadingTestSupport
import TestSupport
import Testing

/// A server, a working folder with its own cache, and the built command.
struct Bench {
    let server: TestServer
    let place = TemporaryDirectory()
    let cache = TemporaryDirectory()

    var entries: [String] { files(in: cache.path) }

    /// Runs a body with a bench, then stops its server.
    static func run(_ body: (Bench) async throws -> Void) async throws {
        let bench = Bench(server: try await TestServer.start())
        do {
            try await body(bench)
        } catch {
            await bench.server.stop()
            throw error
        }
        await bench.server.stop()
    }

    private init(server: TestServer) { self.server = server }

    /// Serves a fixture under its own name.
    func serve(_ name: String) throws -> [UInt8] {
        let bytes = try #require(readFile(Repository.fixture("images/\(name)")))
        server.on("/\(name)") { _ in .bytes(bytes, type: nil) }
        return bytes
    }

    /// Runs `coderhost` on a separate thread, because the server needs the threads of the concurrency pool.
    func coderhost(_ words: String..., environment: [String: String?] = [:]) async throws -> CommandResult {
        try await coderhost(words, environment: environment)
    }

    func coderhost(_ words: [String], environment: [String: String?] = [:]) async throws -> CommandResult {
        let settings: [String: String?] = [
            "CODERHOST_PLUGIN_PATH": Repository.workerPluginPath, "HOME": cache.path, "XDG_CACHE_HOME": cache.path,
            "XDG_DATA_HOME": nil, "XDG_CONFIG_HOME": nil, "XDG_STATE_HOME": nil, "CODERHOST_TRUST": nil,
        ]
        let result = try await apart { [place] in
            try TestSupport.run(
                ["\(Repository.products)/coderhost"] + words, directory: place.path,
                environment: settings.merging(environment) { $1 }, timeout: .seconds(120))
        }
        #expect(!result.timedOut && result.status >= 0, "coderhost \(words) hung or crashed: \(result.status)")
        return result
    }

    /// Runs a script in the folder; `$0` is `coderhost`.
    func shell(_ script: String, _ words: [String]) async throws -> CommandResult {
        try await apart { [place, cache] in
            try TestSupport.run(
                ["bash", "-c", script, "\(Repository.products)/coderhost"] + words, directory: place.path,
                environment: [
                    "HOME": cache.path, "XDG_CACHE_HOME": cache.path,
                    "CODERHOST_PLUGIN_PATH": Repository.workerPluginPath,
                ], timeout: .seconds(120))
        }
    }

    /// Runs `fetch` with access to this machine, where the server runs.
    func fetch(_ words: String...) async throws -> CommandResult {
        try await coderhost(["fetch", "--allow-private"] + words)
    }

    func cache(_ words: String...) async throws -> CommandResult { try await coderhost(["cache"] + words) }

    var outputs: [String] { files(in: place.path) }
    func output(_ name: String) -> [UInt8]? { readFile(place.file(name)) }
}

/// Returns all files below a folder as sorted relative paths.
func files(in folder: String) -> [String] {
    (FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? [])
        .filter { FileManager.default.contents(atPath: "\(folder)/\($0)") != nil && !isFolder("\(folder)/\($0)") }
        .sorted()
}

private func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
}

/// Runs blocking code outside the concurrency pool.
func apart<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// A JSON document, parsed by Foundation.
struct Document {
    private let value: Any?

    init(_ text: String) {
        value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    private init(value: Any?) { self.value = value is NSNull ? nil : value }

    subscript(key: String) -> Document { Document(value: (value as? [String: Any])?[key]) }
    subscript(index: Int) -> Document { list.indices.contains(index) ? list[index] : Document(value: nil) }

    var text: String? { value as? String }
    var integer: Int? { (value as? NSNumber)?.intValue }
    var bool: Bool? { value as? Bool }
    var list: [Document] { (value as? [Any] ?? []).map { Document(value: $0) } }
    var exists: Bool { value != nil }
}

extension CommandResult {
    /// The output as one document per line.
    var documents: [Document] { stdout.split(separator: "\n").map { Document(String($0)) } }
}
