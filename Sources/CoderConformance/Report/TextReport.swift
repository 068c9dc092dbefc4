import CoderHost
import CommandLineKit

/// The report for people: a line per group, each failure with its reason, and a summary.
enum TextReport {
    static func write(_ results: [CheckResult], _ manifest: PluginManifest, _ request: Request) {
        let name = request.plugin.split(separator: "/").last.map(String.init) ?? request.plugin
        Console.out("\(name): \(manifest.id) \(manifest.version)")
        for note in manifest.isolationNotes { Console.out("note: \(note)") }
        let width = Catalogue.groups.map(\.name.count).max() ?? 0
        for group in Catalogue.groups {
            let members = results.filter { $0.check.group == group.name }
            let bad = members.filter(\.verdict.isBad)
            if members.isEmpty || request.onlyFailed && bad.isEmpty { continue }
            let gap = String(repeating: " ", count: width - group.name.count + 2)
            let isSkipped = members.allSatisfy { $0.verdict == .skipped }
            Console.out("\(!bad.isEmpty ? "FAIL" : isSkipped ? "--  " : "ok  ") \(group.name)\(gap)\(sum(members))")
            for result in bad { tell(result) }
            if !request.onlyFailed {
                let skipped = members.filter { $0.verdict == .skipped }
                if skipped.count > 2, Set(skipped.map(\.what)).count == 1 {
                    Console.out("       \(skipped.count) checks skipped: \(skipped[0].what)")
                } else {
                    for result in skipped { Console.out("       \(result.check.id) skipped: \(result.what)") }
                }
            }
        }
        Console.out(
            "\(results.contains { $0.verdict.isBad } ? "It does not keep the contract" : "It keeps the contract"): "
                + sum(results))
    }

    private static func tell(_ result: CheckResult) {
        Console.out("     ✗ \(result.check.id) \(result.verdict.rawValue): \(result.what)")
        if let rule = result.rule { Console.out("       \(rule.file): “\(rule.text)”") }
        if !result.remedy.isEmpty { Console.out("       try: \(result.remedy)") }
    }

    private static func sum(_ results: [CheckResult]) -> String {
        Verdict.allCases.compactMap { verdict in
            let count = results.filter { $0.verdict == verdict }.count
            return count == 0 && verdict != .passed ? nil : "\(count) \(verdict.rawValue)"
        }.joined(separator: ", ")
    }
}
