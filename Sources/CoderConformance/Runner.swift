import CoderHost

/// Runs checks, each in its own process, and judges how the processes end.
final class Runner {
    let request: Request
    let manifest: PluginManifest
    private let shared: SharedBytes
    private(set) var samples: [Sample]
    private var verdicts: [String: Verdict] = [:]
    /// The plugin, if checks run in this process.
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

    /// Checks that may be skipped without skipping the checks that need them: a plugin need not encode, and a kit with
    /// a sanitizer cannot measure memory growth.
    private static let optional = ["lifecycle.encode", "memory.growth"]

    private func isMissing(_ need: String) -> Bool {
        guard let verdict = verdicts[need], verdict != .passed else { return false }
        return verdict != .skipped || !Self.optional.contains(need)
    }

    func run(_ check: Check) -> CheckResult {
        var result = CheckResult(check: check, verdict: .passed)
        if !check.execution.isStatic, check.id != Self.loading, verdicts[Self.loading]?.isBad == true {
            // A failure to load affects every process that loads the plugin, so it is reported once.
            result.verdict = .skipped
            result.what = "it does not load"
        } else if let missing = check.needs.first(where: isMissing) {
            result.verdict = .skipped
            result.what =
                verdicts[missing] == .skipped
                ? "\(missing) was skipped" : "\(missing) did not pass, so this check has no result"
        } else if request.isInProcess {
            runHere(check, &result)
        } else {
            runApart(check, &result)
        }
        verdicts[check.id] = result.verdict
        return result
    }

    /// Stores the images that a check made.
    func take(_ made: [Sample]) {
        let known = Set(samples.map { "\($0.coder) \($0.kind)" })
        samples += made.filter { !known.contains("\($0.coder) \($0.kind)") }
        shared.bytes = SampleArchive.pack(samples)
    }

    /// Runs a check in this process, for a debugger.
    private func runHere(_ check: Check, _ result: inout CheckResult) {
        if check.execution.needsOwnProcess || check.execution.refusesFiles || check.execution.processes > 1 {
            result.verdict = .skipped
            result.what = "it needs a process of its own"
            return
        }
        let board = Board.local()
        let context = CheckContext(
            path: request.plugin, manifest: manifest, effort: request.effort,
            samples: samples, board: board, isConfined: false, loaded: subject)
        let start = wallNanoseconds()
        switch CheckProcess.outcome(of: check, context) {
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
        if subject == nil, !check.execution.isStatic { subject = try? context.subject() }
        take(context.findings.madeSamples)
    }

    private func runApart(_ check: Check, _ result: inout CheckResult) {
        var notes: [String] = []
        var remarks: [String] = []
        for process in 0..<check.execution.processes where result.verdict == .passed {
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
                check.execution.usesWorker
                ? "the results in a sealed worker differ from those in-process" : "two processes gave different results"
            result.rule = check.execution.usesWorker ? .sealed : .deterministic
            result.remedy = "look for results that depend on addresses, time or unset memory"
            if let remark = remarks.first {
                result.what += "; \(remark)"
                result.remedy = DeniedCalls.advice(remark)
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
                    .hung, "it did not return within \(request.timeout) s \(place)", .poll,
                    "call poll, and return unless it answers CPI_CONTINUE; look for endless loops on bad input"
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
                "look for threads that an exit handler waits for")
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
                "use no atexit and no destructors, and join threads in close")
            return
        }
        notes.append(record.note)
        if !record.remark.isEmpty { remarks.append(record.remark) }
        outside(check, board, end, leftovers, fail)
    }

    /// Judges effects visible only outside the process, each in the check concerned.
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
                    "pass the text to log, or drop it")
            }
        case "state.exit":
            if end.exitStatus != 0 {
                fail(.failed, "the process ended with status \(end.exitStatus ?? -1)", .hygiene, "do not call atexit")
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
