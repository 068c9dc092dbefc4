import CConformance
import CoderHost

/// The process of one check.
enum OneCheck {
    /// Bytes of private memory that a check may have.
    static let memory = 2 << 30

    static func run(_ id: String, _ request: Request) -> Never {
        Child.endWithParent()
        guard let check = Catalogue.all.first(where: { $0.id == id }), let board = Board.inherited(),
            let shared = SharedBytes.inherited()
        else { Child.leave() }
        let manifest: PluginManifest
        switch PluginFile.read(request.plugin) {
        case .success(let file): manifest = file.manifest
        case .failure: Child.leave()
        }
        // The worker confines itself, and nothing of the plugin runs in the process that starts it.
        let isConfined =
            !(check.usesWorker && request.process == 1)
            && board.confine(memory: memory, processorSeconds: request.timeout * 4)
        let workshop = Workshop(
            path: request.plugin, manifest: manifest, effort: request.effort,
            samples: SampleArchive.unpack(shared.bytes), board: board, isConfined: isConfined
        ) { () throws(Stop) in
            if check.refusesFiles, kit_refuse_files() != 0 { throw .skip("system calls cannot be refused here") }
        }
        workshop.process = request.process
        let stop = outcome(of: check, workshop)
        if !workshop.madeSamples.isEmpty { shared.bytes = SampleArchive.pack(workshop.madeSamples) }
        board.finish(Record.of(stop, note: workshop.note, remark: workshop.remark))
        // What was registered for the end, and buffers, are somebody's output, too.
        if check.id == "state.output" || check.id == "state.exit" { ProcessState.leaveNormally() }
        Child.leave()
    }

    static func outcome(of check: Check, _ workshop: Workshop) -> Stop? {
        do throws(Stop) {
            try check.body(workshop)
            return nil
        } catch {
            return error
        }
    }
}

/// Checks without a process of their own, for a debugger.
enum InProcess {
    nonisolated(unsafe) private static var subject: Subject?

    static func run(_ check: Check, _ runner: Runner, _ result: inout CheckResult) {
        if check.needsOwnProcess || check.refusesFiles || check.processes > 1 {
            result.verdict = .skipped
            result.what = "it needs a process of its own"
            return
        }
        let board = Board.local()
        let workshop = Workshop(
            path: runner.request.plugin, manifest: runner.manifest, effort: runner.request.effort,
            samples: runner.samples, board: board, isConfined: false, loaded: unsafe subject)
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
        if unsafe subject == nil, !check.isStatic { unsafe subject = try? workshop.subject() }
        runner.take(workshop.madeSamples)
    }
}
