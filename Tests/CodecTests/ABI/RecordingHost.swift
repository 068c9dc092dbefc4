import CCoderPlugin
@testable import CoderPluginKit

/// A host that records warnings, the number of polls, and the reserved memory.
@safe final class RecordingHost {
    private(set) var warnings: [String] = []
    private(set) var polls = 0
    private(set) var reserved = 0
    /// The maximum memory reserved at one time.
    private(set) var mostReserved = 0
    private let allowedPolls: Int
    private let allowedMemory: Int
    private let threads: Int
    // Never freed: a session may poll during its whole lifetime.
    private let table = UnsafeMutablePointer<cpi_services>.allocate(capacity: 1)

    /// - Parameters:
    ///   - allowedPolls: the number of polls that continue; the next one cancels the session.
    ///   - allowedMemory: the bytes that the session may reserve.
    ///   - threads: the thread hint for the session; its work stays on one thread.
    init(allowedPolls: Int = .max, allowedMemory: Int = .max, threads: Int = 1) {
        self.allowedPolls = allowedPolls
        self.allowedMemory = allowedMemory
        self.threads = threads
        unsafe table.initialize(
            to: cpi_services(
                size: UInt32(MemoryLayout<cpi_services>.size), flags: 0, ctx: Unmanaged.passRetained(self).toOpaque(),
                allocate: { _, _ in nil }, release: { _, _ in },
                budget: { ctx, bytes in unsafe RecordingHost.find(ctx).reserve(Int(bytes)) ? CPI_OK : CPI_LIMIT },
                poll: { ctx in
                    let host = unsafe RecordingHost.find(ctx)
                    host.polls += 1
                    return host.polls > host.allowedPolls ? CPI_CANCELLED : CPI_CONTINUE
                },
                log: { ctx, severity, text in
                    if severity == CPI_LOG_WARNING {
                        unsafe RecordingHost.find(ctx).warnings.append(String(cString: text))
                    }
                },
                progress: { _, _, _ in }, now: { _ in 0 },
                thread_hint: { ctx in unsafe UInt32(RecordingHost.find(ctx).threads) }))
    }

    func services() throws -> HostServices { unsafe try HostServices(table) }

    private func reserve(_ bytes: Int) -> Bool {
        if reserved + bytes > allowedMemory { return false }
        reserved += bytes
        mostReserved = max(mostReserved, reserved)
        return true
    }

    private static func find(_ ctx: UnsafeMutableRawPointer?) -> RecordingHost {
        unsafe Unmanaged<RecordingHost>.fromOpaque(ctx!).takeUnretainedValue()
    }
}
