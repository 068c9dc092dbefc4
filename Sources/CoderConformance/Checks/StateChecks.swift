import CCoderPlugin

/// The process is left as it was.
enum StateChecks {
    static let all = [
        locale, mask, environment, signals, folder, limits, descriptors, threads, rounding, exit, output, files,
        network,
        processes, system,
    ]
    private static let needs = ["lifecycle.decode"]

    /// Sessions of every coder, in both directions, one of them cut short.
    static func sessions(_ workshop: Workshop) throws(Stop) {
        try workshop.eachPicture { coder, bytes throws(Stop) in
            for _ in 0..<2 { _ = try workshop.decode(coder, bytes) }
            _ = try workshop.decode(coder, Array(bytes.prefix(bytes.count / 2)))
        }
        try SurfaceChecks.optional(true) { () throws(Stop) in
            try workshop.eachEncoder { coder throws(Stop) in
                var setup = EncodeSetup()
                setup.options = workshop.quickOptions(coder.id)
                _ = try workshop.encode(coder, workshop.pictures(coder, width: 40, height: 30), setup)
            }
        }
    }

    /// A check that compares the process before the plugin was loaded with the process after some sessions.
    private static func compare(
        _ name: String, _ summary: String, remedy: String,
        _ difference: @escaping @Sendable (ProcessState, ProcessState) -> String?
    ) -> Check {
        Check("state.\(name)", summary, needs: needs, needsOwnProcess: true) { workshop throws(Stop) in
            if name == "descriptors" { ProcessState.openSomeDescriptors() }
            let before = ProcessState()
            try sessions(workshop)
            if let what = difference(before, ProcessState()) { throw .fault(what, .guest, try: remedy) }
        }
    }

    static let locale = compare(
        "locale", "the locale is as it was", remedy: "use newlocale and uselocale around the one call that needs it"
    ) { before, after in
        before.locale == after.locale ? nil : "the locale was \(before.locale) and is \(after.locale)"
    }

    static let mask = compare("umask", "the file mode mask is as it was", remedy: "leave umask alone") {
        before, after in
        before.fileModeMask == after.fileModeMask
            ? nil
            : "umask was \(String(before.fileModeMask, radix: 8)) and is \(String(after.fileModeMask, radix: 8))"
    }

    static let environment = compare(
        "environment", "the environment is as it was", remedy: "leave setenv and putenv alone"
    ) { before, after in
        if before.environment == after.environment { return nil }
        let changed = after.environment.first { !before.environment.contains($0) }
        return "the environment has changed: " + (changed.map { "\($0.prefix(80)) is new" } ?? "something is missing")
    }

    static let signals = compare(
        "signals", "signal handlers and the signal mask are as they were", remedy: "leave sigaction and signal alone"
    ) { before, after in
        let changed = after.changedSignals(since: before)
        if !changed.isEmpty { return "the handling of \(changed.joined(separator: ", ")) was changed" }
        return before.blockedSignals == after.blockedSignals ? nil : "other signals are blocked than before"
    }

    static let folder = compare(
        "folder", "the working folder is as it was", remedy: "leave chdir alone"
    ) { before, after in
        before.folder == after.folder ? nil : "the working folder was \(before.folder) and is \(after.folder)"
    }

    static let limits = compare(
        "limits", "the limits of the process are as they were", remedy: "leave setrlimit alone"
    ) { before, after in
        before.limits.keys.sorted().first { before.limits[$0] != after.limits[$0] }.map { "RLIMIT_\($0) was changed" }
    }

    static let descriptors = compare(
        "descriptors", "the same descriptors are open", remedy: "close what you opened, and nothing else"
    ) { before, after in
        let (old, new) = (before.descriptors, after.descriptors)
        let closed = old.keys.filter { new[$0] == nil }.sorted()
        if !closed.isEmpty { return "descriptors \(list(closed)) of the host were closed" }
        let opened = new.keys.filter { old[$0] == nil }.sorted()
        if !opened.isEmpty { return "descriptors \(list(opened)) were left open" }
        let other = new.keys.filter { new[$0] != old[$0] }.sorted()
        return other.isEmpty ? nil : "descriptors \(list(other)) stand for something else than before"
    }

    private static func list(_ numbers: [Int32]) -> String {
        numbers.prefix(6).map { "\($0)" }.joined(separator: ", ") + (numbers.count > 6 ? " …" : "")
    }

    static let rounding = compare(
        "rounding", "rounding and other modes of calculation are as they were",
        remedy: "restore them before a function returns"
    ) { before, after in
        before.rounding == after.rounding ? nil : "the modes of floating-point calculation were changed"
    }

    static let threads = Check(
        "state.threads", "no thread goes on when the last session is closed", needs: needs, needsOwnProcess: true
    ) { workshop throws(Stop) in
        _ = try workshop.subject()
        let before = ProcessState.threadCount
        try sessions(workshop)
        // A thread that was joined may still be on its way out of the kernel's list.
        for _ in 0..<100 where ProcessState.threadCount > before { ProcessState.pause(milliseconds: 10) }
        let left = ProcessState.threadCount - before
        if left > 0 {
            throw .fault("\(left) threads go on after the last session was closed", .hygiene, try: "join them in close")
        }
    }

    static let output = Check(
        "state.output", "nothing is written to standard output or standard error", needs: needs + ["state.exit"],
        needsOwnProcess: true
    ) { workshop throws(Stop) in
        try sessions(workshop)
    }

    static let exit = Check(
        "state.exit", "the process can end as any other", needs: needs, needsOwnProcess: true,
        crash: Fault(
            what: "the process was about to end", rule: .hygiene,
            remedy: "leave atexit and destructors alone: the file is never unloaded")
    ) { workshop throws(Stop) in
        try sessions(workshop)
    }

    private static func refused(
        _ name: String, _ summary: String, kind: Board.Refusal.Kind, refusesFiles: Bool = false, remedy: String
    ) -> Check {
        Check(
            "state.\(name)", summary, needs: needs, needsOwnProcess: true, refusesFiles: refusesFiles
        ) { workshop throws(Stop) in
            if !workshop.isConfined { throw .skip("the kernel has no filters for system calls") }
            try sessions(workshop)
            guard let call = workshop.board.refusals.first(where: { $0.kind == kind && !isHarmless($0.path) }) else {
                return
            }
            throw .fault(
                "it called \(call.call)" + (call.path.isEmpty ? "" : " for \(call.path)"), .forked, try: remedy)
        }
    }

    /// What the C library itself looks at, to know how many processors there are or how memory is given.
    private static func isHarmless(_ path: String) -> Bool {
        [
            "/sys/devices/system/", "/proc/self/", "/proc/cpuinfo", "/proc/sys/", "/proc/stat", "/proc/meminfo",
            "/etc/localtime",
            "/usr/share/zoneinfo/",
        ].contains { path.hasPrefix($0) }
    }

    static let files = refused(
        "files", "no file is opened or changed", kind: .file, refusesFiles: true,
        remedy: "open nothing while sessions run: the host hands over all input, and isolated there are no files")
    static let network = refused(
        "network", "no socket is made", kind: .network, remedy: "a coder needs no network")
    static let processes = refused(
        "processes", "no process is started, ended or looked into", kind: .process, remedy: "call a library instead")
    static let system = refused(
        "system", "nothing is changed that belongs to the machine", kind: .system, remedy: "leave it alone")
}
