import CCoderPlugin
import Glibc
import HostSystem

/// The services of one session, which count all calls and fail on demand.
@safe final class Services {
    /// The calls that fail.
    struct Policy {
        /// The number of the first failing allocation, from 0; later ones also fail.
        var failsAllocation: Int?
        /// Whether only that allocation fails.
        var failsOnce = false
        /// The number of the first failing memory report, from 0; later ones also fail.
        var refusesBudget: Int?
        /// The number of the first poll that returns `stop`, from 0; later ones do as well.
        var stopsAtPoll: Int?
        var stop = CPI_CANCELLED
        /// The result of thread_hint.
        var threads: UInt32 = 2
    }

    /// The counts of all calls.
    struct Meter {
        /// The calls of `allocate` and `release`.
        struct Memory {
            var calls = 0
            /// The size of each allocated block.
            var live: [UInt: Int] = [:]
            var bytes = 0
            var peak = 0
            /// An invalid release, or a write outside of a block.
            var wrongRelease: String?
        }

        /// The calls of `budget`, which report memory from elsewhere.
        struct Reports {
            var calls = 0
            var bytes = 0
            var peak = 0
            var refused = 0
        }

        /// The calls of `poll`.
        struct Polls {
            var calls = 0
            var afterStop = 0
            /// When `poll` first returned the stop.
            var stoppedAt: UInt64 = 0
            /// The longest processor time between two polls, in nanoseconds.
            var longestGap: UInt64 = 0
            var last: UInt64 = 0
        }

        var memory = Memory()
        var reports = Reports()
        var polls = Polls()
        var warnings: [String] = []
        var hasWrongProgress = false
        /// Whether the session is closed, and the last call after that.
        var isClosed = false
        var afterClose: String?
    }

    let policy: Policy
    private let state: Mutex<Meter>
    private var table: GuardedStruct<cpi_services>!
    private var bounds: GuardedStruct<cpi_limits>!

    var pointer: UnsafePointer<cpi_services> { unsafe UnsafePointer(table.pointer) }
    var limitsPointer: UnsafePointer<cpi_limits> { unsafe UnsafePointer(bounds.pointer) }
    var meter: Meter { state.withLock { $0 } }

    /// Starts measuring the time between two polls.
    func startClock() { state.withLock { $0.polls.last = threadNanoseconds() } }
    func stopClock() {
        state.withLock { meter in
            meter.polls.longestGap = max(meter.polls.longestGap, threadNanoseconds() &- meter.polls.last)
        }
    }
    func close() { state.withLock { $0.isClosed = true } }

    init(
        _ policy: Policy = Policy(), limits: cpi_limits = cpi_limits(), shape: StructVersion = .current,
        flags: UInt32 = 0
    ) {
        self.policy = policy
        state = Mutex(Meter())
        bounds = GuardedStruct(limits, shape)
        let services = unsafe cpi_services(
            size: 0, flags: flags, ctx: Unmanaged.passUnretained(self).toOpaque(),
            allocate: { ctx, count in unsafe Services.from(ctx).allocate(count) },
            release: { ctx, memory in unsafe Services.from(ctx).release(memory) },
            budget: { ctx, delta in unsafe Services.from(ctx).budget(delta) },
            poll: { ctx in unsafe Services.from(ctx).poll() },
            log: { ctx, severity, message in
                let text = unsafe String(cString: message)
                unsafe Services.from(ctx).state.withLock { meter in
                    if severity >= CPI_LOG_WARNING { meter.warnings.append(text) }
                    if meter.isClosed { meter.afterClose = "log" }
                }
            },
            progress: { ctx, done, total in
                unsafe Services.from(ctx).state.withLock { if done > total { $0.hasWrongProgress = true } }
            },
            now: { _ in wallNanoseconds() }, thread_hint: { ctx in unsafe Services.from(ctx).policy.threads })
        unsafe table = GuardedStruct(services, shape)
    }

    private static func from(_ ctx: UnsafeMutableRawPointer?) -> Services {
        unsafe Unmanaged<Services>.fromOpaque(ctx!).takeUnretainedValue()
    }

    // MARK: Calls of the plugin

    private static let frame = 16
    private static let pattern: UInt8 = 0xA5

    private func allocate(_ count: UInt64) -> UnsafeMutableRawPointer? {
        unsafe state.withLock { meter in
            let number = meter.memory.calls
            meter.memory.calls += 1
            if meter.isClosed { meter.afterClose = "allocate" }
            if let first = policy.failsAllocation, policy.failsOnce ? number == first : number >= first { return nil }
            let limit = bounds.value.max_total_alloc
            guard let size = Int(exactly: count), size < 1 << 40,
                limit == 0 || meter.memory.bytes + meter.reports.bytes + size <= Int(clamping: limit),
                let memory = unsafe malloc(size + 2 * Self.frame)
            else { return nil }
            // Fill with a pattern, so that no byte is zero by accident and writes past the end are detected.
            unsafe memset(memory, Int32(Self.pattern), size + 2 * Self.frame)
            let start = unsafe memory + Self.frame
            meter.memory.live[UInt(bitPattern: start)] = size
            meter.memory.bytes += size
            meter.memory.peak = max(meter.memory.peak, meter.memory.bytes)
            return unsafe start
        }
    }

    private func release(_ memory: UnsafeMutableRawPointer?) {
        guard let memory = unsafe memory else { return }
        state.withLock { meter in
            if meter.isClosed { meter.afterClose = "release" }
            guard let size = meter.memory.live.removeValue(forKey: UInt(bitPattern: memory)) else {
                meter.memory.wrongRelease = "it released memory that was not allocated, or was already released"
                return
            }
            meter.memory.bytes -= size
            for at in 0..<Self.frame {
                let before = unsafe (memory - Self.frame).load(fromByteOffset: at, as: UInt8.self)
                let behind = unsafe (memory + size).load(fromByteOffset: at, as: UInt8.self)
                if before != Self.pattern || behind != Self.pattern {
                    meter.memory.wrongRelease = "it wrote outside of an allocated block of \(size) bytes"
                }
            }
            unsafe free(memory - Self.frame)
        }
    }

    private func budget(_ delta: Int64) -> cpi_status {
        state.withLock { meter in
            if delta > 0 {
                let number = meter.reports.calls
                meter.reports.calls += 1
                let limit = bounds.value.max_total_alloc
                let isOver = limit > 0 && meter.memory.bytes + meter.reports.bytes + Int(delta) > Int(clamping: limit)
                if isOver || policy.refusesBudget.map({ number >= $0 }) == true {
                    meter.reports.refused += 1
                    return CPI_LIMIT
                }
            }
            meter.reports.bytes += Int(delta)
            meter.reports.peak = max(meter.reports.peak, meter.reports.bytes)
            return CPI_OK
        }
    }

    private func poll() -> cpi_status {
        state.withLock { meter in
            let now = threadNanoseconds()
            if meter.polls.last > 0, now > meter.polls.last {
                meter.polls.longestGap = max(meter.polls.longestGap, now - meter.polls.last)
            }
            meter.polls.last = now
            if meter.isClosed { meter.afterClose = "poll" }
            let number = meter.polls.calls
            meter.polls.calls += 1
            guard let first = policy.stopsAtPoll, number >= first else { return CPI_CONTINUE }
            if meter.polls.stoppedAt == 0 {
                meter.polls.stoppedAt = wallNanoseconds()
            } else {
                meter.polls.afterStop += 1
            }
            return policy.stop
        }
    }
}

private func nanoseconds(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The clock of `cpi_services.now`.
func wallNanoseconds() -> UInt64 { nanoseconds(CLOCK_MONOTONIC) }
/// The processor time of this thread, independent of the machine's load.
func threadNanoseconds() -> UInt64 { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }
/// The processor time of this process.
func processNanoseconds() -> UInt64 { nanoseconds(CLOCK_PROCESS_CPUTIME_ID) }
