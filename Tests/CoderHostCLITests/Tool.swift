import Foundation
import TestSupport
import Testing

/// Runs the built command as a process.
enum Tool {
    static let path = "\(Repository.products)/coderhost"

    /// An empty folder, without plugins and settings.
    static let nowhere = TemporaryDirectory()

    /// Environment variables that hide installed plugins and settings.
    static let environment: [String: String?] = [
        "CODERHOST_PLUGIN_PATH": nil, "HOME": nowhere.path, "XDG_DATA_HOME": nil, "XDG_CONFIG_HOME": nil,
        "XDG_STATE_HOME": nil, "CODERHOST_TRUST": nil,
    ]

    /// Runs the command with the plugins beside it.
    static func run(
        _ arguments: String..., input: [UInt8] = [], directory: String? = nil, environment more: [String: String?] = [:]
    ) throws -> CommandResult {
        try run(arguments, input: input, directory: directory, environment: more)
    }

    static func run(
        _ arguments: [String], input: [UInt8] = [], directory: String? = nil, environment more: [String: String?] = [:]
    ) throws -> CommandResult {
        let result = try TestSupport.run(
            [path] + arguments, input: input, directory: directory,
            environment: environment.merging(more) { _, wanted in wanted }, timeout: .seconds(120))
        #expect(!result.timedOut && result.status >= 0, "coderhost \(arguments) hung or crashed: \(result.status)")
        return result
    }

    /// Runs a script in which `"$coderhost"` is the command.
    static func shell(_ script: String, directory: String? = nil, environment more: [String: String?] = [:]) throws
        -> CommandResult
    {
        let result = try TestSupport.run(
            ["bash", "-euo", "pipefail", "-c", script], directory: directory,
            environment: environment.merging(["coderhost": path]) { _, new in new }.merging(more) { _, wanted in wanted
            },
            timeout: .seconds(120))
        #expect(!result.timedOut, "the script hung")
        return result
    }

    /// Copies the command and these plugins to a folder.
    ///
    /// The command still searches the system folders, so a test must not expect that there are no other plugins.
    static func copy(plugins: [String] = [], into folder: TemporaryDirectory) throws -> String {
        for name in ["coderhost"] + plugins.map({ "libcoder-\($0).so" }) {
            try copy("\(Repository.products)/\(name)", to: folder.file(name))
        }
        return folder.file("coderhost")
    }

    /// Copies a file in a separate process. A copy by this process could be inherited, open for writing, by a program
    /// that another test starts at the same time; executing it would then fail with "text file busy".
    static func copy(_ source: String, to target: String) throws {
        #expect(try TestSupport.run(["cp", source, target]).status == 0)
    }

    static func link(_ target: String, at path: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    static func permit(_ mode: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
}

/// A JSON document, parsed by Foundation.
struct Document {
    let value: Any?

    init(_ text: String) {
        value = try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    private init(value: Any?) { self.value = value is NSNull ? nil : value }

    subscript(key: String) -> Document { Document(value: (value as? [String: Any])?[key]) }
    subscript(index: Int) -> Document {
        let items = list
        return index < items.count ? items[index] : Document(value: nil)
    }

    var text: String? { value as? String }
    var number: Double? { (value as? NSNumber)?.doubleValue }
    var integer: Int? { (value as? NSNumber)?.intValue }
    var bool: Bool? { value as? Bool }
    var keys: Set<String> { Set((value as? [String: Any] ?? [:]).keys) }
    var list: [Document] { (value as? [Any] ?? []).map { Document(value: $0) } }
    var exists: Bool { value != nil }
}

extension CommandResult {
    /// The output as one document per line.
    var documents: [Document] { stdout.split(separator: "\n").map { Document(String($0)) } }
    var lines: [String] { stdout.split(separator: "\n", omittingEmptySubsequences: true).map(String.init) }
}
