import CoderHost

/// What the process of a check tells the kit: one JSON object.
struct Record {
    var verdict: Verdict
    var what = ""
    var rule: Rule?
    var remedy = ""
    /// Compared between the processes of one check.
    var note = ""
    /// Told beside a difference between the processes.
    var remark = ""

    /// The text of an outcome; nil stands for a check that came to its end.
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

    /// Nil for what is no record.
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
