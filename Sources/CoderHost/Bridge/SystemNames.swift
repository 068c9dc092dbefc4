import CHostSystem
import Glibc

/// System calls by name, for messages.
enum SystemCall {
    static func name(_ number: Int) -> String {
        guard let number = Int32(exactly: number), let name = unsafe host_system_call_name(number) else {
            return "system call \(number)"
        }
        return unsafe "\(String(cString: name)) (system call \(number))"
    }
}

/// Signals by name, for messages.
package enum SignalName {
    private static let names: [Int32: String] = [
        SIGABRT: "SIGABRT", SIGALRM: "SIGALRM", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGHUP: "SIGHUP",
        SIGILL: "SIGILL", SIGINT: "SIGINT", SIGKILL: "SIGKILL", SIGPIPE: "SIGPIPE", SIGSEGV: "SIGSEGV",
        SIGSYS: "SIGSYS", SIGTERM: "SIGTERM", SIGTRAP: "SIGTRAP", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ",
    ]

    package static func of(_ number: Int32) -> String { names[number] ?? "signal \(number)" }
}
