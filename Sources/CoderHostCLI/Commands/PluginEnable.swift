import CoderHost
import CommandLineKit
import ImageModel

/// Switches a plugin on that was switched off.
enum PluginEnableVerb: PluginVerb {
    static let name = "enable"
    static let summary = "use a plugin again that was switched off"
    static let operands = "ID…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin enable org.coderhost.gif-plugin", "use it again")
    ]
    static let options: [OptionSpecification] = []

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try PluginSwitch.run(true, operands, arguments)
    }
}

/// Switches a plugin off.
enum PluginDisableVerb: PluginVerb {
    static let name = "disable"
    static let summary = "switch a plugin off"
    static let operands = "ID…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin disable org.coderhost.gif-plugin", "do as if it were not installed")
    ]
    static let options: [OptionSpecification] = []

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try PluginSwitch.run(false, operands, arguments)
    }
}

/// Writes what the user decided about a plugin.
private enum PluginSwitch {
    static func run(
        _ isOn: Bool, _ operands: [String], _ arguments: ParsedArguments
    ) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin \(isOn ? "enable" : "disable") needs an ID") }
        let configuration = try arguments.configuration()
        let host = CoderHost(configuration: configuration)
        var answer = PluginAnswer(arguments)
        for operand in operands {
            do throws(CoderError) {
                let id = try PluginFile.record(operand, host).id
                let path: String
                do throws(SystemError) {
                    path = try Administration.write(
                        enabled: isOn, plugin: id, in: configuration.administrationDirectories)
                } catch {
                    throw CoderError(
                        .cannotCreate, "the user's settings cannot be written: \(error)",
                        hint: "check \(configuration.administrationDirectories.first ?? "HOME") and its permissions")
                }
                answer.say(
                    "\(id) is \(isOn ? "enabled" : "disabled") in \(path)",
                    [("plugin", .string(id)), ("enabled", .bool(isOn)), ("settings", .string(path))])
            } catch { answer.fail(operand, error) }
        }
        return answer.exitCode
    }
}
