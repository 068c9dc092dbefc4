/// A sentence of the contract, and the file it stands in.
struct Rule: Hashable {
    /// For example `cpi/host.h`.
    var file: String
    /// Word for word.
    var text: String

    init(_ file: String, _ text: String) {
        self.file = file
        self.text = text
    }
}

/// What a plugin did that the contract forbids.
struct Fault: Hashable {
    /// What happened, and where.
    var what: String
    var rule: Rule
    /// What helps.
    var remedy: String
}

/// Why a check did not come to its end.
enum Stop: Error, Hashable {
    case fault(Fault)
    /// It cannot be made with this plugin, or not here.
    case skip(String)

    static func fault(_ what: String, _ rule: Rule, try remedy: String) -> Stop {
        .fault(Fault(what: what, rule: rule, remedy: remedy))
    }
}

/// How a check ended.
enum Verdict: String, CaseIterable {
    case passed, failed, skipped, crashed, hung

    var isBad: Bool { self == .failed || self == .crashed || self == .hung }
}

/// What became of one check.
struct CheckResult {
    var check: Check
    var verdict: Verdict
    /// With every verdict but `passed`.
    var what = ""
    var rule: Rule?
    var remedy = ""
    /// The function of the plugin that ran when its process ended.
    var call = ""
    var signal: Int?
    var seconds = 0.0
    var processorSeconds = 0.0
}
