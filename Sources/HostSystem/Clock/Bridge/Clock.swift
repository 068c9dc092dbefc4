import Glibc

/// Returns the nanoseconds of the monotonic clock.
package func monotonicNow() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Returns the seconds of processor time that this process has used.
package func processorSeconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Returns the milliseconds since 1970 of the calendar clock.
@Sendable package func wallMilliseconds() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
}

/// Blocks until a next change of a file gives it another time than `changed`, in nanoseconds since 1970.
///
/// The times of files advance in steps of a few milliseconds. A file that is replaced within one step can keep its
/// identity, and a reader would take the new bytes for the old ones.
package func waitForNextFileTime(after changed: Int) {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    let age = (Int(time.tv_sec) &* 1_000_000_000 &+ Int(time.tv_nsec)) &- changed
    guard age >= 0, age < fileTimeStep else { return }
    usleep(UInt32((fileTimeStep - age) / 1000))
}

/// Twice the longest step of Linux, that of 100 interrupts per second.
private let fileTimeStep = 20_000_000

/// Formats milliseconds since 1970 as `2026-11-21T20:15:47Z`.
package func wallText(_ milliseconds: Int) -> String { CivilTime.text(milliseconds: milliseconds) }
