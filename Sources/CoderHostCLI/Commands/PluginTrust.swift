import CoderHost
import CommandLineKit
import ImageModel

/// Trusts a plugin file in any folder, or a signing key.
enum PluginTrustVerb: PluginVerb {
    static let name = "trust"
    static let summary = "trust plugin files or signing keys"
    static let operands = "FILE|ID|KEY.pub…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin trust ~/build/libcoder-qoi.so", "trust this file in any folder"),
        ("coderhost plugin trust vendor.pub", "trust all plugins signed with this key"),
        ("coderhost plugin trust --unrevoke 8f3a21c07be94d55", "undo the revocation of a key"),
    ]
    static let options = [
        OptionSpecification(
            "--unrevoke", help: "undo the revocation of KEY; does not trust it")
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin trust needs a FILE, an ID or a KEY.pub") }
        let configuration = try arguments.configuration()
        let host = CoderHost(configuration: configuration)
        let store = TrustStore(folders: configuration.search.trustDirectories)
        var answer = PluginAnswer(arguments)
        for operand in operands {
            do throws(CoderError) {
                if arguments.has("--unrevoke") {
                    try takeBack(operand, store, &answer)
                } else if operand.hasSuffix(".pub") {
                    try add(try key(operand), store, &answer)
                } else {
                    try vouch(try PluginFile.named(operand, host), host, store, &answer)
                }
            } catch { answer.fail(operand, error) }
        }
        return answer.exitCode
    }

    private static func vouch(
        _ file: PluginFile, _ host: CoderHost, _ store: TrustStore, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        let entry: String
        do throws(TrustStore.Failure) {
            entry = try store.vouch(for: file.hash, plugin: file.id, path: file.path)
        } catch {
            throw error.asCoderError
        }
        // Trust only overrides the check of the folder; other problems still apply.
        if let status = host.judge(file: file.path)?.status, !status.isUsable {
            throw CoderError(
                .pluginRefused,
                "trusted in \(entry), but still not used (\(status.state.word)): \(status.reason)",
                hint: status.remedy.isEmpty ? nil : status.remedy)
        }
        answer.say(
            "trusted: \(file.path) (\(file.id), sha256 \(file.hash)) in \(entry)",
            [
                ("file", .string(file.path)), ("plugin", .string(file.id)), ("sha256", .string("\(file.hash)")),
                ("entry", .string(entry)),
            ])
        if let warning = unseen(file.path, host) { answer.warn(warning) }
    }

    /// Returns a warning if the host does not find a trusted file.
    private static func unseen(_ path: String, _ host: CoderHost) -> String? {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        if !name.hasPrefix("libcoder-") || !name.hasSuffix(".so") {
            return "the host does not find \(name): rename it to libcoder-NAME.so"
        }
        let folder = parentFolder(path)
        if host.configuration.search.directories.contains(where: { resolvedPath($0.path) == folder }) { return nil }
        return "\(folder) is not a plugin folder; add it with --plugin-dir or CODERHOST_PLUGIN_PATH, or copy the file "
            + "to a plugin folder (see coderhost doctor)"
    }

    private static func takeBack(
        _ operand: String, _ store: TrustStore, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        let id = (operand.hasSuffix(".pub") ? try key(operand).id : operand).lowercased()
        guard TrustedKey.isIdentifier(id) else {
            throw CoderError(
                .invalidArgument, "--unrevoke needs the 16 digits of a key, or KEY.pub",
                hint: "omit --unrevoke to trust a file")
        }
        let known = store.revocations(of: id)
        let path: String?
        do throws(TrustStore.Failure) { path = try store.takeBackRevocation(of: id) } catch { throw error.asCoderError }
        let others = known.filter { $0 != path }
        if let other = others.first {
            throw CoderError(
                .cannotCreate, "the key \(id) is still revoked by \(other)",
                hint: "remove the line from that file, or ask its owner")
        }
        guard let path else {
            throw CoderError(
                .notFound, "the key \(id) is not revoked",
                hint: "coderhost doctor lists all keys")
        }
        let isTrusted = store.key(id) != nil
        answer.say(
            "revocation removed: key \(id) (\(path)); "
                + (isTrusted ? "its plugins are trusted again" : "to trust it: coderhost plugin trust KEY.pub"),
            [("key", .string(id)), ("entry", .string(path)), ("trusted", .bool(isTrusted))])
    }

    private static func add(_ key: TrustedKey, _ store: TrustStore, _ answer: inout PluginAnswer) throws(CoderError) {
        if store.isRevoked(key.id) {
            throw CoderError(
                .invalidArgument, "the key \(key.id) is revoked",
                hint:
                    "ask its owner for a new key, or undo it: coderhost plugin trust --unrevoke \(key.id)")
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
        do throws(SystemError) { bytes = try StateFile.read(path) } catch {
            throw CoderError(.inputOutput, "cannot read the key: \(error)", hint: "check its name and permissions")
        }
        guard let bytes else { throw CoderError(.notFound, "the file does not exist", hint: "check the name") }
        guard let key = TrustedKey(file: bytes) else {
            throw CoderError(
                .invalidArgument, "not a public key", hint: "create a key pair: coderhost plugin keygen -o KEY")
        }
        return key
    }
}
