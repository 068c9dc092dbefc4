import CHostSystem
import Glibc

/// Names of system calls for messages.
package enum SystemCall {
    package static func name(_ number: Int) -> String {
        guard let number = Int32(exactly: number), let name = unsafe host_system_call_name(number) else {
            return "system call \(number)"
        }
        return unsafe "\(String(cString: name)) (system call \(number))"
    }
}

/// System calls that the sandbox refused without ending the plugin, if the policy records them. The conformance kit
/// uses this list; it has one plugin per process.
package enum RefusedCalls {
    private static let seen = Mutex<[Int]>([])

    package static func note(_ numbers: [Int]) {
        if numbers.isEmpty { return }
        seen.withLock { seen in
            for number in numbers where !seen.contains(number) && seen.count < 64 { seen.append(number) }
        }
    }

    /// The names, in the order of the first refusals.
    package static var names: [String] { seen.withLock { $0 }.map(SystemCall.name) }
}

/// Names of signals for messages.
package enum SignalName {
    private static let names: [Int32: String] = [
        SIGABRT: "SIGABRT", SIGALRM: "SIGALRM", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGHUP: "SIGHUP",
        SIGILL: "SIGILL", SIGINT: "SIGINT", SIGKILL: "SIGKILL", SIGPIPE: "SIGPIPE", SIGSEGV: "SIGSEGV",
        SIGSYS: "SIGSYS", SIGTERM: "SIGTERM", SIGTRAP: "SIGTRAP", SIGXCPU: "SIGXCPU", SIGXFSZ: "SIGXFSZ",
    ]

    package static func of(_ number: Int32) -> String { names[number] ?? "signal \(number)" }
}
