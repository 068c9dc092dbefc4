import Glibc
import Synchronization

/// The size of a terminal's window; pixels are 0 where it does not say.
package struct TerminalSize: Sendable, Hashable {
    package var columns: Int
    package var rows: Int
    package var pixelWidth: Int
    package var pixelHeight: Int

    package init(columns: Int, rows: Int, pixelWidth: Int = 0, pixelHeight: Int = 0) {
        self.columns = columns
        self.rows = rows
        self.pixelWidth = pixelWidth
        self.pixelHeight = pixelHeight
    }
}

/// A terminal that is borrowed: typed keys come at once and unseen, and whatever happens it is given back as it was.
///
/// One is in use at a time. Signals are only noted; ``wait(nanoseconds:)`` tells of them. Where the program no longer
/// listens, the second request to end it restores the terminal and ends it, and so does a crash.
///
/// - Concurrency: one thread.
package final class TerminalDevice {
    /// Why ``wait(nanoseconds:)`` came back.
    package struct Wake: Sendable {
        package var isReadable = false
        package var signals: [Int32] = []
    }

    private let input: Int32
    private let output: Int32
    /// The same terminal, opened once more so that writing never blocks: that is a property of what was opened, and
    /// standard output is other programs' as well.
    private var screen: Int32 = -1
    /// What is written first and last.
    private let entering: [UInt8]
    private let leaving: [UInt8]
    private let hasKeys: Bool
    private var original = termios()
    /// What the terminal is set to meanwhile.
    private var borrowed = termios()
    private var handlers: [(signal: Int32, old: sigaction)] = []
    private var pipe: [Int32] = [-1, -1]
    private var isEntered = false
    private var inputEnded = false

    /// Does nothing yet.
    ///
    /// - Parameter input: where keys are read, if that is a terminal.
    package init(input: Int32 = STDIN_FILENO, output: Int32 = STDOUT_FILENO, entering: [UInt8], leaving: [UInt8]) {
        self.input = input
        self.output = output
        self.entering = entering
        self.leaving = leaving
        hasKeys = isatty(input) == 1
    }

    deinit { leave() }

    /// Whether keys can be typed.
    package var takesKeys: Bool { hasKeys && !inputEnded }

    /// How wide the window is that a descriptor leads to; nil where it leads to none.
    package static func columns(of descriptor: Int32) -> Int? {
        var window = winsize()
        guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0 else { return nil }
        return Int(window.ws_col)
    }

    /// The window's size now; nil where it is not known.
    package var size: TerminalSize? {
        var window = winsize()
        guard unsafe ioctl(output, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return nil
        }
        return TerminalSize(
            columns: Int(window.ws_col), rows: Int(window.ws_row), pixelWidth: Int(window.ws_xpixel),
            pixelHeight: Int(window.ws_ypixel))
    }

    // MARK: Borrowing

    /// Takes the terminal.
    package func enter() throws(SystemError) {
        guard !isEntered else { return }
        if pipe[0] < 0 {
            if unsafe Glibc.pipe(&pipe) != 0 { throw .last }
            for end in pipe {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
        }
        var raw = termios()
        if hasKeys {
            if unsafe tcgetattr(input, &raw) != 0 { throw .last }
            original = raw
            // Keys that send signals stay: they work while a coder works, too.
            raw.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
            raw.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | ISTRIP)
            unsafe withUnsafeMutableBytes(of: &raw.c_cc) { codes in
                unsafe codes[Int(VMIN)] = 0
                unsafe codes[Int(VTIME)] = 0
            }
            borrowed = raw
        }
        unsafe lent.publish(input: hasKeys ? input : -1, output: output, original, leaving)
        wakeEnd.store(pipe[1], ordering: .relaxed)
        pendingSignals.store(0, ordering: .relaxed)
        isEntered = true
        catchSignals()
        if hasKeys, unsafe tcsetattr(input, TCSADRAIN, &raw) != 0 {
            let problem = SystemError.last
            leave()
            throw problem
        }
        screen = reopened()
        write(entering)
    }

    private func reopened() -> Int32 {
        var name = [CChar](repeating: 0, count: 256)
        guard unsafe ttyname_r(output, &name, name.count) == 0 else { return -1 }
        return unsafe open(name, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    }

    /// Gives the terminal back, after 200 ms even if it takes nothing.
    ///
    /// - Parameter discardsInput: whether what was typed meanwhile is dropped, for answers that came too late.
    package func leave(discardsInput: Bool = false) {
        guard isEntered else { return }
        isEntered = false
        clearWay(output)
        write(leaving, patience: 10)
        if screen >= 0 { close(screen) }
        screen = -1
        if hasKeys { _ = unsafe tcsetattr(input, discardsInput ? TCSAFLUSH : TCSADRAIN, &original) }
        unsafe lent.withdraw()
        for (signal, old) in handlers {
            var old = old
            _ = unsafe sigaction(signal, &old, nil)
        }
        handlers = []
        wakeEnd.store(-1, ordering: .relaxed)
        for end in pipe where end >= 0 { close(end) }
        pipe = [-1, -1]
    }

    /// Gives the terminal back, stops the process as its user asked, and takes the terminal again.
    package func suspend() throws(SystemError) {
        leave()
        raise(SIGTSTP)
        try enter()
    }

    /// Sets again what somebody changed while the process stood still without having been asked.
    private func takeAgain() {
        guard isEntered else { return }
        // In the background this stops the process until it is in front again, and is then interrupted.
        while hasKeys, unsafe tcsetattr(input, TCSADRAIN, &borrowed) != 0, errno == EINTR, pendingEnd == nil {}
        write(entering)
    }

    /// Ends the process in the way a signal would have.
    package func end(by signal: Int32) -> Never {
        leave()
        Glibc.signal(signal, SIG_DFL)
        raise(signal)
        _exit(128 + signal)
    }

    // MARK: Input and output

    /// Waits for keys or signals; nil waits without an end.
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
        if wake.signals.contains(SIGCONT) { takeAgain() }
        return wake
    }

    /// What was typed or answered and not read yet.
    package func read() -> [UInt8] {
        guard takesKeys else { return [] }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = unsafe Glibc.read(input, &buffer, buffer.count)
        if count < 0 {
            if errno != EINTR && errno != EAGAIN { inputEnded = true }
            return []
        }
        // Nothing to read although something woke us: the other side went away.
        if count == 0 { inputEnded = hasHungUp }
        return Array(buffer[..<count])
    }

    private var hasHungUp: Bool {
        var entry = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0 && entry.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0
    }

    /// A signal that shall end the process and was not told of yet.
    package var pendingEnd: Int32? {
        let pending = pendingSignals.load(ordering: .relaxed) & endings
        return Self.caught.first { pending & 1 << UInt64($0) != 0 }
    }

    /// Writes all of it; false when the terminal is gone, or when the process shall end.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool { write(bytes, patience: nil) }

    /// - Parameter patience: after how many tenths of a second without progress to give up; nil for none, but then a
    ///   signal that ends the process is a reason.
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
    /// Also those of real time, whose meaning is anybody's and which end a process, too; glibc keeps 32 and 33.
    private static let crashes = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGSYS] + Array(34...64)

    private func catchSignals() {
        _ = exitHandler
        // What a handler touches has to be there before.
        _ = endings
        for signal in Self.caught { install(signal, 0) { noteSignal($0) } }
        // Once: what comes second ends the process.
        for signal in Self.crashes {
            install(signal, Int32(bitPattern: UInt32(SA_RESETHAND))) { signal in
                unsafe lent.restore()
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
        // What somebody chose to ignore, as nohup does, stays ignored.
        if unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) == 1 { return }
        if unsafe sigaction(signal, &new, &old) == 0 { handlers.append((signal, old)) }
    }
}

// MARK: What handlers touch

/// Signals since the last look, a bit for each.
private let pendingSignals = Atomic<UInt64>(0)
private let wakeEnd = Atomic<Int32>(-1)
/// Signals that end a process unless it says otherwise, except crashes; signal(7).
private let endingSignals = [
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO, SIGPWR, SIGSTKFLT,
]
private let endings = endingSignals.reduce(into: UInt64(0)) { $0 |= 1 << UInt64($1) }
private let lent = unsafe LentTerminal()
/// A library that ends the process leaves a usable terminal, too.
private let exitHandler: Void = {
    _ = atexit { unsafe lent.restore() }
}()

private func noteSignal(_ signal: Int32) {
    let saved = errno
    let bit = UInt64(1) << UInt64(signal)
    let before = pendingSignals.bitwiseOr(bit, ordering: .relaxed).oldValue
    if before & bit & endings != 0 {
        // Asked twice, and nobody looked: a coder hangs, or the terminal takes nothing.
        unsafe lent.restore()
        Glibc.signal(signal, SIG_DFL)
        raise(signal)
    }
    var byte: UInt8 = 0
    _ = unsafe write(wakeEnd.load(ordering: .relaxed), &byte, 1)
    errno = saved
}

/// Drops what waits to be shown where the terminal takes nothing any more, so that nobody waits for ever.
private func clearWay(_ output: Int32) {
    var entry = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
    if unsafe poll(&entry, 1, 200) <= 0 { tcflush(output, TCOFLUSH) }
}

/// How the terminal was, for a process that ends without a chance to say so.
// Sendable because: what is published never changes while it can be reached.
@unsafe private final class LentTerminal: @unchecked Sendable {
    private struct Record {
        var input: Int32
        var output: Int32
        var attributes: termios
        var count: Int
    }

    private let record = Atomic<UInt>(0)

    /// The record and, behind it, the bytes to write, in one piece of memory.
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

    /// Calls only what a signal handler may call.
    func restore() {
        let address = unsafe record.exchange(0, ordering: .acquiringAndReleasing)
        guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: address) else { return }
        let known = unsafe memory.assumingMemoryBound(to: Record.self)
        let bytes = unsafe memory + MemoryLayout<Record>.stride
        unsafe clearWay(known.pointee.output)
        _ = unsafe write(known.pointee.output, bytes, known.pointee.count)
        if unsafe known.pointee.input >= 0 {
            _ = unsafe tcsetattr(known.pointee.input, TCSANOW, &known.pointee.attributes)
        }
    }
}
