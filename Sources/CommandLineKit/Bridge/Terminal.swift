import Glibc
package import HostSystem
import Synchronization

/// The size of a terminal window; the pixel sizes are 0 if the terminal does not report them.
package struct TerminalSize: Sendable, Hashable {
    /// Cells per line.
    package var columns: Int
    /// Lines.
    package var rows: Int
    /// Width of the window in pixels.
    package var pixelWidth: Int
    /// Height of the window in pixels.
    package var pixelHeight: Int

    package init(columns: Int, rows: Int, pixelWidth: Int = 0, pixelHeight: Int = 0) {
        self.columns = columns
        self.rows = rows
        self.pixelWidth = pixelWidth
        self.pixelHeight = pixelHeight
    }
}

/// The terminal in raw mode: keys arrive unbuffered and without echo. The original state is restored in every case.
///
/// Use one instance at a time. Signal handlers only record signals; ``wait(nanoseconds:)`` returns them. If the program
/// does not respond, the second ending signal restores the terminal and ends the process. A crash does the same.
///
/// - Concurrency: one thread.
package final class TerminalDevice {
    /// The reason why ``wait(nanoseconds:)`` returned.
    package struct Wake: Sendable {
        /// Whether input is available.
        package var isReadable = false
        /// The signals since the last call.
        package var signals: [Int32] = []
    }

    /// The bytes to write when entering and leaving.
    private struct Sequences {
        let entering: [UInt8]
        let leaving: [UInt8]
    }

    /// The attributes of the terminal before and during its use.
    private struct Attributes {
        var original = termios()
        var raw = termios()
    }

    private let input: Int32
    private let output: Int32
    /// A second, non-blocking descriptor of the terminal. O_NONBLOCK belongs to the open file description, and other
    /// programs share the one of standard output.
    private var screen: Int32 = -1
    private let sequences: Sequences
    private let hasKeys: Bool
    private var attributes = Attributes()
    private var handlers: [(signal: Int32, old: sigaction)] = []
    private var pipe: [Int32] = [-1, -1]
    private var isEntered = false
    private var inputEnded = false

    /// Creates a device; does not change the terminal yet.
    ///
    /// - Parameter input: the descriptor for keys, used if it is a terminal.
    package init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, entering: [UInt8], leaving: [UInt8]) {
        self.input = input
        self.output = output
        sequences = Sequences(entering: entering, leaving: leaving)
        hasKeys = isatty(input) == 1
    }

    deinit { leave() }

    /// Whether the terminal delivers keys.
    package var takesKeys: Bool { hasKeys && !inputEnded }

    /// Returns the window width of a descriptor in columns; nil if it is not a terminal.
    package static func columns(of descriptor: Int32) -> Int? {
        var window = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else { return nil }
        return Int(window.ws_col)
    }

    /// The current window size; nil if unknown.
    package var size: TerminalSize? {
        var window = winsize()
        guard unsafe ioctl(output, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return nil
        }
        return TerminalSize(
            columns: Int(window.ws_col), rows: Int(window.ws_row), pixelWidth: Int(window.ws_xpixel),
            pixelHeight: Int(window.ws_ypixel))
    }

    // MARK: Entering and leaving

    /// Switches the terminal to raw mode.
    package func enter() throws(SystemError) {
        guard !isEntered else { return }
        if pipe[0] < 0 {
            if unsafe Glibc.pipe(&pipe) != 0 { throw .last }
            for end in pipe {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
        }
        var wanted = termios()
        if hasKeys {
            if unsafe tcgetattr(input, &wanted) != 0 { throw .last }
            attributes.original = wanted
            // ISIG stays set, so that Ctrl-C works while a coder is busy.
            wanted.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
            wanted.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | ISTRIP)
            unsafe withUnsafeMutableBytes(of: &wanted.c_cc) { codes in
                unsafe codes[Int(VMIN)] = 0
                unsafe codes[Int(VTIME)] = 0
            }
            attributes.raw = wanted
        }
        unsafe savedTerminal.publish(
            input: hasKeys ? input : -1, output: output, attributes.original, sequences.leaving)
        wakeEnd.store(pipe[1], ordering: .relaxed)
        pendingSignals.store(0, ordering: .relaxed)
        isEntered = true
        catchSignals()
        if hasKeys, unsafe tcsetattr(input, TCSADRAIN, &wanted) != 0 {
            let problem = SystemError.last
            leave()
            throw problem
        }
        screen = reopened()
        write(sequences.entering)
    }

    private func reopened() -> Int32 {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe ttyname_r(output, &name, name.count) == 0 else { return -1 }
        return unsafe open(name, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    }

    /// Restores the terminal; takes at most 200 ms if the terminal accepts no output.
    ///
    /// - Parameter discardsInput: whether to drop unread input, such as late answers of the terminal.
    package func leave(discardsInput: Bool = false) {
        guard isEntered else { return }
        isEntered = false
        discardBlockedOutput(output)
        write(sequences.leaving, patience: 10)
        if screen >= 0 { close(screen) }
        screen = -1
        if hasKeys { _ = unsafe tcsetattr(input, discardsInput ? TCSAFLUSH : TCSADRAIN, &attributes.original) }
        unsafe savedTerminal.withdraw()
        for (signal, old) in handlers {
            var old = old
            _ = unsafe sigaction(signal, &old, nil)
        }
        handlers = []
        wakeEnd.store(-1, ordering: .relaxed)
        for end in pipe where end >= 0 { close(end) }
        pipe = [-1, -1]
    }

    /// Restores the terminal, stops the process with SIGTSTP, and enters raw mode again when the process continues.
    package func suspend() throws(SystemError) {
        leave()
        raise(SIGTSTP)
        try enter()
    }

    /// Enters raw mode again after SIGCONT: another process may have changed the terminal.
    private func reenter() {
        guard isEntered else { return }
        // In the background, tcsetattr stops the process; it returns EINTR when the process is in the foreground again.
        while hasKeys, unsafe tcsetattr(input, TCSADRAIN, &attributes.raw) != 0, errno == EINTR, pendingEnd == nil {}
        write(sequences.entering)
    }

    /// Ends the process with a signal.
    package func end(by signal: Int32) -> Never {
        leave()
        Glibc.signal(signal, SIG_DFL)
        raise(signal)
        _exit(128 + signal)
    }

    // MARK: Input and output

    /// Waits for input or signals; nil waits without timeout.
    package func wait(nanoseconds: UInt64?) -> Wake {
        var wake = Wake()
        var entries = [
            pollfd(fd: takesKeys ? input : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: pipe[0], events: Int16(POLLIN), revents: 0),
        ]
        let milliseconds = nanoseconds.map { Int32(clamping: $0 / 1_000_000 + ($0 % 1_000_000 == 0 ? 0 : 1)) } ?? -1
        if pendingSignals.load(ordering: .relaxed) == 0, unsafe poll(&entries, 2, milliseconds) > 0 {
            wake.isReadable = entries[0].revents != 0
        }
        var scratch = [UInt8](repeating: 0, count: 64)
        while unsafe Glibc.read(pipe[0], &scratch, scratch.count) > 0 {}
        let pending = pendingSignals.exchange(0, ordering: .relaxed)
        for signal in Self.caught where pending & 1 << UInt64(signal) != 0 { wake.signals.append(signal) }
        if wake.signals.contains(SIGCONT) { reenter() }
        return wake
    }

    /// Reads the available input.
    package func read() -> [UInt8] {
        guard takesKeys else { return [] }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe Glibc.read(input, &buffer, buffer.count)
        if count < 0 {
            if errno != EINTR && errno != EAGAIN { inputEnded = true }
            return []
        }
        // poll reported input but read returned none: the terminal may have hung up.
        if count == 0 { inputEnded = hasHungUp }
        return Array(buffer[..<count])
    }

    private var hasHungUp: Bool {
        var entry = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0
    }

    /// A pending signal that ends the process.
    package var pendingEnd: Int32? {
        let pending = pendingSignals.load(ordering: .relaxed) & endings
        return Self.caught.first { pending & 1 << UInt64($0) != 0 }
    }

    /// Writes all bytes; false if the terminal is gone or an ending signal is pending.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool { write(bytes, patience: nil) }

    /// Writes all bytes.
    ///
    /// - Parameter patience: the timeout without progress in tenths of a second; nil for no timeout, but then an ending
    ///   signal stops the write.
    @discardableResult
    private func write(_ bytes: [UInt8], patience: Int?) -> Bool {
        let target = screen >= 0 ? screen : output
        var at = 0
        var waited = 0
        while at < bytes.count {
            if patience == nil, pendingEnd != nil { return false }
            let start = at
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(target, buffer.baseAddress! + start, buffer.count - start)
            }
            if count > 0 {
                at += count
                waited = 0
                continue
            }
            if count < 0, errno == EINTR { continue }
            guard count < 0, errno == EAGAIN, waited < patience ?? .max else { return false }
            var entry = pollfd(fd: target, events: Int16(POLLOUT), revents: 0)
            if unsafe poll(&entry, 1, 100) == 0 { waited += 1 }
        }
        return true
    }

    // MARK: Signals

    private static let caught = endingSignals + [SIGTSTP, SIGCONT, SIGWINCH]
    /// Crash signals and real-time signals, which end a process by default. glibc reserves 32 and 33.
    private static let crashes = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGSYS] + Array(34...64)

    private func catchSignals() {
        _ = exitHandler
        // Initializes the globals that the handlers use.
        _ = endings
        for signal in Self.caught { install(signal, 0) { noteSignal($0) } }
        // SA_RESETHAND: a second crash ends the process.
        for signal in Self.crashes {
            install(signal, Int32(bitPattern: UInt32(SA_RESETHAND))) { signal in
                unsafe savedTerminal.restore()
                raise(signal)
            }
        }
    }

    private func install(_ signal: Int32, _ flags: Int32, _ handler: @convention(c) (Int32) -> Void) {
        var old = sigaction()
        var new = sigaction()
        unsafe new.__sigaction_handler.sa_handler = handler
        new.sa_flags = flags
        guard unsafe sigaction(signal, nil, &old) == 0 else { return }
        // An ignored signal stays ignored, for example under nohup.
        if unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) == 1 { return }
        if unsafe sigaction(signal, &new, &old) == 0 { handlers.append((signal, old)) }
    }
}

// MARK: Globals for signal handlers

/// The signals since the last call of `wait`, one bit for each.
private let pendingSignals = Atomic<UInt64>(0)
private let wakeEnd = Atomic<Int32>(-1)
/// The signals that end a process by default, except crashes; see signal(7).
private let endingSignals = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO, SIGPWR, SIGSTKFLT,
]
private let endings = endingSignals.reduce(into: UInt64(0)) { $0 |= 1 << UInt64($1) }
private let savedTerminal = unsafe SavedTerminal()
/// Restores the terminal if a library calls exit().
private let exitHandler: Void = {
    _ = atexit { unsafe savedTerminal.restore() }
}()

private func noteSignal(_ signal: Int32) {
    let saved = errno
    let bit = UInt64(1) << UInt64(signal)
    let before = pendingSignals.bitwiseOr(bit, ordering: .relaxed).oldValue
    if before & bit & endings != 0 {
        // The second ending signal without a `wait` in between: a coder hangs, or the terminal accepts no output.
        unsafe savedTerminal.restore()
        Glibc.signal(signal, SIG_DFL)
        raise(signal)
    }
    var byte: UInt8 = 0
    _ = unsafe write(wakeEnd.load(ordering: .relaxed), &byte, 1)
    errno = saved
}

/// Discards pending output if the terminal accepts none for 200 ms, so that later writes do not block.
private func discardBlockedOutput(_ output: Int32) {
    var entry = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
    if unsafe poll(&entry, 1, 200) <= 0 { tcflush(output, TCOFLUSH) }
}

/// The original state of the terminal, for signal handlers and exit handlers.
// Sendable because: a published record never changes while it is reachable.
@unsafe private final class SavedTerminal: @unchecked Sendable {
    private struct Record {
        var input: Int32
        var output: Int32
        var attributes: termios
        var count: Int
    }

    private let record = Atomic<UInt>(0)

    /// Publishes the record, followed by the bytes to write, in one block of memory.
    func publish(input: Int32, output: Int32, _ attributes: termios, _ bytes: [UInt8]) {
        unsafe withdraw()
        let size = MemoryLayout<Record>.stride
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size + bytes.count, alignment: 16)
        unsafe memory.storeBytes(
            of: Record(input: input, output: output, attributes: attributes, count: bytes.count), as: Record.self)
        unsafe bytes.withUnsafeBytes { source in
            if let start = source.baseAddress {
                unsafe (memory + size).copyMemory(from: start, byteCount: source.count)
            }
        }
        unsafe record.store(UInt(bitPattern: memory), ordering: .releasing)
    }

    func withdraw() {
        let address = unsafe record.exchange(0, ordering: .acquiringAndReleasing)
        unsafe UnsafeMutableRawPointer(bitPattern: address)?.deallocate()
    }

    /// Restores the terminal with async-signal-safe calls only.
    func restore() {
        let address = unsafe record.exchange(0, ordering: .acquiringAndReleasing)
        guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
        let known = unsafe memory.assumingMemoryBound(to: Record.self)
        let bytes = unsafe memory + MemoryLayout<Record>.stride
        unsafe discardBlockedOutput(known.pointee.output)
        _ = unsafe write(known.pointee.output, bytes, known.pointee.count)
        if unsafe known.pointee.input >= 0 {
            _ = unsafe tcsetattr(known.pointee.input, TCSANOW, &known.pointee.attributes)
        }
    }
}
