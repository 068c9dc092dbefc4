import CoderHost
import CommandLineKit
import ImageModel

/// What `coderhost plugin VERB` says of one operand: a line for a person, an object for a program.
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

    /// What is odd about something that went well; programs look at `list --json`.
    func warn(_ text: String) {
        if !asJSON { Console.error("coderhost: warning: \(printable(text))") }
    }

    mutating func fail(_ operand: String, _ error: CoderError) {
        failures += 1
        answers += 1
        code = ExitCode(error.code)
        error.report(operand, json: asJSON)
    }

    /// The code of the only failure, or 1 where some of several failed.
    var exitCode: ExitCode { failures == 0 ? .success : answers == 1 ? code : .partialFailure }
}

/// What the verbs need to know of a plugin's file; nothing of it runs.
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
                    FileStatus.of(real) == nil ? .notFound : .inputOutput, "it cannot be read: \(problem)",
                    hint: "check the name and its permissions")
            case .notAPlugin(let why):
                throw CoderError(.invalidArgument, "it is no plugin: \(why)", hint: "name a libcoder-*.so")
            }
        }
    }

    /// The files that a word stands for: a path, or the id of a plugin in the folders.
    static func named(_ word: String, _ host: CoderHost) throws(CoderError) -> PluginFile {
        if word.contains("/") || FileStatus.of(word) != nil { return try PluginFile(word) }
        return try PluginFile(try record(word, host).path)
    }

    /// The plugin of an id.
    static func record(_ id: String, _ host: CoderHost) throws(CoderError) -> PluginRecord {
        let plugins = host.plugins
        let found = plugins.filter { $0.id == id || $0.fileName == id }
        if let used = found.first(where: { $0.status.isUsable }) ?? (found.count == 1 ? found[0] : nil) { return used }
        if !found.isEmpty {
            throw CoderError(
                .invalidArgument, "\(found.count) files have that id",
                hint: "name one: \(found.map(\.path).joined(separator: ", "))")
        }
        let known = plugins.map(\.id)
        throw CoderError(
            .notFound, "there is no file and no plugin of that name",
            hint: OptionCheck.nearest(id, known).map { "did you mean \($0)?" }
                ?? "plugins that are there: \(known.sorted().joined(separator: ", "))")
    }
}

extension TrustStore.Failure {
    var asCoderError: CoderError { CoderError(.cannotCreate, message, hint: hint) }
}
