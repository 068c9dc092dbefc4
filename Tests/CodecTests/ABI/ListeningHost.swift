import CCoderPlugin
@testable import CoderPluginKit

/// A host that remembers the warnings, and how often it was asked whether to go on.
@safe final class ListeningHost {
    private(set) var warnings: [String] = []
    private(set) var polls = 0
    // Not freed: a session may ask as long as it lives.
    private let table = UnsafeMutablePointer<cpi_services>.allocate(capacity: 1)

    init() {
        unsafe table.initialize(
            to: cpi_services(
                size: UInt32(MemoryLayout<cpi_services>.size), flags: 0, ctx: Unmanaged.passRetained(self).toOpaque(),
                allocate: { _, _ in nil }, release: { _, _ in }, budget: { _, _ in CPI_OK },
                poll: { ctx in
                    unsafe ListeningHost.find(ctx).polls += 1
                    return CPI_CONTINUE
                },
                log: { ctx, severity, text in
                    if severity == CPI_LOG_WARNING {
                        unsafe ListeningHost.find(ctx).warnings.append(String(cString: text))
                    }
                },
                progress: { _, _, _ in }, now: { _ in 0 }, thread_hint: { _ in 1 }))
    }

    func services() throws -> HostServices { unsafe try HostServices(table) }

    private static func find(_ ctx: UnsafeMutableRawPointer?) -> ListeningHost {
        unsafe Unmanaged<ListeningHost>.fromOpaque(ctx!).takeUnretainedValue()
    }
}
