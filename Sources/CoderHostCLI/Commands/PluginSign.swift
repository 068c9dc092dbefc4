import CoderHost
import CommandLineKit
import ImageModel

/// Signs a plugin with a private key.
enum PluginSignVerb: PluginVerb {
    static let name = "sign"
    static let summary = "sign plugins with your key"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin sign libcoder-qoi.so --key release.key", "write libcoder-qoi.so.sig beside it")
    ]
    static let options = [
        OptionSpecification("--key", value: "KEY", help: "the private key that plugin keygen made (no default)")
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin sign needs a FILE") }
        guard let path = arguments.value("--key") else {
            throw UsageError("plugin sign needs --key KEY", hint: "coderhost plugin keygen -o KEY makes one")
        }
        var answer = PluginAnswer(arguments)
        let key: SigningKey
        do throws(CoderError) { key = try Self.key(path) } catch {
            answer.fail(path, error)
            return answer.exitCode
        }
        for operand in operands {
            do throws(CoderError) { try sign(operand, key, &answer) } catch { answer.fail(operand, error) }
        }
        return answer.exitCode
    }

    private static func sign(_ operand: String, _ key: SigningKey, _ answer: inout PluginAnswer) throws(CoderError) {
        let file = try PluginFile(operand)
        guard let bytes = key.signature(ofPlugin: file.id, file.hash), let own = key.publicKey(expires: nil, name: "")
        else { throw CoderError(.pluginFault, "the key makes no signature", hint: "make a new one: plugin keygen") }
        let output = "\(file.path).sig"
        do throws(SystemError) { try OwnFile.write(bytes, to: output, mode: 0o644) } catch {
            throw CoderError(
                .cannotCreate, "\(output) cannot be written: \(error)", hint: "check the folder and its permissions")
        }
        answer.say(
            "signed: \(output) (\(file.id), key \(own.id))",
            [
                ("file", .string(file.path)), ("plugin", .string(file.id)), ("sha256", .string("\(file.hash)")),
                ("key", .string(own.id)), ("signature", .string(output)),
            ])
    }

    /// Reads a private key that nobody else can read.
    private static func key(_ path: String) throws(CoderError) -> SigningKey {
        guard let status = FileStatus.of(path) else {
            throw CoderError(.notFound, "there is no such key", hint: "coderhost plugin keygen -o \(path) makes one")
        }
        if let bytes = try? OwnFile.read(path), let wrong = TrustedKey(file: bytes) {
            let secret = path.hasSuffix(".pub") ? String(path.dropLast(4)) : ""
            let isThere = !secret.isEmpty && FileStatus.of(secret) != nil
            throw CoderError(
                .invalidArgument,
                "it is the public half of the key \(wrong.id), which is given away; the private one signs",
                hint: isThere
                    ? "--key \(secret)"
                    : "name the file that plugin keygen -o made; this one is called like it, with .pub behind")
        }
        guard status.mode & 0o077 == 0 else {
            throw CoderError(
                .invalidArgument, "others can read this private key",
                hint: "chmod 600 \(path), or better make a new one")
        }
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try OwnFile.read(path) ?? [] } catch {
            throw CoderError(.inputOutput, "it cannot be read: \(error)", hint: "check its permissions")
        }
        guard let key = SigningKey(file: bytes) else {
            throw CoderError(.invalidArgument, "it is no private key", hint: "coderhost plugin keygen makes one")
        }
        return key
    }
}
