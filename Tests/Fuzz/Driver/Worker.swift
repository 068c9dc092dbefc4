import CoderHost
import FuzzTargets

/// The process that runs the cases, and may crash.
struct Worker {
    private let kind: String
    private let schedule: Schedule
    private let seed: UInt64
    private let cases: Range<Int>
    private let ledger: SharedCounters
    private let keep: String?

    init(_ switches: Switches) {
        kind = switches["--kind"] ?? "run"
        schedule = Schedule(switches.operands.compactMap(FuzzTarget.named))
        seed = UInt64(switches.number("--seed", 1))
        cases = switches.number("--from", 0)..<switches.number("--count", 0)
        ledger = SharedCounters(descriptor: Int32(switches.number("--ledger", 0)))
        keep = switches["--keep"]
    }

    func run() {
        let seeds = schedule.targets.map { $0.seeds() }
        for number in cases {
            ledger[Row.now] = number
            let (index, own) = schedule[number]
            let target = schedule.targets[index]
            let bytes = target.input(run: seed, number: own, seeds: seeds[index])
            do throws(Finding) {
                try examine(bytes, by: target, row: Row.target(index), number: own)
            } catch {
                ledger[Row.findings] += 1
                ledger[Row.target(index) + Row.bad] += 1
                say("finding\t\(target.name)\tcase \(number)\t\(error)")
                if let keep { save(bytes, to: "\(keep)/\(target.name)-\(seed)-\(number)") }
            }
            ledger[Row.target(index) + Row.cases] += 1
        }
    }

    private func examine(_ bytes: [UInt8], by target: FuzzTarget, row: Int, number: Int) throws(Finding) {
        switch kind {
        case "mutate":
            // The host and the format choose the coder equally often.
            let coder = number % 2 == 0 ? target.coder : nil
            switch try Decoding.decode(bytes, forcing: coder, mayBeLate: true) {
            case .image: ledger[row + Row.decoded] += 1
            case .refusal(let error):
                ledger[row + Row.refused] += 1
                if error.code == .deadlineExceeded { ledger[row + Row.late] += 1 }
            }
        case "modes":
            switch try ModeComparison.sample(bytes, coder: target.coder, number: number) {
            case .decoded: ledger[row + Row.decoded] += 1
            case .refused: ledger[row + Row.refused] += 1
            case .late: ledger[row + Row.late] += 1
            }
        default: try target.run(bytes)
        }
    }
}

/// The position of each number in the ledger.
enum Row {
    static let now = 0
    static let findings = 1
    static func target(_ index: Int) -> Int { 8 + 8 * index }
    // For each target:
    static let cases = 0
    static let decoded = 1
    static let refused = 2
    static let bad = 3
    static let late = 4
}
