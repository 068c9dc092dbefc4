import CCoderPlugin

/// The process state stays unchanged.
enum StateChecks {
    static let all = [
        locale, mask, environment, signals, folder, limits, descriptors, threads, rounding, exit, output, files,
        network,
        processes, system,
    ]
    private static let needs = ["lifecycle.decode"]

    /// Runs sessions of every coder, in both directions, one of them aborted.
    static func sessions(_ context: CheckContext) throws(Stop) {
        try context.eachImage { coder, bytes throws(Stop) in
            for _ in 0..<2 { _ = try context.decode(coder, bytes) }
            _ = try context.decode(coder, Array(bytes.prefix(bytes.count / 2)))
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try context.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = context.quickOptions(coder.id)
                _ = try context.encode(coder, context.images(coder, width: 40, height: 30), setup)
            }
        }
    }

    /// Returns a check that compares the process before loading the plugin with the process after some sessions.
    private static func compare(
        _ name: String, _ summary: String, remedy: String,
        _ difference: @escaping @Sendable (ProcessState, ProcessState) -> String?
    ) -> Check {
        Check("state.\(name)", summary, needs: needs, needsOwnProcess: true) { context throws(Stop) in
            if name == "descriptors" { ProcessState.openSomeDescriptors() }
            let before = ProcessState()
            try sessions(context)
            if let what = difference(before, ProcessState()) { throw .fault(what, .guest, try: remedy) }
        }
    }

    static let locale = compare(
        "locale", "the locale is unchanged", remedy: "use newlocale and uselocale around the one call that needs it"
    ) { before, after in
        before.locale == after.locale ? nil : "the locale was \(before.locale) and is \(after.locale)"
    }

    static let mask = compare("umask", "the file mode mask is unchanged", remedy: "do not call umask") {
        before, after in
        before.fileModeMask == after.fileModeMask
            ? nil
            : "umask was \(String(before.fileModeMask, radix: 8)) and is \(String(after.fileModeMask, radix: 8))"
    }

    static let environment = compare(
        "environment", "the environment is unchanged", remedy: "do not call setenv or putenv"
    ) { before, after in
        if before.environment == after.environment { return nil }
        let changed = after.environment.first { !before.environment.contains($0) }
        return "the environment has changed: " + (changed.map { "\($0.prefix(80)) is new" } ?? "something is missing")
    }

    static let signals = compare(
        "signals", "signal handlers and the signal mask are unchanged", remedy: "do not call sigaction or signal"
    ) { before, after in
        let changed = after.changedSignals(since: before)
        if !changed.isEmpty { return "the handling of \(changed.joined(separator: ", ")) was changed" }
        return before.blockedSignals == after.blockedSignals ? nil : "other signals are blocked than before"
    }

    static let folder = compare(
        "folder", "the working folder is unchanged", remedy: "do not call chdir"
    ) { before, after in
        before.folder == after.folder ? nil : "the working folder was \(before.folder) and is \(after.folder)"
    }

    static let limits = compare(
        "limits", "the limits of the process are unchanged", remedy: "do not call setrlimit"
    ) { before, after in
        before.limits.keys.sorted().first { before.limits[$0] != after.limits[$0] }.map { "RLIMIT_\($0) was changed" }
    }

    static let descriptors = compare(
        "descriptors", "the same descriptors are open", remedy: "close only descriptors that you opened"
    ) { before, after in
        let (old, new) = (before.descriptors, after.descriptors)
        let closed = old.keys.filter { new[$0] == nil }.sorted()
        if !closed.isEmpty { return "descriptors \(list(closed)) of the host were closed" }
        let opened = new.keys.filter { old[$0] == nil }.sorted()
        if !opened.isEmpty { return "descriptors \(list(opened)) were left open" }
        let other = new.keys.filter { new[$0] != old[$0] }.sorted()
        return other.isEmpty ? nil : "descriptors \(list(other)) refer to other files than before"
    }

    private static func list(_ numbers: [Int32]) -> String {
        numbers.prefix(6).map { "\($0)" }.joined(separator: ", ") + (numbers.count > 6 ? " …" : "")
    }

    static let rounding = compare(
        "rounding", "rounding and other floating-point modes are unchanged",
        remedy: "restore the modes before a function returns"
    ) { before, after in
        before.rounding == after.rounding ? nil : "the modes of floating-point calculation were changed"
    }

    static let threads = Check(
        "state.threads", "no thread runs after the last session is closed", needs: needs, needsOwnProcess: true
    ) { context throws(Stop) in
        _ = try context.subject()
        let before = ProcessState.threadCount
        try sessions(context)
        // A joined thread may remain in the kernel's list for a moment.
        for _ in 0..<100 where ProcessState.threadCount > before { ProcessState.pause(milliseconds: 10) }
        let left = ProcessState.threadCount - before
        if left > 0 {
            throw .fault("\(left) threads run after the last session is closed", .hygiene, try: "join them in close")
        }
    }

    static let output = Check(
        "state.output", "nothing is written to standard output or standard error", needs: needs + ["state.exit"],
        needsOwnProcess: true
    ) { context throws(Stop) in
        try sessions(context)
    }

    static let exit = Check(
        "state.exit", "the process can end normally", needs: needs, needsOwnProcess: true,
        crash: Fault(
            what: "the process was ending", rule: .hygiene,
            remedy: "use no atexit and no destructors: the file is never unloaded")
    ) { context throws(Stop) in
        try sessions(context)
    }

    private static func refused(
        _ name: String, _ summary: String, kind: Board.Refusal.Kind, refusesFiles: Bool = false, remedy: String
    ) -> Check {
        Check(
            "state.\(name)", summary, needs: needs, needsOwnProcess: true, refusesFiles: refusesFiles
        ) { context throws(Stop) in
            if !context.isConfined { throw .skip("the kernel has no system call filters") }
            try sessions(context)
            guard let call = context.board.refusals.first(where: { $0.kind == kind && !isHarmless($0.path) }) else {
                return
            }
            throw .fault(
                "it called \(call.call)" + (call.path.isEmpty ? "" : " for \(call.path)"), .forked, try: remedy)
        }
    }

    /// Whether the C library itself reads this file, to count processors or configure its allocator.
    private static func isHarmless(_ path: String) -> Bool {
        [
            "/sys/devices/system/", "/proc/self/", "/proc/cpuinfo", "/proc/sys/", "/proc/stat", "/proc/meminfo",
            "/etc/localtime",
            "/usr/share/zoneinfo/",
        ].contains { path.hasPrefix($0) }
    }

    static let files = refused(
        "files", "no file is opened or changed", kind: .file, refusesFiles: true,
        remedy: "open no file during sessions: the host provides all input, and in isolation there are no files")
    static let network = refused(
        "network", "no socket is created", kind: .network, remedy: "a coder needs no network")
    static let processes = refused(
        "processes", "no process is started, ended or inspected", kind: .process, remedy: "call a library instead")
    static let system = refused(
        "system", "the machine's settings are unchanged", kind: .system, remedy: "do not make this call")
}
