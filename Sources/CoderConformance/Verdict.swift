/// A sentence of the contract, with the file that contains it.
struct Rule: Hashable {
    /// For example `cpi/host.h`.
    var file: String
    /// The sentence, verbatim.
    var text: String

    init(_ file: String, _ text: String) {
        self.file = file
        self.text = text
    }
}

/// A violation of the contract by a plugin.
struct Fault: Hashable {
    /// The event and its place.
    var what: String
    var rule: Rule
    /// One thing to try.
    var remedy: String
}

/// The reason why a check did not complete.
enum Stop: Error, Hashable {
    case fault(Fault)
    /// The check is not applicable to this plugin or this machine.
    case skip(String)

    static func fault(_ what: String, _ rule: Rule, try remedy: String) -> Stop {
        .fault(Fault(what: what, rule: rule, remedy: remedy))
    }
}

/// The result of a check.
enum Verdict: String, CaseIterable {
    case passed, failed, skipped, crashed, hung

    var isBad: Bool { self == .failed || self == .crashed || self == .hung }
}

/// The full result of one check.
struct CheckResult {
    var check: Check
    var verdict: Verdict
    /// The explanation, for every verdict except `passed`.
    var what = ""
    var rule: Rule?
    var remedy = ""
    /// The plugin function that ran when the process ended.
    var call = ""
    var signal: Int?
    var seconds = 0.0
    var processorSeconds = 0.0
}
