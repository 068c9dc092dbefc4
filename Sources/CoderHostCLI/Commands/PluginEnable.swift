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
    static let options = [PluginSwitch.system]

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
        ("coderhost plugin disable org.coderhost.gif-plugin", "disable a plugin"),
        ("coderhost plugin disable --system org.example.x-plugin", "disable a plugin for all users"),
    ]
    static let options = [PluginSwitch.system]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        try PluginSwitch.run(false, operands, arguments)
    }
}

/// Writes the settings for a plugin: of the user, or of all users.
private enum PluginSwitch {
    static let system = OptionSpecification(
        "--system", help: "change the settings of all users, in /etc/coderhost/plugins.d")

    static func run(
        _ isOn: Bool, _ operands: [String], _ arguments: ParsedArguments
    ) throws(UsageError) -> ExitCode {
        guard !operands.isEmpty else { throw UsageError("plugin \(isOn ? "enable" : "disable") needs an ID") }
        let configuration = try arguments.configuration()
        let isForAll = arguments.has("--system")
        guard let folders = configuration.search.administrationFolders(forAllUsers: isForAll) else {
            throw UsageError(
                "no folder for the user's settings: neither HOME nor XDG_CONFIG_HOME is an absolute path",
                hint: "set HOME, or use --system to change the settings of all users")
        }
        let host = CoderHost(configuration: configuration)
        var answer = PluginAnswer(arguments)
        for operand in operands {
            do throws(CoderError) {
                let id = try PluginFile.record(operand, host).id
                let path: String
                do throws(SystemError) {
                    path = try Administration.write(enabled: isOn, plugin: id, in: folders)
                } catch {
                    throw CoderError(
                        .cannotCreate, "cannot write the settings of \(isForAll ? "all users" : "the user"): \(error)",
                        hint: "check permissions of \(folders.first ?? "HOME")")
                }
                answer.say(
                    "\(id) is \(isOn ? "enabled" : "disabled") in \(path)",
                    [("plugin", .string(id)), ("enabled", .bool(isOn)), ("settings", .string(path))])
                let own = Administration.of(plugin: id, in: configuration.search.administrationDirectories)
                if isForAll, let file = own.file, file != path {
                    answer.warn("\(file) takes precedence over \(path) for this user")
                }
            } catch { answer.fail(operand, error) }
        }
        return answer.exitCode
    }
}
