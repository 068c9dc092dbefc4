import Glibc

/// Another process of this program, which may crash.
struct Child {
    private let identifier: pid_t

    enum End: Equatable {
        case status(Int32)
        case signal(Int32)
        /// Ended because its progress did not change for too long.
        case stuck
    }

    /// - Parameter variables: added to the environment.
    init(_ arguments: [String], variables: [String]) {
        var environment: [String] = []
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            unsafe environment.append(String(cString: text))
            unsafe entry += 1
        }
        var words = unsafe (["/proc/self/exe"] + arguments).map { unsafe strdup($0) } + [nil]
        var names = unsafe (variables + environment).map { unsafe strdup($0) } + [nil]
        defer { unsafe (words + names).forEach { unsafe free($0) } }
        var child: pid_t = 0
        guard unsafe posix_spawn(&child, "/proc/self/exe", nil, nil, &words, &names) == 0 else {
            fatalError("this program cannot be started again")
        }
        identifier = child
    }

    /// Waits for its end, and kills it if `progress` does not change for this many seconds.
    func wait(patience: Int, progress: () -> Int) -> End {
        var status: Int32 = 0
        var (last, still) = (progress(), 0)
        while unsafe waitpid(identifier, &status, WNOHANG) == 0 {
            usleep(10_000)
            let now = progress()
            still = now == last ? still + 1 : 0
            last = now
            if still > patience * 100 {
                kill(identifier, SIGKILL)
                unsafe waitpid(identifier, &status, 0)
                return .stuck
            }
        }
        // The low seven bits are the signal, the next byte the exit status; waitpid(2) has macros for it.
        return status & 0x7F == 0 ? .status((status >> 8) & 0xFF) : .signal(status & 0x7F)
    }
}

/// The processor time of this process's children in seconds.
func childProcessorSeconds() -> Double {
    var usage = rusage()
    _ = unsafe getrusage(__rusage_who_t(-1), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

func save(_ bytes: [UInt8], to path: String) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { fatalError("\(path) cannot be opened for writing") }
    _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
}

func append(_ bytes: [UInt8], to path: String) {
    let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
    guard descriptor >= 0 else { fatalError("\(path) cannot be opened for writing") }
    _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
}

func makeFolder(_ path: String) { unsafe mkdir(path, 0o755) }

/// Removes a file or an empty folder.
func remove(_ path: String) { if unsafe unlink(path) != 0 { unsafe rmdir(path) } }

func move(_ path: String, to other: String) { unsafe rename(path, other) }

func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}
