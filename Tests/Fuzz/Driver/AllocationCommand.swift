import CoderHost
import FuzzTargets
import ImageModel

/// Makes every allocation of every bundled coder fail in turn, then limits the sum of bytes.
///
///     coderhost-fuzz allocations --preload LIBRARY [SUBJECT…] [--dense N]
///
/// The first `N` allocations fail one by one, later ones in growing steps; without `--dense` all fail. Each subject
/// runs in separate processes, so that an abort is detected. A case ends with the same pixels as without a failure, or
/// with a typed error. The table names the library of a coder with other known behavior.
struct AllocationCommand {
    private let preload: String
    private let subjects: [AllocationSubject]
    private let dense: Int
    private let ledger = SharedCounters()

    /// Numbers in the ledger.
    enum Row {
        static let now = 0
        static let total = 1
        static let cases = 2
        static let same = 3
        static let outOfMemory = 4
        static let otherError = 5
        static let findings = 6
    }

    init(_ switches: Switches) {
        preload = switches["--preload"] ?? ""
        let named = switches.operands
        subjects = AllocationSubject.all.filter { named.isEmpty || named.contains($0.name) }
        dense = switches.number("--dense", .max)
    }

    /// - Returns: whether no case ended a process or gave a wrong result.
    func run() -> Bool {
        var (cases, aborts, known, findings) = (0, 0, 0, 0)
        for subject in subjects {
            for row in [Row.total, Row.cases, Row.same, Row.outOfMemory, Row.otherError, Row.findings] {
                ledger[row] = 0
            }
            let ends = run(subject)
            if subject.faulty == nil {
                for (number, end) in ends.prefix(3) { say("finding\t\(subject.name)\tallocation \(number): \(end)") }
                aborts += ends.count
                findings += ledger[Row.findings]
            } else {
                known += ends.count
            }
            cases += ledger[Row.cases]
            say(
                "\(subject.name)\t\(ledger[Row.total]) allocations\t\(ledger[Row.cases]) cases\t\(ledger[Row.same]) same"
                    + "\t\(ledger[Row.outOfMemory]) out of memory\t\(ledger[Row.otherError]) other errors"
                    + "\t\(ends.count) aborts\t\(ledger[Row.findings]) findings"
                    + (subject.faulty.map { "\tknown: \($0)" } ?? ""))
        }
        say("total\t\(cases) cases\t\(aborts) aborts\t\(findings) findings\t\(known) known aborts")
        return aborts + findings == 0
    }

    /// The cases that ended a process.
    private func run(_ subject: AllocationSubject) -> [(number: Int, end: Child.End)] {
        var ends: [(Int, Child.End)] = []
        var next = 1
        while true {
            ledger[Row.now] = next
            let words = [
                "allocations-work", subject.name, "--from", "\(next)", "--ledger", "\(ledger.descriptor)", "--dense",
                "\(dense)",
            ]
            let variables = [
                "SWIFT_BACKTRACE=enable=no", "CODERHOST_PRODUCTS=\(FuzzHost.products)", "LD_PRELOAD=\(preload)",
            ]
            let end = Child(words, variables: variables).wait(patience: 20) { ledger[Row.now] }
            if end == .status(0) { return ends }
            ends.append((ledger[Row.now], end))
            ledger[Row.cases] += 1
            if end == .status(2) { return ends }
            next = ledger[Row.now] + 1
        }
    }

    // MARK: The process that may abort

    static func work(_ switches: Switches) -> Int32 {
        guard let fault = AllocationFault(),
            let subject = AllocationSubject.all.first(where: { $0.name == switches.operands.first }),
            let body = subject.prepare()
        else {
            say("finding\t\(switches.operands)\tno such subject, no input, or no library in LD_PRELOAD")
            return 2
        }
        let ledger = SharedCounters(descriptor: Int32(switches.number("--ledger", 0)))
        let dense = switches.number("--dense", .max)
        // The first run loads the plugin and fills its tables.
        _ = body()
        let (expected, count) = fault.run(nth: 0, most: 0, body)
        if case .error(let error) = expected {
            say("finding\t\(subject.name)\t\(error) without any failure")
            return 2
        }
        guard count.allocations > 0 || subject.mayNotAllocate else {
            say("finding\t\(subject.name)\tno failure is possible: it has \(count.allocations) allocations")
            return 2
        }
        ledger[Row.total] = count.allocations
        let caps = 16
        var number = switches.number("--from", 1)
        while number <= count.allocations + caps {
            ledger[Row.now] = number
            let isCap = number > count.allocations
            let most = isCap ? max(1, count.bytes / (caps + 1) * (number - count.allocations)) : 0
            let (result, seen) = fault.run(nth: isCap ? 0 : number, most: most, body)
            note(result, expected, seen.failures, subject, number, ledger)
            number += isCap || number < dense ? 1 : min(max(1, number / 8), count.allocations + 1 - number)
        }
        return 0
    }

    private static func note(
        _ result: AllocationSubject.Result, _ expected: AllocationSubject.Result, _ failures: Int,
        _ subject: AllocationSubject, _ number: Int, _ ledger: SharedCounters
    ) {
        ledger[Row.cases] += 1
        switch result {
        case .pixels where result == expected, .file where result.shows(expected): ledger[Row.same] += 1
        case .error(let error) where failures > 0 && error.code == .outOfMemory: ledger[Row.outOfMemory] += 1
        case .error(let error) where failures > 0 && error.code != .misuse && error.code != .pluginFault:
            ledger[Row.otherError] += 1
        default:
            ledger[Row.findings] += 1
            let seen = if case .error(let error) = result { "\(error.code): \(error)" } else { "other pixels" }
            say("finding\t\(subject.name)\tallocation \(number), \(failures) failed: \(seen)")
        }
    }
}
