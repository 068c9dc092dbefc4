import Glibc
import HostSystem

/// The result of a program that a test started.
public struct CommandResult: Sendable {
    /// The exit status, or the negative number of the signal that ended it.
    public var status: Int32
    /// Whether the program was killed after the timeout.
    public var timedOut: Bool
    /// The bytes of standard output.
    public var output: [UInt8]
    /// The bytes of standard error.
    public var errors: [UInt8]

    /// The text of standard output.
    public var stdout: String { String(decoding: output, as: UTF8.self) }
    /// The text of standard error.
    public var stderr: String { String(decoding: errors, as: UTF8.self) }
}

/// A program could not be started.
public struct CommandFailure: Error, CustomStringConvertible {
    /// The reason.
    public var description: String
}

/// Runs a program and returns its output.
///
/// The program has its own process group, so that a timeout also ends the processes that it started.
///
/// - Parameters:
///   - command: The program, looked up in PATH, and its arguments.
///   - input: The bytes for standard input.
///   - directory: The working directory; nil for the one of the tests.
///   - environment: Changes of the tests' environment; nil removes a variable.
/// - Throws: CommandFailure when the program cannot be started.
public func run(
    _ command: [String], input: [UInt8] = [], directory: String? = nil, environment: [String: String?] = [:],
    timeout: Duration = .seconds(60)
) throws -> CommandResult {
    _ = ignoreBrokenPipes
    let stdin = try Pipe()
    let stdout = try Pipe()
    let stderr = try Pipe()
    let child = try spawn(
        (directory.map { ["env", "-C", $0] } ?? []) + command, stdin: stdin.reader, stdout: stdout.writer,
        stderr: stderr.writer, environment: environment)
    stdin.closeReader()
    stdout.closeWriter()
    stderr.closeWriter()

    let deadline = ContinuousClock.now + timeout
    var result = CommandResult(status: 0, timedOut: false, output: [], errors: [])
    var rest = input[...]
    if rest.isEmpty { stdin.closeWriter() } else { _ = fcntl(stdin.writer, F_SETFL, O_NONBLOCK) }
    while stdout.reader >= 0 || stderr.reader >= 0 {
        // poll skips a negative descriptor.
        var waiting = [
            pollfd(fd: stdout.reader, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stderr.reader, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stdin.writer, events: Int16(POLLOUT), revents: 0),
        ]
        let left = ContinuousClock.now.duration(to: deadline)
        if left <= .zero { break }
        let milliseconds = Int32(clamping: left.components.seconds * 1000 + 1)
        if unsafe poll(&waiting, 3, min(milliseconds, 1000)) <= 0 { continue }
        if waiting[0].revents != 0, !stdout.take(into: &result.output) { stdout.closeReader() }
        if waiting[1].revents != 0, !stderr.take(into: &result.errors) { stderr.closeReader() }
        if waiting[2].revents != 0, !stdin.give(&rest) { stdin.closeWriter() }
    }

    var status: Int32 = 0
    while unsafe waitpid(child, &status, WNOHANG) == 0 {
        if ContinuousClock.now >= deadline {
            result.timedOut = true
            _ = kill(-child, SIGKILL)
            _ = unsafe waitpid(child, &status, 0)
            break
        }
        usleep(500)
    }
    // The low seven bits are the signal, the next byte the exit status; waitpid(2) has macros for this.
    result.status = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
    return result
}

/// Ignores SIGPIPE, so that a test survives a program that stops reading.
private let ignoreBrokenPipes: Void = {
    _ = signal(SIGPIPE, SIG_IGN)
}()

/// Held while a pipe is created and while a program starts. Otherwise a program of a concurrent test could inherit the
/// writing end, and the reader would never reach the end.
private let starting = Mutex(())

/// A pipe whose ends are not inherited; a closed end is -1.
private final class Pipe {
    private(set) var reader: Int32
    private(set) var writer: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        let failed = starting.withLock { _ in
            let failed = unsafe pipe(&ends)
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            return failed != 0
        }
        if failed { throw CommandFailure(description: "cannot create a pipe") }
        (reader, writer) = (ends[0], ends[1])
    }

    deinit {
        closeReader()
        closeWriter()
    }

    func closeReader() {
        if reader >= 0 { close(reader) }
        reader = -1
    }

    func closeWriter() {
        if writer >= 0 { close(writer) }
        writer = -1
    }

    /// Reads available bytes; returns false at the end.
    func take(into bytes: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = unsafe chunk.withUnsafeMutableBytes { unsafe read(reader, $0.baseAddress, $0.count) }
        if count > 0 { bytes.append(contentsOf: chunk[..<count]) }
        return count > 0
    }

    /// Writes as many bytes as fit; returns false when all are written.
    func give(_ bytes: inout ArraySlice<UInt8>) -> Bool {
        let count = unsafe bytes.withUnsafeBytes { unsafe write(writer, $0.baseAddress, $0.count) }
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        bytes = bytes.dropFirst(count)
        return !bytes.isEmpty
    }
}

private func spawn(
    _ command: [String], stdin: Int32, stdout: Int32, stderr: Int32, environment: [String: String?]
) throws -> pid_t {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, stdin, 0)
    unsafe posix_spawn_file_actions_adddup2(&actions, stdout, 1)
    unsafe posix_spawn_file_actions_adddup2(&actions, stderr, 2)
    // Do not pass on sockets of servers in other tests; they would use up the program's descriptors.
    for descriptor in openDescriptors() where descriptor > 2 {
        unsafe posix_spawn_file_actions_addclose(&actions, descriptor)
    }

    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var defaults = sigset_t()
    unsafe sigemptyset(&defaults)
    unsafe sigaddset(&defaults, SIGPIPE)
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    // Test threads block signals. Without this reset, the program would inherit the mask and could not be ended by a
    // signal.
    var blocked = sigset_t()
    unsafe sigemptyset(&blocked)
    unsafe posix_spawnattr_setsigmask(&attributes, &blocked)
    unsafe posix_spawnattr_setpgroup(&attributes, 0)
    unsafe posix_spawnattr_setflags(
        &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))

    var variables = currentEnvironment()
    for (name, value) in environment { variables[name] = value }
    var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
    var settings = unsafe variables.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
    defer {
        unsafe arguments.forEach { unsafe free($0) }
        unsafe settings.forEach { unsafe free($0) }
    }
    var child: pid_t = 0
    var failure = ETXTBSY
    // A copied program is busy while a forked child of another test still holds its file; retry.
    for _ in 0..<100 where failure == ETXTBSY {
        failure = starting.withLock { _ in
            unsafe posix_spawnp(&child, command[0], &actions, &attributes, &arguments, &settings)
        }
        if failure == ETXTBSY { usleep(20_000) }
    }
    guard failure == 0 else {
        let reason = unsafe String(cString: strerror(failure))
        throw CommandFailure(description: "\(command[0]) cannot be started: \(reason)")
    }
    return child
}

private func currentEnvironment() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = unsafe environ
    while let text = unsafe entry.pointee {
        let pair = unsafe String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if pair.count == 2 { variables[String(pair[0])] = String(pair[1]) }
        unsafe entry += 1
    }
    return variables
}

/// The open descriptors of this process, as far as they are visible.
private func openDescriptors() -> [Int32] {
    guard let folder = unsafe opendir("/proc/self/fd") else { return [] }
    defer { unsafe closedir(folder) }
    var result: [Int32] = []
    while let entry = unsafe readdir(folder) {
        let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if let number = Int32(name) { result.append(number) }
    }
    return result
}
