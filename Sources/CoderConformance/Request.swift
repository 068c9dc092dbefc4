import CoderHost

/// The command line of the kit.
struct Request {
    enum Output { case text, json, junit }

    var plugin = ""
    var output = Output.text
    var only: [String] = []
    var isList = false
    var onlyFailed = false
    var samples: [String] = []
    var isInProcess = false
    var effort = Effort.quick
    /// The timeout of a check, in seconds.
    var timeout = 60
    /// The part of a check that this process runs; nil for the process that the user started.
    var part: CheckPart?

    /// One process of one check.
    struct CheckPart {
        var check: String
        /// The number of this process among those of the check.
        var process: Int
    }

    struct Failure: Error {
        var message: String
        /// A hint for the user; nil refers to the help.
        var hint: String?
    }

    init(_ words: [String]) throws(Failure) {
        var rest = words[...]
        func value(_ name: String) throws(Failure) -> String {
            guard let word = rest.popFirst() else { throw Failure(message: "\(name) needs a value") }
            return word
        }
        var operands: [String] = []
        var one: String?
        var process = 0
        while let word = rest.popFirst() {
            switch word {
            case "--json": output = .json
            case "--junit": output = .junit
            case "--list": isList = true
            case "--only-failed": onlyFailed = true
            case "--in-process": isInProcess = true
            case "--only": only += try value(word).split(separator: ",").map(String.init)
            case "--sample": samples.append(try value(word))
            case "--one": one = try value(word)
            case "--process": process = Int(try value(word)) ?? 0
            case "--effort":
                let name = try value(word)
                guard let known = Effort(rawValue: name) else {
                    let words = Effort.allCases.map(\.rawValue)
                    throw Failure(
                        message: "--effort is quick or full, not \"\(name)\"",
                        hint: OptionCheck.nearest(name, words).map { "did you mean --effort \($0)?" })
                }
                effort = known
            case "--timeout":
                let text = try value(word)
                guard let seconds = Int(text), (1...3600).contains(seconds) else {
                    throw Failure(
                        message: "--timeout is a number of seconds from 1 to 3600, not \"\(text)\"",
                        hint: "--timeout 60, which is also the default")
                }
                timeout = seconds
            case _ where word.hasPrefix("--"): throw Failure(message: "there is no option \(word)")
            default: operands.append(word)
            }
        }
        guard operands.count == 1 || isList && operands.isEmpty else {
            throw Failure(message: "more than one plugin given: check one plugin at a time")
        }
        plugin = operands.first ?? ""
        part = one.map { CheckPart(check: $0, process: process) }
    }
}
