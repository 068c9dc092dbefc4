import CoderHost
import ImageModel

/// The report for build servers: one suite per group.
///
/// - Source: the schema that Jenkins' xUnit plugin publishes.
enum JUnitReport {
    static func document(_ results: [CheckResult], _ manifest: PluginManifest, _ request: Request) -> String {
        let shown = results.filter { !request.onlyFailed || $0.verdict.isBad }
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text += "<testsuites name=\"\(XMLText.escaped(manifest.id))\" \(counts(shown))>\n"
        for group in Catalogue.groups {
            let members = shown.filter { $0.check.group == group.name }
            if members.isEmpty { continue }
            text += "  <testsuite name=\"\(group.name)\" \(counts(members))>\n"
            for result in members { text += testCase(result, manifest) }
            text += "  </testsuite>\n"
        }
        return text + "</testsuites>\n"
    }

    private static func counts(_ results: [CheckResult]) -> String {
        func count(_ verdicts: Verdict...) -> Int { results.filter { verdicts.contains($0.verdict) }.count }
        let seconds = JSONReport.rounded(results.reduce(0) { $0 + $1.seconds })
        return "tests=\"\(results.count)\" failures=\"\(count(.failed))\" errors=\"\(count(.crashed, .hung))\" "
            + "skipped=\"\(count(.skipped))\" time=\"\(seconds)\""
    }

    private static func testCase(_ result: CheckResult, _ manifest: PluginManifest) -> String {
        let name = result.check.id.split(separator: ".").dropFirst().joined(separator: ".")
        var text = "    <testcase classname=\"\(XMLText.escaped(manifest.id)).\(result.check.group)\" name=\"\(name)\" "
        text += "time=\"\(JSONReport.rounded(result.seconds))\""
        let message = XMLText.escaped(result.what)
        var body = result.rule.map { "\($0.file): \($0.text)\n" } ?? ""
        if !result.remedy.isEmpty { body += "try: \(result.remedy)" }
        switch result.verdict {
        case .passed: return text + "/>\n"
        case .skipped: return text + "><skipped message=\"\(message)\"/></testcase>\n"
        case .failed:
            text += "><failure type=\"failed\" message=\"\(message)\">\(XMLText.escaped(body))</failure></testcase>\n"
        case .crashed, .hung:
            let type = result.verdict.rawValue
            text += "><error type=\"\(type)\" message=\"\(message)\">\(XMLText.escaped(body))</error></testcase>\n"
        }
        return text
    }
}
