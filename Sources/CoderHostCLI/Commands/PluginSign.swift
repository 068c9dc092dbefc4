import CoderHost
import CommandLineKit
import ImageModel

/// Signs a plugin with a private key.
enum PluginSignVerb: PluginVerb {
    static let name = "sign"
    static let summary = "sign plugins with a private key"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin sign libcoder-qoi.so --key release.key", "create libcoder-qoi.so.sig")
    ]
    static let options = [
        OptionSpecification("--key", value: "KEY", help: "private key of plugin keygen (required, no default)")
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin sign needs a FILE") }
        guard let path = arguments.value("--key") else {
            throw UsageError("plugin sign needs --key KEY", hint: "create one: coderhost plugin keygen -o KEY")
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
        else {
            throw CoderError(.pluginFault, "the key cannot sign", hint: "create one: coderhost plugin keygen -o KEY")
        }
        let output = "\(file.path).sig"
        do throws(SystemError) { try StateFile.write(bytes, to: output, mode: 0o644) } catch {
            throw CoderError(
                .cannotCreate, "cannot write \(output): \(error)", hint: "check the folder and its permissions")
        }
        answer.say(
            "signed: \(output) (\(file.id), key \(own.id))",
            [
                ("file", .string(file.path)), ("plugin", .string(file.id)), ("sha256", .string("\(file.hash)")),
                ("key", .string(own.id)), ("signature", .string(output)),
            ])
    }

    /// Reads a private key; refuses a file that other users can read.
    private static func key(_ path: String) throws(CoderError) -> SigningKey {
        guard let status = FileStatus.of(path) else {
            throw CoderError(
                .notFound, "the key does not exist", hint: "create one: coderhost plugin keygen -o \(path)")
        }
        if let bytes = try? StateFile.read(path), let wrong = TrustedKey(file: bytes) {
            let secret = path.hasSuffix(".pub") ? String(path.dropLast(4)) : ""
            let isThere = !secret.isEmpty && FileStatus.of(secret) != nil
            throw CoderError(
                .invalidArgument,
                "this is the public key \(wrong.id); signing needs the private key",
                hint: isThere
                    ? "--key \(secret)"
                    : "pass the file of plugin keygen -o, without .pub")
        }
        guard status.mode & 0o077 == 0 else {
            throw CoderError(
                .invalidArgument, "other users can read this private key",
                hint: "chmod 600 \(path), or better create a new key")
        }
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try StateFile.read(path) ?? [] } catch {
            throw CoderError(.inputOutput, "cannot read the key: \(error)", hint: "check its permissions")
        }
        guard let key = SigningKey(file: bytes) else {
            throw CoderError(.invalidArgument, "not a private key", hint: "create one: coderhost plugin keygen -o KEY")
        }
        return key
    }
}
