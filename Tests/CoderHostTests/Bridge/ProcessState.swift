import Glibc
import TestSupport

/// The process state that a plugin could change.
struct ProcessState: Equatable {
    var mask: String?
    var locale: String
    var mark: String?
    var folder: String
    /// Whether SIGTERM has its default action.
    var termination: Bool

    init() {
        let status = readFile("/proc/self/status").map { String(decoding: $0, as: UTF8.self) } ?? ""
        mask = status.split(separator: "\n").first { $0.hasPrefix("Umask") }.map(String.init)
        locale = unsafe setlocale(LC_ALL, nil).map { unsafe String(cString: $0) } ?? ""
        mark = unsafe getenv("FAULTY_WAS_HERE").map { unsafe String(cString: $0) }
        folder =
            unsafe getcwd(nil, 0).map { path in
                defer { unsafe free(path) }
                return unsafe String(cString: path)
            } ?? ""
        var action = sigaction()
        unsafe sigaction(SIGTERM, nil, &action)
        termination = unsafe action.__sigaction_handler.sa_handler == nil
    }
}

/// The processes with this name, oldest first.
func processes(named name: String) -> [pid_t] {
    guard let listing = try? run(["pgrep", "-x", String(name.prefix(15))]) else { return [] }
    return listing.stdout.split(separator: "\n").compactMap { pid_t($0) }.sorted()
}

func killProcess(_ process: pid_t) { kill(process, SIGKILL) }

func pause(milliseconds: UInt32) { usleep(milliseconds * 1000) }
