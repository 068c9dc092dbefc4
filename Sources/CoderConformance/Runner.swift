import CoderHost

/// Makes checks, each in a process of its own, and judges how these end.
final class Runner {
    let request: Request
    let manifest: PluginManifest
    private let shared: SharedBytes
    private(set) var samples: [Sample]
    private var verdicts: [String: Verdict] = [:]
    /// The plugin, where checks have no process of their own.
    private var subject: Subject?
    private var ticket = wallNanoseconds()

    init?(_ request: Request, _ manifest: PluginManifest, samples: [Sample]) {
        guard let shared = SharedBytes() else { return nil }
        self.request = request
        self.manifest = manifest
        self.shared = shared
        self.samples = samples
        shared.bytes = SampleArchive.pack(samples)
    }

    private static let loading = "lifecycle.load"

    /// What may be skipped without taking along what builds on it: a plugin need not encode, and a kit with a sanitizer
    /// cannot see memory grow.
    private static let optional = ["lifecycle.encode", "memory.growth"]

    private func isMissing(_ need: String) -> Bool {
        guard let verdict = verdicts[need], verdict != .passed else { return false }
        return verdict != .skipped || !Self.optional.contains(need)
    }

    func run(_ check: Check) -> CheckResult {
        var result = CheckResult(check: check, verdict: .passed)
        if !check.isStatic, check.id != Self.loading, verdicts[Self.loading]?.isBad == true {
            // What goes wrong there goes wrong in every process that begins so: it is told once.
            result.verdict = .skipped
            result.what = "it does not load"
        } else if let missing = check.needs.first(where: isMissing) {
            result.verdict = .skipped
            result.what =
                verdicts[missing] == .skipped
                ? "\(missing) was skipped" : "\(missing) did not pass, so this says nothing"
        } else if request.isInProcess {
            runHere(check, &result)
        } else {
            runApart(check, &result)
        }
        verdicts[check.id] = result.verdict
        return result
    }

    /// Takes over the pictures that a check made.
    func take(_ made: [Sample]) {
        let known = Set(samples.map { "\($0.coder) \($0.kind)" })
        samples += made.filter { !known.contains("\($0.coder) \($0.kind)") }
        shared.bytes = SampleArchive.pack(samples)
    }

    /// Makes a check without a process of its own, for a debugger.
    private func runHere(_ check: Check, _ result: inout CheckResult) {
        if check.needsOwnProcess || check.refusesFiles || check.processes > 1 {
            result.verdict = .skipped
            result.what = "it needs a process of its own"
            return
        }
        let board = Board.local()
        let workshop = Workshop(
            path: request.plugin, manifest: manifest, effort: request.effort,
            samples: samples, board: board, isConfined: false, loaded: subject)
        let start = wallNanoseconds()
        switch OneCheck.outcome(of: check, workshop) {
        case nil: break
        case .skip(let why):
            result.verdict = .skipped
            result.what = why
        case .fault(let fault):
            result.verdict = .failed
            result.what = fault.what
            result.rule = fault.rule
            result.remedy = fault.remedy
        }
        result.seconds = Double(wallNanoseconds() - start) / 1e9
        if subject == nil, !check.isStatic { subject = try? workshop.subject() }
        take(workshop.madeSamples)
    }

    private func runApart(_ check: Check, _ result: inout CheckResult) {
        var notes: [String] = []
        var remarks: [String] = []
        for process in 0..<check.processes where result.verdict == .passed {
            ticket &+= 1
            guard let board = Board(ticket: ticket), let folder = try? TemporaryFolder() else {
                result.verdict = .skipped
                result.what = "no process could be prepared"
                return
            }
            let arguments = [
                "--one", check.id, request.plugin, "--effort", request.effort.rawValue,
                "--timeout", "\(request.timeout)", "--process", "\(process)",
            ]
            guard
                let end = Child.run(
                    arguments, board: board, samples: shared, folder: folder.path, milliseconds: request.timeout * 1000)
            else {
                result.verdict = .skipped
                result.what = "no process could be started"
                return
            }
            result.seconds += end.seconds
            result.processorSeconds += end.processorSeconds
            judge(check, board, end, (try? directoryEntries(folder.path)) ?? [], &result, &notes, &remarks)
            if check.id == "lifecycle.encode" { take(SampleArchive.unpack(shared.bytes)) }
        }
        if result.verdict == .passed, let first = notes.first, notes.contains(where: { $0 != first }) {
            result.verdict = .failed
            result.what =
                check.usesWorker
                ? "sealed it comes to other results than in process" : "two processes came to different results"
            result.rule = check.usesWorker ? .sealed : .deterministic
            result.remedy = "look for what depends on addresses, on time or on memory that is not set"
            if let remark = remarks.first {
                result.what += "; \(remark)"
                result.remedy = SealedCalls.advice(remark)
            }
        }
    }

    private func judge(
        _ check: Check, _ board: Board, _ end: ChildEnd, _ leftovers: [String], _ result: inout CheckResult,
        _ notes: inout [String], _ remarks: inout [String]
    ) {
        func fail(_ verdict: Verdict, _ what: String, _ rule: Rule, _ remedy: String) {
            result.verdict = verdict
            result.what = what
            result.rule = rule
            result.remedy = remedy
        }
        let coder = board.coder
        let call = board.call
        let place = (call.isEmpty ? "between two calls" : "in \(call)") + (coder.isEmpty ? "" : " of \(coder)")
        guard let text = board.text(for: ticket), let record = Record(text) else {
            result.call = call
            if end.isLate {
                fail(
                    .hung, "it did not come back within \(request.timeout) s \(place)", .poll,
                    "call poll, and leave when it does not answer CPI_CONTINUE; look for a loop that bad input keeps going"
                )
            } else if let signal = end.signal {
                result.signal = signal
                let crash = check.crash
                fail(
                    .crashed, "\(SignalName.of(Int32(signal))) \(place)" + (crash.map { ": \($0.what)" } ?? ""),
                    crash?.rule ?? .noEscape,
                    crash?.remedy ?? "run it under a debugger: coderhost plugin check --in-process --only \(check.id)")
            } else {
                fail(
                    .crashed, "it ended the process with status \(end.exitStatus ?? 0) \(place)", .noEscape,
                    "answer an error; a plugin never calls exit")
            }
            return
        }
        if end.isLate {
            result.call = call
            fail(
                .hung, "the process did not end within \(request.timeout) s after the last session", .hygiene,
                "look for threads that are waited for at the end")
            return
        }
        if record.verdict == .skipped {
            result.verdict = .skipped
            result.what = record.what
            return
        }
        if record.verdict == .failed, let rule = record.rule {
            fail(.failed, record.what, rule, record.remedy)
            return
        }
        if let signal = end.signal {
            result.signal = signal
            fail(
                .crashed, "\(SignalName.of(Int32(signal))) at the end of the process, after the last session", .hygiene,
                "leave atexit and destructors alone, and join threads in close")
            return
        }
        notes.append(record.note)
        if !record.remark.isEmpty { remarks.append(record.remark) }
        outside(check, board, end, leftovers, fail)
    }

    /// What is only seen from outside; each in the one check that is about it.
    private func outside(
        _ check: Check, _ board: Board, _ end: ChildEnd, _ leftovers: [String],
        _ fail: (Verdict, String, Rule, String) -> Void
    ) {
        switch check.id {
        case "state.output":
            for (name, bytes) in [("output", end.output), ("error", end.errors)] where !bytes.isEmpty {
                let text = String(decoding: bytes.prefix(60), as: UTF8.self)
                fail(
                    .failed, "it wrote to standard \(name): \(text)", .noDescriptor,
                    "hand it to log, or throw it away")
            }
        case "state.exit":
            if end.exitStatus != 0 {
                fail(.failed, "the process ended with status \(end.exitStatus ?? -1)", .hygiene, "leave atexit alone")
            }
        case "state.processes":
            if end.strays > 0 {
                fail(.failed, "it left \(end.strays) processes behind", .hygiene, "call a library instead")
            }
        case "state.files":
            if let name = leftovers.first {
                fail(.failed, "it left the file \(name) in the working folder", .hygiene, "write to the sink")
            }
        default: break
        }
    }
}
