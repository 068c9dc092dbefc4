import CCoderPlugin
import CoderHost

/// The context of a check: the plugin, sample images, and notes.
final class CheckContext {
    let path: String
    let manifest: PluginManifest
    let effort: Effort
    let samples: [Sample]
    let board: Board
    /// Whether system calls are denied in this process.
    let isConfined: Bool
    /// The number of this process among those of the check.
    var process = 0
    /// The results of this process besides its verdict.
    var findings = Findings()
    private var loaded: Subject?
    /// Runs after the plugin is loaded, before any other plugin code.
    private let afterLoading: () throws(Stop) -> Void

    /// The results of a process besides its verdict.
    struct Findings {
        /// The note that the kit compares between the processes of a check.
        var note = ""
        /// The explanation of a difference between them.
        var remark = ""
        /// The samples that this process made.
        var madeSamples: [Sample] = []
    }

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

    /// The plugin, mapped and initialized.
    func subject() throws(Stop) -> Subject {
        if let loaded { return loaded }
        let subject = try Subject(path: path, manifest: manifest, board: board)
        try subject.initialize()
        loaded = subject
        try afterLoading()
        return subject
    }

    func manifest(of coder: String) -> PluginManifest.Coder? { manifest.coders.first { $0.id == coder } }

    func samples(_ coder: String, _ kinds: Sample.Kind...) -> [Sample] {
        samples.filter { $0.coder == coder && kinds.contains($0.kind) }
    }

    /// Runs `body` with every decoding coder: for one image from its encoder, and for every given file.
    ///
    /// - Parameter kinds: the first available kind becomes the encoder's image; `.given` adds the files.
    func eachImage(
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
            if all.isEmpty { missing = "there is no image for \(coder.id); name one with --sample FILE" }
            for sample in all { try body(coder, sample.bytes) }
            done += all.count
        }
        if done == 0 { throw .skip(missing ?? reason) }
    }

    /// Runs `body` with every encoding coder.
    func eachEncoder(_ body: (Subject.Coder) throws(Stop) -> Void) throws(Stop) {
        var done = 0
        for coder in try subject().coders where coder.encoder != nil {
            board.coder = coder.id
            try body(coder)
            done += 1
        }
        if done == 0 { throw .skip("no coder encodes") }
    }

    /// Returns options that make an encoder fast, and lossless if requested.
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

    /// Returns images that a coder can write: one, or several frames if it writes only animations.
    func images(_ coder: Subject.Coder, width: Int, height: Int, hasAlpha: Bool = false, frames: Int? = nil)
        -> [Image]
    {
        let count = frames ?? (coder.encodesStills ? 1 : 3)
        return (0..<count).map { Image(width: width, height: height, hasAlpha: hasAlpha, step: $0) }
    }
}
