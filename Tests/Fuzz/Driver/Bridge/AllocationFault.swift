import Glibc

/// The library of `Tests/AllocationFailure`, if this process was started with it in `LD_PRELOAD`.
struct AllocationFault {
    private typealias Arm = @convention(c) (UInt64, UInt64) -> Void
    private typealias Number = @convention(c) () -> UInt64

    private let arm: Arm
    private let disarm: Number
    private let bytes: Number
    private let failures: Number

    /// Nil if the library is not loaded.
    init?() {
        guard let arm = unsafe dlsym(nil, "allocation_fault_arm"),
            let disarm = unsafe dlsym(nil, "allocation_fault_disarm"),
            let bytes = unsafe dlsym(nil, "allocation_fault_bytes"),
            let failures = unsafe dlsym(nil, "allocation_fault_failures")
        else { return nil }
        self.arm = unsafe unsafeBitCast(arm, to: Arm.self)
        self.disarm = unsafe unsafeBitCast(disarm, to: Number.self)
        self.bytes = unsafe unsafeBitCast(bytes, to: Number.self)
        self.failures = unsafe unsafeBitCast(failures, to: Number.self)
    }

    struct Count {
        var allocations: Int
        var bytes: Int
        var failures: Int
    }

    /// Runs `body` while one allocation fails, or each that would raise the sum of bytes above `most`; 0 means none.
    func run<R>(nth: Int, most: Int, _ body: () -> R) -> (R, Count) {
        arm(UInt64(nth), UInt64(most))
        let result = body()
        let allocations = disarm()
        return (result, Count(allocations: Int(allocations), bytes: Int(bytes()), failures: Int(failures())))
    }
}
