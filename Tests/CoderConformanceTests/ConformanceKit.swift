import Foundation
import TestSupport
import Testing

/// The built program, run as a separate process.
enum ConformanceKit {
    static let path = "\(Repository.products)/coderhost-conformance"

    static func run(_ arguments: [String]) throws -> CommandResult {
        let result = try TestSupport.run([path] + arguments, timeout: .seconds(400))
        #expect(!result.timedOut && result.status >= 0, "it hung or crashed: \(result.status)")
        return result
    }

    /// Runs the kit and returns the result of each check by name.
    static func verdicts(_ arguments: [String]) throws -> [String: Verdict] {
        let result = try run(arguments + ["--json"])
        let document = try JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any]
        let checks = try #require(document?["checks"] as? [[String: Any]], "\(result.stderr)")
        var verdicts: [String: Verdict] = [:]
        for check in checks {
            let id = try #require(check["id"] as? String)
            verdicts[id] = Verdict(
                word: check["verdict"] as? String ?? "", what: check["what"] as? String ?? "",
                rule: (check["rule"] as? [String: Any])?["text"] as? String ?? "",
                remedy: check["remedy"] as? String ?? "", call: check["call"] as? String,
                signal: check["signal"] as? String)
        }
        return verdicts
    }

    struct Verdict {
        var word: String
        var what: String
        var rule: String
        var remedy: String
        var call: String?
        var signal: String?

        var isBad: Bool { word != "passed" && word != "skipped" }
        /// Whether a sanitizer in the kit (`make asan`) hides the result.
        var isUnseen: Bool { word == "skipped" && what.contains("sanitizer of this kit") }
    }

    /// Builds a faulty plugin, once per process.
    static func faulty(_ name: String, _ folder: TemporaryDirectory) throws -> String {
        // Tests use warnings as errors, and a plugin with a thread needs the thread library.
        try PluginBuilder.build("faulty/\(name).c", flags: ["-pthread"], into: folder.path)
    }
}
