/// One thing that every plugin has to keep.
struct Check: Sendable {
    /// For example `surface.guards`.
    var id: String
    /// What is checked, for a person.
    var summary: String
    /// Checks without which this one says nothing.
    var needs: [String]
    /// In how many processes it is made; what they note has to be equal.
    var processes = 1
    /// Whether nothing of the plugin runs.
    var isStatic = false
    /// Whether a plugin that is loaded already is of no use.
    var needsOwnProcess = false
    /// Files cannot be read once the plugin is loaded.
    var refusesFiles = false
    /// Whether the second of two processes has the plugin in a worker, and so may start one.
    var usesWorker = false
    /// What a crash in this check means.
    var crash: Fault?
    var body: @Sendable (Workshop) throws(Stop) -> Void

    init(
        _ id: String, _ summary: String, needs: [String] = [], processes: Int = 1, isStatic: Bool = false,
        needsOwnProcess: Bool = false, refusesFiles: Bool = false, usesWorker: Bool = false, crash: Fault? = nil,
        _ body: @escaping @Sendable (Workshop) throws(Stop) -> Void
    ) {
        self.id = id
        self.summary = summary
        self.needs = needs
        self.processes = processes
        self.isStatic = isStatic
        self.needsOwnProcess = needsOwnProcess
        self.refusesFiles = refusesFiles
        self.usesWorker = usesWorker
        self.crash = crash
        self.body = body
    }

    var group: String { String(id.prefix { $0 != "." }) }
}

/// How much is tried.
enum Effort: String, CaseIterable {
    case quick, full

    func pick<T>(_ quick: T, _ full: T) -> T { self == .quick ? quick : full }
}
