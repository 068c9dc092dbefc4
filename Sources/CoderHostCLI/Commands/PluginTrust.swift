import CoderHost
import ImageModel

/// Vouches for a file, wherever it stands, or for a key.
enum PluginTrustVerb: PluginVerb {
    static let name = "trust"
    static let operands = "FILE|ID|KEY.pub…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin trust ~/build/libcoder-qoi.so", "use this very file, wherever it stands"),
        ("coderhost plugin trust vendor.pub", "use what the owner of this key signs"),
    ]
    static let options: [OptionSpecification] = []

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin trust needs a FILE, an ID or a KEY.pub") }
        let configuration = try arguments.configuration()
        let host = CoderHost(configuration: configuration)
        let store = TrustStore(folders: configuration.trustDirectories)
        var answer = PluginAnswer(arguments)
        for operand in operands {
            do throws(CoderError) {
                if operand.hasSuffix(".pub") {
                    try add(try key(operand), store, &answer)
                } else {
                    try vouch(try PluginFile.named(operand, host), store, &answer)
                }
            } catch { answer.fail(operand, error) }
        }
        return answer.exitCode
    }

    private static func vouch(
        _ file: PluginFile, _ store: TrustStore, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        let entry: String
        do throws(TrustStore.Failure) {
            entry = try store.vouch(for: file.hash, plugin: file.id, path: file.path)
        } catch {
            throw error.asCoderError
        }
        answer.say(
            "trusted: \(file.path) (\(file.id), sha256 \(file.hash)) in \(entry)",
            [
                ("file", .string(file.path)), ("plugin", .string(file.id)), ("sha256", .string("\(file.hash)")),
                ("entry", .string(entry)),
            ])
    }

    private static func add(_ key: TrustedKey, _ store: TrustStore, _ answer: inout PluginAnswer) throws(CoderError) {
        if store.isRevoked(key.id) {
            throw CoderError(
                .invalidArgument, "the key \(key.id) was revoked", hint: "ask its owner for the new one")
        }
        let entry: String
        do throws(TrustStore.Failure) { entry = try store.add(key) } catch { throw error.asCoderError }
        answer.say(
            "trusted: key \(key.id) (\(key.name)) in \(entry)",
            [("key", .string(key.id)), ("name", .string(key.name)), ("entry", .string(entry))])
    }

    /// Reads a public key.
    static func key(_ path: String) throws(CoderError) -> TrustedKey {
        let bytes: [UInt8]?
        do throws(SystemError) { bytes = try OwnFile.read(path) } catch {
            throw CoderError(.inputOutput, "it cannot be read: \(error)", hint: "check the name and its permissions")
        }
        guard let bytes else { throw CoderError(.notFound, "there is no such file", hint: "check the name") }
        guard let key = TrustedKey(file: bytes) else {
            throw CoderError(
                .invalidArgument, "it is no public key", hint: "coderhost plugin keygen makes a KEY and a KEY.pub")
        }
        return key
    }
}
