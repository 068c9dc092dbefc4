import CoderHost
import CommandLineKit
import ImageModel

/// Says what the signature of a plugin is worth.
enum PluginVerifyVerb: PluginVerb {
    static let name = "verify"
    static let summary = "tell whose signature a plugin has"
    static let operands = "FILE|ID…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin verify libcoder-qoi.so", "whether a trusted key signed this very file"),
        ("coderhost plugin verify libcoder-qoi.so --pub vendor.pub", "whether that key did"),
    ]
    static let options = [
        OptionSpecification(
            "--pub", value: "KEY.pub", help: "believe this key and no other (default: those that are trusted)")
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin verify needs a FILE or an ID") }
        let configuration = try arguments.configuration()
        let host = CoderHost(configuration: configuration)
        var answer = PluginAnswer(arguments)
        var store = TrustStore(folders: configuration.trustDirectories)
        if let path = arguments.value("--pub") {
            do throws(CoderError) { store = TrustStore(key: try PluginTrustVerb.key(path)) } catch {
                answer.fail(path, error)
                return answer.exitCode
            }
        }
        for operand in operands {
            do throws(CoderError) { try verify(try PluginFile.named(operand, host), store, &answer) } catch {
                answer.fail(operand, error)
            }
        }
        return answer.exitCode
    }

    private static func verify(
        _ file: PluginFile, _ store: TrustStore, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        let state: SignatureState
        do throws(SystemError) { state = try store.signature(ofFile: file.path, plugin: file.id, file.hash) } catch {
            throw CoderError(.inputOutput, "\(file.path).sig cannot be read: \(error)", hint: "check its permissions")
        }
        guard let key = state.key, state.isValid else {
            throw CoderError(
                .invalidArgument, state.flaw ?? "there is no \(file.path).sig", hint: hint(state))
        }
        let name = store.key(key)?.name ?? ""
        answer.say(
            "valid: \(file.path) (\(file.id)) is signed by \(key) (\(name))",
            [
                ("file", .string(file.path)), ("plugin", .string(file.id)), ("sha256", .string("\(file.hash)")),
                ("signature", .string(state.word)), ("key", .string(key)), ("name", .string(name)),
            ])
    }

    private static func hint(_ state: SignatureState) -> String {
        switch state {
        case .unknownKey: "get the key from whom you trust, and: coderhost plugin trust KEY.pub"
        case .expired, .revoked: "get a version that was signed with a newer key"
        case .invalid: "get the plugin and its .sig from where they come from again"
        case .none, .valid: "coderhost plugin sign FILE --key KEY makes one"
        }
    }
}
