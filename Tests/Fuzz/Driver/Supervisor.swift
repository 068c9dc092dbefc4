import CoderHost
import FuzzTargets

/// Starts workers until all cases are done, and reports which case ended one.
struct Supervisor {
    private let kind: String
    private let targets: [FuzzTarget]
    private let schedule: Schedule
    private let count: Int
    private let seed: Int
    private let keep: String?
    private let isIsolated: Bool
    private let ledger = SharedCounters()

    /// The maximum seconds of a case; more than any time limit that the targets set.
    private let patience: Int
    /// The number of crashes after which the run stops.
    private static let mostCrashes = 20

    init(_ kind: String, _ switches: Switches) {
        self.kind = kind
        let named = switches.operands
        let usual = ["mutate": FuzzTarget.coders, "modes": FuzzTarget.modes][kind] ?? FuzzTarget.all
        targets = named.isEmpty ? usual : named.compactMap(FuzzTarget.named)
        patience = switches.number("--patience", 60)
        schedule = Schedule(targets)
        count = switches.number("--count", 1000)
        seed = switches.number("--seed", 1)
        keep = switches["--keep"]
        isIsolated = switches["--isolated"] != nil
    }

    /// - Returns: whether there were no findings.
    func run() -> Bool {
        var crashes = 0
        var next = 0
        while next < count, crashes < Self.mostCrashes {
            ledger[Row.now] = next
            var words = ["work", "--kind", kind, "--from", "\(next)", "--count", "\(count)", "--seed", "\(seed)"]
            words += ["--ledger", "\(ledger.descriptor)"] + (keep.map { ["--keep", $0] } ?? []) + targets.map(\.name)
            var variables = ["SWIFT_BACKTRACE=enable=no", "CODERHOST_PRODUCTS=\(FuzzHost.products)"]
            if isIsolated { variables.append("CODERHOST_FUZZ_ISOLATED=yes") }
            let end = Child(words, variables: variables).wait(patience: patience) { ledger[Row.now] }
            if end == .status(0) { break }
            crashes += 1
            let number = ledger[Row.now]
            let (index, own) = schedule[number]
            ledger[Row.target(index) + Row.bad] += 1
            say("finding\t\(targets[index].name)\tcase \(number)\tthe process ended: \(end)")
            if let keep {
                // In a separate process: the crash may be in the code that makes the case.
                let place = "\(keep)/\(targets[index].name)-\(seed)-\(number)"
                let words = ["keep", targets[index].name, place, "--seed", "\(seed)", "--number", "\(own)"]
                _ = Child(words, variables: variables).wait(patience: patience) { 0 }
            }
            next = number + 1
        }
        report(crashes)
        return crashes == 0 && ledger[Row.findings] == 0
    }

    private func report(_ crashes: Int) {
        var (cases, bad, late) = (0, 0, 0)
        for (index, target) in targets.enumerated() {
            let row = Row.target(index)
            cases += ledger[row + Row.cases]
            bad += ledger[row + Row.bad]
            late += ledger[row + Row.late]
            let answers =
                kind != "run"
                ? "\(ledger[row + Row.decoded]) decoded\t\(ledger[row + Row.refused]) refused\t" : ""
            say("\(target.name)\t\(ledger[row + Row.cases]) cases\t\(answers)\(ledger[row + Row.bad]) findings")
        }
        let seconds = (childProcessorSeconds() * 10).rounded() / 10
        say(
            "total\t\(cases) cases\t\(bad) findings\t\(crashes) crashes\t\(late) late\tseed \(seed)\t\(seconds) s of processor"
        )
    }
}
