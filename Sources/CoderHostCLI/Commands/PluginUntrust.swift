import CoderHost
import CommandLineKit
import ImageModel

/// Takes back what `plugin trust` said.
enum PluginUntrustVerb: PluginVerb {
    static let name = "untrust"
    static let summary = "take trust in plugins or keys back"
    static let operands = "FILE|ID|SHA256|KEY…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin untrust org.example.qoi-plugin", "take that back, for all of its versions"),
        ("coderhost plugin untrust --revoke 8f3a21c07be94d55", "never believe that key again"),
    ]
    static let options = [
        OptionSpecification(
            "--revoke",
            help:
                "put the KEY on the list of those that are never believed, in any folder (back: plugin trust --unrevoke)"
        )
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin untrust needs a FILE, an ID, a SHA256 or a KEY") }
        let store = TrustStore(folders: try arguments.configuration().trustDirectories)
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
                .notFound, "nobody vouches for it here",
                hint: OptionCheck.nearest(operand, known).map { "did you mean \($0)?" }
                    ?? (known.isEmpty ? "nothing is vouched for" : "vouched for are: \(known.joined(separator: ", "))"))
        }
        for path in paths {
            do throws(TrustStore.Failure) { try store.remove(path) } catch { throw error.asCoderError }
            answer.say("not trusted any more: \(operand) (\(path) is gone)", [("removed", .string(path))])
        }
    }

    private static func revoke(
        _ operand: String, _ store: TrustStore, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        let id = (operand.hasSuffix(".pub") ? try PluginTrustVerb.key(operand).id : operand).lowercased()
        guard TrustedKey.isIdentifier(id) else {
            throw CoderError(
                .invalidArgument, "only keys are revoked, by their 16 digits or a KEY.pub",
                hint: "for a file leave out --revoke")
        }
        let known = store.revocations(of: id)
        let path: String
        do throws(TrustStore.Failure) { path = try store.revoke(id) } catch { throw error.asCoderError }
        answer.say(
            known.contains(path) ? "already revoked: key \(id) in \(path)" : "revoked: key \(id) in \(path)",
            [("key", .string(id)), ("entry", .string(path))])
    }
}
