import CoderHost
import CommandLineKit
import ImageModel

/// Verifies the signature of a plugin.
enum PluginVerifyVerb: PluginVerb {
    static let name = "verify"
    static let summary = "verify the signatures of plugins"
    static let operands = "FILE|ID…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin verify libcoder-qoi.so", "verify with the trusted keys"),
        ("coderhost plugin verify libcoder-qoi.so --pub vendor.pub", "verify with this key"),
    ]
    static let options = [
        OptionSpecification(
            "--pub", value: "KEY.pub", help: "verify with this key only (default: all trusted keys)")
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin verify needs a FILE or an ID") }
        let configuration = try arguments.configuration()
        let host = CoderHost(configuration: configuration)
        var answer = PluginAnswer(arguments)
        var store = TrustStore(folders: configuration.search.trustDirectories)
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
            throw CoderError(.inputOutput, "cannot read \(file.path).sig: \(error)", hint: "check its permissions")
        }
        guard let key = state.key, state.isValid else {
            throw CoderError(
                .invalidArgument, state.flaw ?? "\(file.path).sig does not exist", hint: hint(state))
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
        case .unknownKey: "get the key from its owner, then: coderhost plugin trust KEY.pub"
        case .expired, .revoked: "get a version signed with a newer key"
        case .invalid: "download the plugin and its .sig again"
        case .none, .valid: "sign it: coderhost plugin sign FILE --key KEY"
        }
    }
}
