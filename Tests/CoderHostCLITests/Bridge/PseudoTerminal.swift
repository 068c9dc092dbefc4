import Glibc

/// A pseudo terminal: the test reads the output and answers like a terminal.
final class PseudoTerminal {
    private let master: Int32
    /// Open, so that the test can read the settings after the program has ended.
    private let slave: Int32
    private let path: String
    private var child: pid_t = 0
    private(set) var output: [UInt8] = []
    /// The answer to a query for device attributes.
    private var answer: [UInt8]?

    struct Failure: Error {}

    init(columns: Int = 80, rows: Int = 24, pixels: (width: Int, height: Int) = (0, 0)) throws {
        let end = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var number: UInt32 = 0
        var locked: Int32 = 0
        // linux/tty: TIOCSPTLCK and TIOCGPTN, as in grantpt(3) and ptsname(3).
        guard end >= 0, unsafe ioctl(end, 0x4004_5431, &locked) == 0, unsafe ioctl(end, 0x8004_5430, &number) == 0
        else {
            throw Failure()
        }
        master = end
        path = "/dev/pts/\(number)"
        slave = unsafe open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard slave >= 0 else { throw Failure() }
        _ = fcntl(master, F_SETFL, O_NONBLOCK)
        resize(columns: columns, rows: rows, pixels: pixels)
    }

    deinit {
        if child > 0 {
            kill(child, SIGKILL)
            var status: Int32 = 0
            _ = unsafe waitpid(child, &status, 0)
        }
        close(slave)
        close(master)
    }

    func resize(columns: Int, rows: Int, pixels: (width: Int, height: Int) = (0, 0)) {
        var size = winsize(
            ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: UInt16(pixels.width),
            ws_ypixel: UInt16(pixels.height))
        _ = unsafe ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    /// Whether canonical mode and echo are set.
    var isCooked: Bool {
        var settings = termios()
        guard unsafe tcgetattr(slave, &settings) == 0 else { return false }
        return settings.c_lflag & tcflag_t(ICANON) != 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Sets the attributes that a shell sets when it regains the terminal.
    func cook() {
        var settings = termios()
        guard unsafe tcgetattr(slave, &settings) == 0 else { return }
        settings.c_lflag |= tcflag_t(ICANON | ECHO)
        _ = unsafe tcsetattr(slave, TCSANOW, &settings)
    }

    /// Waits until the program is stopped; false after a timeout.
    func waitForStop() -> Bool {
        for _ in 0..<4000 {
            var status: Int32 = 0
            if unsafe waitpid(child, &status, WNOHANG | WUNTRACED) == child { return status & 0xFF == 0x7F }
            usleep(5_000)
        }
        return false
    }

    /// Starts a program with this terminal and its own environment.
    ///
    /// - Parameters:
    ///   - answer: the answer to its last query, for device attributes.
    ///   - input: a file for standard input, instead of the terminal.
    func start(
        _ command: [String], environment: [String: String], answer: [UInt8]? = nil, input: String? = nil
    ) throws {
        self.answer = answer
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that a session leader opens becomes its controlling terminal.
        unsafe posix_spawn_file_actions_addopen(&actions, 1, path, O_RDWR, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 0, input ?? path, input == nil ? O_RDWR : O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        var defaults = sigset_t()
        unsafe sigemptyset(&defaults)
        for signal in [SIGPIPE, SIGINT, SIGHUP, SIGQUIT] { unsafe sigaddset(&defaults, signal) }
        unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
        // glibc: POSIX_SPAWN_SETSID
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | 0x80))
        var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        // Options of sanitizers: suppressions and report files.
        var variables = environment
        for name in ["ASAN_OPTIONS", "TSAN_OPTIONS"] {
            if let value = unsafe getenv(name) { variables[name] = unsafe String(cString: value) }
        }
        var settings = unsafe variables.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            unsafe arguments.forEach { unsafe free($0) }
            unsafe settings.forEach { unsafe free($0) }
        }
        guard unsafe posix_spawnp(&child, command[0], &actions, &attributes, &arguments, &settings) == 0 else {
            throw Failure()
        }
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = unsafe write(master, bytes, bytes.count)
    }

    func signal(_ number: Int32) { kill(child, number) }

    /// Reads until the output satisfies `isEnough`; false after a timeout.
    @discardableResult
    func read(until isEnough: (String) -> Bool) -> Bool {
        for _ in 0..<2000 {
            take()
            if isEnough(text) { return true }
            var entry = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            _ = unsafe poll(&entry, 1, 10)
        }
        return false
    }

    var text: String { String(decoding: output, as: UTF8.self) }

    /// Waits until the program ends.
    ///
    /// - Parameter reads: whether to read its output in the meantime.
    /// - Returns: the exit status, or the negative number of the ending signal; nil after a timeout.
    func wait(reads: Bool = true) -> Int32? {
        for _ in 0..<4000 {
            if reads { take() }
            var status: Int32 = 0
            if unsafe waitpid(child, &status, WNOHANG) == child {
                child = 0
                take()
                return status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
            }
            usleep(5_000)
        }
        return nil
    }

    private func take() {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe Glibc.read(master, &chunk, chunk.count)
            guard count > 0 else { break }
            output.append(contentsOf: chunk[..<count])
        }
        guard let answer, text.contains("\u{1B}[c") else { return }
        self.answer = nil
        _ = unsafe write(master, answer, answer.count)
    }
}
