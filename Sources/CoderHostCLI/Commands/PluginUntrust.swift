import CoderHost
import CommandLineKit
import ImageModel

/// Removes the trust that `plugin trust` added, or revokes keys.
enum PluginUntrustVerb: PluginVerb {
    static let name = "untrust"
    static let summary = "remove trust in plugins or keys"
    static let operands = "FILE|ID|SHA256|KEY…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin untrust org.example.qoi-plugin", "remove trust in all versions of a plugin"),
        ("coderhost plugin untrust --revoke 8f3a21c07be94d55", "revoke a key"),
    ]
    static let options = [
        OptionSpecification(
            "--revoke",
            help: "revoke KEY permanently (undo: plugin trust --unrevoke)")
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin untrust needs a FILE, an ID, a SHA256 or a KEY") }
        let store = TrustStore(folders: try arguments.configuration().search.trustDirectories)
        var answer = PluginAnswer(arguments)
        for operand in operands {
            do throws(CoderError) {
                if arguments.has("--revoke") {
                    try revoke(operand, store, &answer)
                } else {
                    try withdraw(operand, store, &answer)
                }
            } catch { answer.fail(operand, error) }
        }
        return answer.exitCode
    }

    private static func withdraw(
        _ operand: String, _ store: TrustStore, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        let real = resolvedPath(operand)
        let file = real.flatMap { try? PluginFile($0) }
        let key = operand.hasSuffix(".pub") ? (try? PluginTrustVerb.key(operand))?.id : operand
        let entries = store.entries.filter { entry in
            entry.plugin == operand || "\(entry.hash)" == operand || entry.path == (real ?? operand)
                || entry.hash == file?.hash
        }
        let paths = entries.map(\.source) + store.keys.filter { $0.key.id == key }.map(\.path)
        guard !paths.isEmpty else {
            let known = store.entries.map(\.plugin) + store.keys.map(\.key.id)
            throw CoderError(
                .notFound, "not trusted",
                hint: OptionCheck.nearest(operand, known).map { "did you mean \($0)?" }
                    ?? (known.isEmpty ? "nothing is trusted" : "trusted: \(known.joined(separator: ", "))"))
        }
        for path in paths {
            do throws(TrustStore.Failure) { try store.remove(path) } catch { throw error.asCoderError }
            answer.say("trust removed: \(operand) (deleted \(path))", [("removed", .string(path))])
        }
    }

    private static func revoke(
        _ operand: String, _ store: TrustStore, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        let id = (operand.hasSuffix(".pub") ? try PluginTrustVerb.key(operand).id : operand).lowercased()
        guard TrustedKey.isIdentifier(id) else {
            throw CoderError(
                .invalidArgument, "--revoke needs the 16 digits of a key, or KEY.pub",
                hint: "omit --revoke to remove trust in a file")
        }
        let known = store.revocations(of: id)
        let path: String
        do throws(TrustStore.Failure) { path = try store.revoke(id) } catch { throw error.asCoderError }
        answer.say(
            known.contains(path) ? "already revoked: key \(id) in \(path)" : "revoked: key \(id) in \(path)",
            [("key", .string(id)), ("entry", .string(path))])
    }
}
