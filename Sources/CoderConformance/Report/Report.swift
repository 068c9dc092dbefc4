import CoderHost
import CommandLineKit

/// The report of the checks, during and after their execution.
struct Report {
    private let request: Request
    private let manifest: PluginManifest
    private var results: [CheckResult] = []
    private let showsProgress: Bool

    init(_ request: Request, _ manifest: PluginManifest) {
        self.request = request
        self.manifest = manifest
        showsProgress = request.output == .text && Console.errorIsTerminal
    }

    func begin(_ check: Check) {
        if showsProgress { Console.write("\r\u{1B}[K\(check.id) …", to: 2) }
    }

    mutating func end(_ result: CheckResult) { results.append(result) }

    /// Prints the rest of the report and returns the exit status.
    func finish() -> Int32 {
        if showsProgress { Console.write("\r\u{1B}[K", to: 2) }
        switch request.output {
        case .text: TextReport.write(results, manifest, request)
        case .json: Console.out(JSONReport.document(results, manifest, request).text)
        case .junit: Console.write(JUnitReport.document(results, manifest, request), to: 1)
        }
        return results.contains { $0.verdict.isBad } ? 1 : 0
    }

    static func list(_ checks: [Check], as output: Request.Output) {
        if output == .json {
            let list = checks.map { check in
                JSONValue.object([
                    ("id", .string(check.id)), ("group", .string(check.group)), ("summary", .string(check.summary)),
                    ("needs", .array(check.needs.map { .string($0) })),
                ])
            }
            Console.out(JSONValue.object([("schema", .integer(1)), ("checks", .array(list))]).text)
            return
        }
        let width = checks.map(\.id.count).max() ?? 0
        for group in Catalogue.groups {
            let members = checks.filter { $0.group == group.name }
            if members.isEmpty { continue }
            Console.out("\(group.name): \(group.summary)")
            for check in members {
                Console.out("  \(check.id)\(String(repeating: " ", count: width - check.id.count + 2))\(check.summary)")
            }
        }
    }
}
