import CoderHost
import CommandLineKit
import ImageModel

/// Vouches for a file, wherever it stands, or for a key.
enum PluginTrustVerb: PluginVerb {
    static let name = "trust"
    static let summary = "use a plugin wherever it stands, or what a key signs"
    static let operands = "FILE|ID|KEY.pub…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin trust ~/build/libcoder-qoi.so", "use this very file, wherever it stands"),
        ("coderhost plugin trust vendor.pub", "use what the owner of this key signs"),
        ("coderhost plugin trust --unrevoke 8f3a21c07be94d55", "take the revocation of that key back"),
    ]
    static let options = [
        OptionSpecification(
            "--unrevoke", help: "take the KEY off the list of those that are never believed; trusts nothing by itself")
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin trust needs a FILE, an ID or a KEY.pub") }
        let configuration = try arguments.configuration()
        let host = CoderHost(configuration: configuration)
        let store = TrustStore(folders: configuration.trustDirectories)
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
        // Vouching lifts doubts about the place, and nothing else that speaks against a file.
        if let status = host.judge(file: file.path)?.status, !status.isUsable {
            throw CoderError(
                .pluginRefused,
                "it is vouched for in \(entry), but still not used (\(status.state.word)): \(status.reason)",
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

    /// Why no folder would show a file, although it may be used.
    private static func unseen(_ path: String, _ host: CoderHost) -> String? {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        if !name.hasPrefix("libcoder-") || !name.hasSuffix(".so") {
            return "\(name) is found only under a name such as libcoder-x.so"
        }
        let folder = parentFolder(path)
        if host.configuration.directories.contains(where: { resolvedPath($0.path) == folder }) { return nil }
        return "\(folder) is not searched; name it with --plugin-dir or in CODERHOST_PLUGIN_PATH, or copy the file "
            + "(coderhost doctor names the folders)"
    }

    private static func takeBack(
        _ operand: String, _ store: TrustStore, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        let id = (operand.hasSuffix(".pub") ? try key(operand).id : operand).lowercased()
        guard TrustedKey.isIdentifier(id) else {
            throw CoderError(
                .invalidArgument, "only keys are revoked, by their 16 digits or a KEY.pub",
                hint: "for a file leave out --unrevoke")
        }
        let known = store.revocations(of: id)
        let path: String?
        do throws(TrustStore.Failure) { path = try store.takeBackRevocation(of: id) } catch { throw error.asCoderError }
        let others = known.filter { $0 != path }
        if let other = others.first {
            throw CoderError(
                .cannotCreate, "the key \(id) is still revoked by \(other)",
                hint: "ask whoever keeps that file, or take the line out of it")
        }
        guard let path else {
            throw CoderError(
                .notFound, "the key \(id) is not revoked",
                hint: "coderhost doctor names the keys and what is said of them")
        }
        let isTrusted = store.key(id) != nil
        answer.say(
            "not revoked any more: key \(id) (\(path)); "
                + (isTrusted ? "what it signed is used again" : "to believe it: coderhost plugin trust KEY.pub"),
            [("key", .string(id)), ("entry", .string(path)), ("trusted", .bool(isTrusted))])
    }

    private static func add(_ key: TrustedKey, _ store: TrustStore, _ answer: inout PluginAnswer) throws(CoderError) {
        if store.isRevoked(key.id) {
            throw CoderError(
                .invalidArgument, "the key \(key.id) was revoked",
                hint:
                    "ask its owner for the new one; if that was a mistake: coderhost plugin trust --unrevoke \(key.id)")
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
