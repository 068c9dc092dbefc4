import Glibc

/// The result and the cost of a program that ran as a child process.
package struct ChildReport: Sendable {
    /// The exit status, or the negated number of the signal that ended the program.
    package var status: Int32
    /// The seconds of processor time of all its threads and children.
    package var processorSeconds: Double
    package var seconds: Double
    /// The peak memory in bytes.
    package var peakBytes: Int
    /// Whether ``peakBytes`` is only an upper bound, because the peak of this process was at least as high.
    package var peakIsBound: Bool
}

/// Runs programs and waits for them.
package enum ChildProcess {
    /// Runs a program without standard input.
    ///
    /// The kernel never reports a peak below the peak of this process so far, because the child starts in its memory.
    /// So run programs first and allocate memory in this process afterwards.
    /// - Parameters:
    ///   - command: a path and its arguments.
    ///   - output: the file for standard output; nil discards it.
    ///   - errors: the file for standard error; nil discards it.
    /// - Returns: nil if an ``Interruption`` arrived, which also ends the program.
    /// - Throws: the reason why the program could not be started.
    package static func run(
        _ command: [String], output: String? = nil, errors: String? = nil
    ) throws(SystemError) -> ChildReport? {
        if Interruption.signal != nil { return nil }
        let start = monotonicNow()
        let child = try spawn(command, output ?? "/dev/null", errors ?? "/dev/null")
        var status: Int32 = 0
        var usage = rusage()
        var isEnded = false
        while unsafe wait4(child, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw .last }
            if Interruption.signal != nil, !isEnded {
                kill(child, SIGTERM)
                isEnded = true
            }
        }
        if Interruption.signal != nil { return nil }
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        let peak = Int(usage.ru_maxrss) * 1024
        return ChildReport(
            // The low seven bits are the signal, the next byte is the exit status, as in the macros of waitpid(2).
            status: status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F),
            processorSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            seconds: Double(monotonicNow() - start) / 1e9, peakBytes: peak,
            peakIsBound: peak <= Machine.ownPeakBytes ?? 0)
    }

    private static func spawn(
        _ command: [String], _ output: String, _ errors: String
    ) throws(SystemError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        let writing = O_WRONLY | O_CREAT | O_TRUNC
        unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, writing, 0o600)
        unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, writing, 0o600)

        // The child gets default actions for signals that this process ignores.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        unsafe sigemptyset(&defaults)
        for signal in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&defaults, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))

        var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var child: pid_t = 0
        let failure = unsafe posix_spawn(&child, command[0], &actions, &attributes, &arguments, environ)
        if failure != 0 { throw SystemError(failure) }
        return child
    }

    /// Returns the path of a program given by name; nil if it is not found.
    package static func find(_ name: String) -> String? {
        for folder in (environment("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":") {
            let path = "\(folder)/\(name)"
            if FileStatus.of(path)?.isRegular == true, unsafe access(path, X_OK) == 0 { return path }
        }
        return nil
    }
}
