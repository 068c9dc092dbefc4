import CCoderPlugin
@testable import CoderPluginKit

/// A host that remembers the warnings, how often it was asked whether to go on, and the memory that was reserved.
@safe final class ListeningHost {
    private(set) var warnings: [String] = []
    private(set) var polls = 0
    private(set) var reserved = 0
    /// Most memory that was reserved at one time.
    private(set) var mostReserved = 0
    private let allowedPolls: Int
    private let allowedMemory: Int
    private let threads: Int
    // Not freed: a session may ask as long as it lives.
    private let table = UnsafeMutablePointer<cpi_services>.allocate(capacity: 1)

    /// - Parameters:
    ///   - allowedPolls: answers that the session may go on; it is cancelled at the next question.
    ///   - allowedMemory: bytes that the session may reserve.
    ///   - threads: what the session is told that threads are worth; its work stays on one.
    init(allowedPolls: Int = .max, allowedMemory: Int = .max, threads: Int = 1) {
        self.allowedPolls = allowedPolls
        self.allowedMemory = allowedMemory
        self.threads = threads
        unsafe table.initialize(
            to: cpi_services(
                size: UInt32(MemoryLayout<cpi_services>.size), flags: 0, ctx: Unmanaged.passRetained(self).toOpaque(),
                allocate: { _, _ in nil }, release: { _, _ in },
                budget: { ctx, bytes in unsafe ListeningHost.find(ctx).reserve(Int(bytes)) ? CPI_OK : CPI_LIMIT },
                poll: { ctx in
                    let host = unsafe ListeningHost.find(ctx)
                    host.polls += 1
                    return host.polls > host.allowedPolls ? CPI_CANCELLED : CPI_CONTINUE
                },
                log: { ctx, severity, text in
                    if severity == CPI_LOG_WARNING {
                        unsafe ListeningHost.find(ctx).warnings.append(String(cString: text))
                    }
                },
                progress: { _, _, _ in }, now: { _ in 0 }, thread_hint: { ctx in unsafe UInt32(ListeningHost.find(ctx).threads) }))
    }

    func services() throws -> HostServices { unsafe try HostServices(table) }

    private func reserve(_ bytes: Int) -> Bool {
        if reserved + bytes > allowedMemory { return false }
        reserved += bytes
        mostReserved = max(mostReserved, reserved)
        return true
    }

    private static func find(_ ctx: UnsafeMutableRawPointer?) -> ListeningHost {
        unsafe Unmanaged<ListeningHost>.fromOpaque(ctx!).takeUnretainedValue()
    }
}
