import CoderHost
import CommandLineKit
import ImageModel

/// Enables a disabled plugin.
enum PluginEnableVerb: PluginVerb {
    static let name = "enable"
    static let summary = "enable disabled plugins"
    static let operands = "ID…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin enable org.coderhost.gif-plugin", "enable a plugin")
    ]
    static let options: [OptionSpecification] = []

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try PluginSwitch.run(true, operands, arguments)
    }
}

/// Disables a plugin.
enum PluginDisableVerb: PluginVerb {
    static let name = "disable"
    static let summary = "disable plugins"
    static let operands = "ID…"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin disable org.coderhost.gif-plugin", "disable a plugin")
    ]
    static let options: [OptionSpecification] = []

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try PluginSwitch.run(false, operands, arguments)
    }
}

/// Writes the user's settings for a plugin.
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
                        enabled: isOn, plugin: id, in: configuration.search.administrationDirectories)
                } catch {
                    throw CoderError(
                        .cannotCreate, "cannot write the user's settings: \(error)",
                        hint:
                            "check permissions of \(configuration.search.administrationDirectories.first ?? "HOME")")
                }
                answer.say(
                    "\(id) is \(isOn ? "enabled" : "disabled") in \(path)",
                    [("plugin", .string(id)), ("enabled", .bool(isOn)), ("settings", .string(path))])
            } catch { answer.fail(operand, error) }
        }
        return answer.exitCode
    }
}
