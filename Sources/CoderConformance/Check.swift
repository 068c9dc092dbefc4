/// One requirement for every plugin.
struct Check: Sendable {
    /// The name, for example `surface.guards`.
    var id: String
    /// The checked requirement, for the report.
    var summary: String
    /// The checks that must pass first.
    var needs: [String]
    var execution: Execution
    /// The fault to report if the plugin crashes.
    var crash: Fault?
    var body: @Sendable (CheckContext) throws(Stop) -> Void

    /// Where a check runs.
    struct Execution: Sendable {
        /// The number of processes that run the check; their notes must be equal.
        var processes: Int
        /// Whether the check runs no plugin code.
        var isStatic: Bool
        /// Whether the check needs a plugin that is not loaded yet.
        var needsOwnProcess: Bool
        /// Whether files must not be read once the plugin is loaded.
        var refusesFiles: Bool
        /// Whether the second of two processes runs the plugin in a worker, and so may start one.
        var usesWorker: Bool
    }

    init(
        _ id: String, _ summary: String, needs: [String] = [], processes: Int = 1, isStatic: Bool = false,
        needsOwnProcess: Bool = false, refusesFiles: Bool = false, usesWorker: Bool = false, crash: Fault? = nil,
        _ body: @escaping @Sendable (CheckContext) throws(Stop) -> Void
    ) {
        self.id = id
        self.summary = summary
        self.needs = needs
        execution = Execution(
            processes: processes, isStatic: isStatic, needsOwnProcess: needsOwnProcess, refusesFiles: refusesFiles,
            usesWorker: usesWorker)
        self.crash = crash
        self.body = body
    }

    var group: String { String(id.prefix { $0 != "." }) }
}

/// The number of tries per check.
enum Effort: String, CaseIterable {
    case quick, full

    func pick<T>(_ quick: T, _ full: T) -> T { self == .quick ? quick : full }
}
