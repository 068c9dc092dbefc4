import CoderHost
import CommandLineKit
import ImageModel

/// The output of a `coderhost plugin` subcommand: one line or one JSON object for each operand.
struct PluginAnswer {
    let asJSON: Bool
    private(set) var code = ExitCode.success
    private var failures = 0
    private var answers = 0

    init(_ arguments: ParsedArguments) { asJSON = arguments.has("--json") }

    mutating func say(_ text: String, _ members: [(key: String, value: JSONValue)]) {
        answers += 1
        Console.out(asJSON ? JSONValue.object(members).text : printable(text))
    }

    /// Prints a warning in text mode; with `--json`, callers use `list --json` instead.
    func warn(_ text: String) {
        if !asJSON { Console.error("coderhost: warning: \(printable(text))") }
    }

    mutating func fail(_ operand: String, _ error: CoderError) {
        failures += 1
        answers += 1
        code = ExitCode(error.code)
        error.report(operand, json: asJSON)
    }

    /// The exit code: of a single failed operand, or 1 if some of several failed.
    var exitCode: ExitCode { failures == 0 ? .success : answers == 1 ? code : .partialFailure }
}

/// The path, id and hash of a plugin file, read without loading the plugin.
struct PluginFile {
    var path: String
    /// The manifest's id.
    var id: String
    var hash: ContentHash

    init(_ path: String) throws(CoderError) {
        let real = resolvedPath(path) ?? path
        do throws(PluginInspection.Failure) {
            let inspection = try PluginInspection(real)
            (self.path, id, hash) = (real, inspection.manifest.id, inspection.hash)
        } catch {
            switch error {
            case .system(let problem):
                throw CoderError(
                    FileStatus.of(real) == nil ? .notFound : .inputOutput, "cannot read the file: \(problem)",
                    hint: "check its name and permissions")
            case .notAPlugin(let why):
                throw CoderError(.invalidArgument, "not a plugin: \(why)", hint: "pass a libcoder-*.so")
            }
        }
    }

    /// Returns the plugin file of an operand: a path, or the id of an installed plugin.
    static func named(_ word: String, _ host: CoderHost) throws(CoderError) -> PluginFile {
        if word.contains("/") || FileStatus.of(word) != nil { return try PluginFile(word) }
        return try PluginFile(try record(word, host).path)
    }

    /// Returns the plugin with an id or file name.
    static func record(_ id: String, _ host: CoderHost) throws(CoderError) -> PluginRecord {
        let plugins = host.plugins
        let found = plugins.filter { $0.id == id || $0.fileName == id || $0.path == id }
        if let used = found.first(where: { $0.status.isUsable }) ?? (found.count == 1 ? found[0] : nil) { return used }
        if !found.isEmpty {
            throw CoderError(
                .invalidArgument, "\(found.count) files have this id",
                hint: "pass one of them: \(found.map(\.path).joined(separator: ", "))")
        }
        let known = plugins.map(\.id)
        throw CoderError(
            .notFound, "no such file or plugin",
            hint: (meant(id, plugins) ?? OptionCheck.nearest(id, known)).map { "did you mean \($0)?" }
                ?? "installed plugins: \(known.sorted().joined(separator: ", "))")
    }

    /// Returns the id of the plugin that a path, a coder or a format names.
    private static func meant(_ word: String, _ plugins: [PluginRecord]) -> String? {
        let fileName = word.split(separator: "/").last.map(String.init) ?? word
        func isNamed(_ format: PluginManifest.Format) -> Bool {
            [format.id.id, format.name.lowercased()].contains(word.lowercased())
                || format.extensions.contains(word.lowercased())
        }
        let candidates = plugins.filter { plugin in
            plugin.fileName == fileName
                || (plugin.manifest?.coders ?? []).contains { $0.id == word || $0.formats.contains(where: isNamed) }
        }
        // A file is named after its format; a plugin for animations can serve the same format.
        let owner = candidates.first { $0.fileName == "libcoder-\(word.lowercased()).so" }
        // The first format of a plugin is its own; others can be formats that several plugins serve.
        let first = candidates.first { $0.manifest?.coders.first?.formats.first.map(isNamed) == true }
        return (owner ?? first ?? candidates.first)?.id
    }
}

extension TrustStore.Failure {
    var asCoderError: CoderError { CoderError(.cannotCreate, message, hint: hint) }
}
