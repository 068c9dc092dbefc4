import CConformance
import CoderHost

/// The process of one check.
enum CheckProcess {
    /// The limit of private memory for a check, in bytes.
    static let memory = 2 << 30

    static func run(_ part: Request.CheckPart, _ request: Request) -> Never {
        Child.endWithParent()
        guard let check = Catalogue.all.first(where: { $0.id == part.check }), let board = Board.inherited(),
            let shared = SharedBytes.inherited()
        else { Child.leave() }
        guard let manifest = try? PluginFile.manifest(request.plugin) else { Child.leave() }
        // The worker confines itself, and its parent runs no plugin code.
        let isConfined =
            !(check.execution.usesWorker && part.process == 1)
            && board.confine(memory: memory, processorSeconds: request.timeout * 4)
        let context = CheckContext(
            path: request.plugin, manifest: manifest, effort: request.effort,
            samples: SampleArchive.unpack(shared.bytes), board: board, isConfined: isConfined
        ) { () throws(Stop) in
            if check.execution.refusesFiles, kit_refuse_files() != 0 {
                throw .skip("the kernel has no system call filters")
            }
        }
        context.process = part.process
        let stop = outcome(of: check, context)
        if !context.findings.madeSamples.isEmpty { shared.bytes = SampleArchive.pack(context.findings.madeSamples) }
        board.finish(Record.of(stop, note: context.findings.note, remark: context.findings.remark))
        // Exit handlers and flushed buffers also produce output.
        if check.id == "state.output" || check.id == "state.exit" { ProcessState.leaveNormally() }
        Child.leave()
    }

    static func outcome(of check: Check, _ context: CheckContext) -> Stop? {
        do throws(Stop) {
            try check.body(context)
            return nil
        } catch {
            return error
        }
    }
}
