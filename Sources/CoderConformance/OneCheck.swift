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
        guard let manifest = try? PluginFile.manifest(request.plugin) else { Child.leave() }
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
