import CoderHost
import CommandLineKit
import ImageModel

/// Creates a key pair.
enum PluginKeygenVerb: PluginVerb {
    static let name = "keygen"
    static let summary = "create a key pair for signing plugins"
    static let operands = ""
    static let examples: [(command: String, does: String)] = [
        (
            "coderhost plugin keygen -o release.key --name 'Example Inc.'",
            "create release.key and release.key.pub"
        )
    ]
    static let options = [
        OptionSpecification(
            "-o", "--output", value: "KEY", help: "file for the private key; KEY.pub gets the public key"),
        OptionSpecification(
            "--name", value: "TEXT", help: "name of the key's owner (default: none)"),
        OptionSpecification(
            "--expires", value: "DATE", help: "last valid day, such as 2030-12-31 (default: never)"),
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        if let word = operands.first { throw UsageError("unexpected argument \"\(word)\"", command: "plugin keygen") }
        guard let path = arguments.value("--output") else { throw UsageError("plugin keygen needs -o KEY") }
        let date = arguments.value("--expires")
        let expires = date.flatMap(TrustedKey.lastDay)
        if let date, expires == nil {
            throw UsageError("invalid --expires value \"\(date)\": expected a date such as 2030-12-31")
        }
        var answer = PluginAnswer(arguments)
        do throws(CoderError) { try make(path, expires, arguments.value("--name") ?? "", &answer) } catch {
            answer.fail(path, error)
        }
        return answer.exitCode
    }

    private static func make(
        _ path: String, _ expires: Int?, _ name: String, _ answer: inout PluginAnswer
    ) throws(CoderError) {
        for taken in [path, "\(path).pub"] where FileStatus.of(taken, followingLinks: false) != nil {
            throw CoderError(.cannotCreate, "\(taken) exists", hint: "choose another name: keys are never replaced")
        }
        guard let key = SigningKey(), let own = key.publicKey(expires: expires, name: name) else {
            throw CoderError(.inputOutput, "cannot read random numbers", hint: "check /dev/urandom")
        }
        do throws(SystemError) {
            try StateFile.write(key.file, to: path, mode: 0o600)
            try StateFile.write(own.file, to: "\(path).pub", mode: 0o644)
        } catch {
            throw CoderError(
                .cannotCreate, "cannot write the key: \(error)", hint: "check the folder and its permissions")
        }
        answer.say(
            "created: \(path) (private key, keep it secret) and \(path).pub (public key \(own.id))",
            [("key", .string(own.id)), ("private", .string(path)), ("public", .string("\(path).pub"))])
    }
}
