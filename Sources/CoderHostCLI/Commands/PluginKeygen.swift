import CoderHost
import CommandLineKit
import ImageModel

/// Makes a pair of keys.
enum PluginKeygenVerb: PluginVerb {
    static let name = "keygen"
    static let summary = "make a pair of keys to sign plugins with"
    static let operands = ""
    static let examples: [(command: String, does: String)] = [
        (
            "coderhost plugin keygen -o release.key --name 'Example Inc.'",
            "a private key, and release.key.pub to give away"
        )
    ]
    static let options = [
        OptionSpecification(
            "-o", "--output", value: "KEY", help: "where the private key goes; KEY.pub stands beside it"),
        OptionSpecification(
            "--name", value: "TEXT", help: "whose key it is, for those who trust it (default: nothing)"),
        OptionSpecification(
            "--expires", value: "DATE", help: "the last day that it counts, such as 2030-12-31 (default: never)"),
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        if let word = operands.first { throw UsageError("\"\(word)\" is one word too many", command: "plugin keygen") }
        guard let path = arguments.value("--output") else { throw UsageError("plugin keygen needs -o KEY") }
        let date = arguments.value("--expires")
        let expires = date.flatMap(TrustedKey.lastDay)
        if let date, expires == nil {
            throw UsageError("--expires takes a day such as 2030-12-31, not \"\(date)\"")
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
            throw CoderError(.cannotCreate, "\(taken) exists", hint: "keys are never replaced; choose another name")
        }
        guard let key = SigningKey(), let own = key.publicKey(expires: expires, name: name) else {
            throw CoderError(.inputOutput, "the system has no random numbers", hint: "check /dev/urandom")
        }
        do throws(SystemError) {
            try OwnFile.write(key.file, to: path, mode: 0o600)
            try OwnFile.write(own.file, to: "\(path).pub", mode: 0o644)
        } catch {
            throw CoderError(
                .cannotCreate, "the key cannot be written: \(error)", hint: "check the folder and its permissions")
        }
        answer.say(
            "made: \(path), to be kept secret, and \(path).pub (key \(own.id)), to be given away",
            [("key", .string(own.id)), ("private", .string(path)), ("public", .string("\(path).pub"))])
    }
}
