import CoderHost

/// The report of a check's process to the kit: one JSON object.
struct Record {
    var verdict: Verdict
    var what = ""
    var rule: Rule?
    var remedy = ""
    /// The note that the kit compares between the processes of one check.
    var note = ""
    /// The remark to report with a difference between the processes.
    var remark = ""

    /// Returns the text of an outcome; nil means that the check completed.
    static func of(_ stop: Stop?, note: String, remark: String = "") -> String {
        var members: [(String, JSONValue)] = []
        switch stop {
        case nil: members = [("verdict", .string(Verdict.passed.rawValue))]
        case .skip(let why):
            members = [("verdict", .string(Verdict.skipped.rawValue)), ("what", .string(why))]
        case .fault(let fault):
            members = [
                ("verdict", .string(Verdict.failed.rawValue)), ("what", .string(fault.what)),
                ("file", .string(fault.rule.file)), ("rule", .string(fault.rule.text)),
                ("remedy", .string(fault.remedy)),
            ]
        }
        return JSONValue.object(members + [("note", .string(note)), ("remark", .string(remark))]).text
    }

    /// Returns nil if the text is not a record.
    init?(_ text: String) {
        guard let value = try? JSONParser.parse(Array(text.utf8)), let word = value["verdict"]?.string,
            let verdict = Verdict(rawValue: word)
        else { return nil }
        self.verdict = verdict
        what = value["what"]?.string ?? ""
        if let file = value["file"]?.string { rule = Rule(file, value["rule"]?.string ?? "") }
        remedy = value["remedy"]?.string ?? ""
        note = value["note"]?.string ?? ""
        remark = value["remark"]?.string ?? ""
    }
}
