import CConformance
import CoderHost
import Glibc

/// The process state that a plugin must not change.
@safe struct ProcessState {
    var locale: String
    var folder: String
    var environment: [String]
    var limits: [String: [UInt64]]
    var descriptors: [Int32: [UInt64]]
    private let raw: kit_state

    /// Constant with a sanitizer, which does not return freed memory.
    static var residentBytes: Int { isSanitized ? 0 : Int(kit_resident_bytes()) }
    static var threadCount: Int { Int(kit_thread_count()) }
    static var isSanitized: Bool { kit_is_sanitized() != 0 }

    init() {
        locale = unsafe setlocale(LC_ALL, nil).map { unsafe String(cString: $0) } ?? ""
        folder =
            unsafe getcwd(nil, 0).map { path in
                defer { unsafe free(path) }
                return unsafe String(cString: path)
            } ?? ""
        environment = Self.environment()
        limits = Self.limits()
        descriptors = Self.descriptors()
        var state = kit_state()
        unsafe kit_state_read(&state)
        raw = state
    }

    var fileModeMask: UInt32 { raw.file_mode_mask }
    var rounding: UInt64 { raw.rounding }
    var blockedSignals: UInt64 { raw.mask }

    /// Returns the signals whose disposition has changed.
    func changedSignals(since before: ProcessState) -> [String] {
        var (a, b) = (before.raw, raw)
        return (1..<Int32(KIT_SIGNALS)).filter { number in
            unsafe kit_state_handler(&a, number) != kit_state_handler(&b, number)
        }.map(SignalName.of)
    }

    /// The open descriptors with their identities.
    static func descriptors() -> [Int32: [UInt64]] {
        var result: [Int32: [UInt64]] = [:]
        for number in Int32(0)..<1024 {
            var status = stat()
            if unsafe fstat(number, &status) == 0 {
                result[number] = [UInt64(status.st_dev), UInt64(status.st_ino), UInt64(status.st_mode)]
            }
        }
        return result
    }

    /// Opens descriptors all over the range, so that a plugin that closes them is detected.
    static func openSomeDescriptors() {
        for number in [7, 40, 111, 200] as [Int32] { _ = dup2(0, number) }
    }

    private static func environment() -> [String] {
        var result: [String] = []
        var entry = unsafe environ
        while let text = unsafe entry.pointee {
            unsafe result.append(String(cString: text))
            unsafe entry += 1
        }
        return result.sorted()
    }

    private static func limits() -> [String: [UInt64]] {
        let names: [(String, __rlimit_resource)] = [
            ("CPU", RLIMIT_CPU), ("FSIZE", RLIMIT_FSIZE), ("DATA", RLIMIT_DATA), ("STACK", RLIMIT_STACK),
            ("CORE", RLIMIT_CORE), ("NOFILE", RLIMIT_NOFILE), ("AS", RLIMIT_AS),
        ]
        var result: [String: [UInt64]] = [:]
        for (name, number) in names {
            var limit = rlimit()
            if unsafe getrlimit(Int32(number.rawValue), &limit) == 0 {
                result[name] = [UInt64(limit.rlim_cur), UInt64(limit.rlim_max)]
            }
        }
        return result
    }

    static func pause(milliseconds: UInt32) { usleep(milliseconds * 1000) }

    /// Ends the process like a normal program, so that registered exit handlers run.
    static func leaveNormally() -> Never { exit(0) }
}
