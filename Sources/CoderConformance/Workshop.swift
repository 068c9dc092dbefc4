import CCoderPlugin
import CoderHost

/// Where a check is made: the plugin, pictures to try it with, and a place to note things.
final class Workshop {
    let path: String
    let manifest: PluginManifest
    let effort: Effort
    let samples: [Sample]
    let board: Board
    /// Whether system calls are refused here.
    let isConfined: Bool
    /// Which of the check's processes this is.
    var process = 0
    /// What is compared between the processes of a check.
    var note = ""
    /// What explains a difference between them.
    var remark = ""
    /// Samples that were made here.
    var madeSamples: [Sample] = []
    private var loaded: Subject?
    /// Run when the plugin is there and before anything else of it is called.
    private let afterLoading: () throws(Stop) -> Void

    init(
        path: String, manifest: PluginManifest, effort: Effort, samples: [Sample], board: Board, isConfined: Bool,
        loaded: Subject? = nil, afterLoading: @escaping () throws(Stop) -> Void = {}
    ) {
        self.path = path
        self.manifest = manifest
        self.effort = effort
        self.samples = samples
        self.board = board
        self.isConfined = isConfined
        self.loaded = loaded
        self.afterLoading = afterLoading
    }

    /// The plugin, mapped and initialised.
    func subject() throws(Stop) -> Subject {
        if let loaded { return loaded }
        let subject = try Subject(path: path, manifest: manifest, board: board)
        try subject.initialise()
        loaded = subject
        try afterLoading()
        return subject
    }

    func manifest(of coder: String) -> PluginManifest.Coder? { manifest.coders.first { $0.id == coder } }

    func samples(_ coder: String, _ kinds: Sample.Kind...) -> [Sample] {
        samples.filter { $0.coder == coder && kinds.contains($0.kind) }
    }

    /// Runs `body` with every coder that decodes, for one image that its encoder made and for every given file.
    ///
    /// - Parameter kinds: the first kind that exists is the encoder's image; `.given` adds the files.
    func eachPicture(
        _ kinds: [Sample.Kind] = [.small, .given], where condition: (Subject.Coder) -> Bool = { _ in true },
        otherwise reason: String = "no coder decodes", _ body: (Subject.Coder, [UInt8]) throws(Stop) -> Void
    ) throws(Stop) {
        var missing: String?
        var done = 0
        for coder in try subject().coders where coder.decodes && condition(coder) {
            board.coder = coder.id
            let made = kinds.lazy.filter { $0 != .given }.compactMap { self.samples(coder.id, $0).first }.first
            let given = kinds.contains(.given) ? samples(coder.id, .given) : []
            let all = (made.map { [$0] } ?? []) + given
            if all.isEmpty { missing = "there is no picture for \(coder.id); name one with --sample FILE" }
            for sample in all { try body(coder, sample.bytes) }
            done += all.count
        }
        if done == 0 { throw .skip(missing ?? reason) }
    }

    /// Makes something with every coder that encodes.
    func eachEncoder(_ body: (Subject.Coder) throws(Stop) -> Void) throws(Stop) {
        var done = 0
        for coder in try subject().coders where coder.encoder != nil {
            board.coder = coder.id
            try body(coder)
            done += 1
        }
        if done == 0 { throw .skip("no coder encodes") }
    }

    /// Options that make an encoder fast, and exact where it can be.
    func quickOptions(_ coder: String, lossless: Bool = false) -> [OptionValue] {
        let known = manifest(of: coder)?.options.filter { $0.scope.includesEncoding } ?? []
        var result: [OptionValue] = []
        if lossless, known.contains(where: { $0.key == "lossless" && $0.kind == .bool }) {
            result.append(OptionValue(key: "lossless", type: CPI_OPTION_BOOL, integer: 1, real: 1))
        }
        if let effort = known.first(where: { $0.key == "effort" && $0.kind == .i64 }) {
            let value = Int64(effort.minimum ?? 0)
            result.append(OptionValue(key: "effort", type: CPI_OPTION_I64, integer: value, real: Double(value)))
        }
        return result
    }

    /// Pictures that a coder can write: one, or frames where it writes nothing else.
    func pictures(_ coder: Subject.Coder, width: Int, height: Int, hasAlpha: Bool = false, frames: Int? = nil)
        -> [Picture]
    {
        let count = frames ?? (coder.encodesStills ? 1 : 3)
        return (0..<count).map { Picture(width: width, height: height, hasAlpha: hasAlpha, step: $0) }
    }
}
