internal import CCoderPlugin
public import ImageModel

// A struct over a pointer that is valid as long as the session. Sessions are not Sendable, so neither is this.
/// The host's services for a session: cancellation, warnings, progress, a memory budget.
@safe public struct HostServices {
    private let services: UnsafePointer<cpi_services>?
    /// The host's table; nil for tests.
    @unsafe var table: UnsafePointer<cpi_services>? { unsafe services }
    private let account: Account

    /// The memory that the session reported and has not released yet; copies of the services share it.
    private final class Account {
        let allowed: Int
        var reserved = 0

        init(allowed: Int) { self.allowed = allowed }
    }

    /// Creates services that permit everything, for tests.
    public init() {
        unsafe services = nil
        account = Account(allowed: 0)
    }

    /// Creates services over the host's table, which stays valid as long as the session.
    ///
    /// - Parameter memory: the number of bytes that the session may reserve; 0 for no limit.
    /// - Throws: `.misuse`.
    @unsafe
    init(_ services: UnsafePointer<cpi_services>, memory: Int = 0) throws(CoderError) {
        _ = unsafe try copyIn(services, least: FirstSize.services)
        unsafe self.services = services
        account = Account(allowed: memory)
    }

    /// Throws if the caller cancelled or the time is over; call it at least every 64 rows.
    ///
    /// - Throws: `.cancelled`, `.deadlineExceeded`.
    ///
    /// The corresponding C function is `cpi_services.poll`.
    public func checkCancellation() throws(CoderError) {
        guard let services = unsafe services else { return }
        if let error = unsafe CoderError(callback: services.pointee.poll(services.pointee.ctx)) { throw error }
    }

    /// Warns the user that the image is usable but has a defect.
    ///
    /// The corresponding C function is `cpi_services.log`.
    public func warn(_ message: String) { log(CPI_LOG_WARNING, message) }

    /// Writes a message for debugging.
    ///
    /// The corresponding C function is `cpi_services.log`.
    public func debug(_ message: String) { log(CPI_LOG_DEBUG, message) }

    private func log(_ severity: UInt32, _ message: String) {
        guard let services = unsafe services else { return }
        unsafe message.withCString { unsafe services.pointee.log(services.pointee.ctx, severity, $0) }
    }

    /// Reports the progress of the current call, in units that the coder chooses.
    ///
    /// The corresponding C function is `cpi_services.progress`.
    public func progress(_ done: Int, of total: Int) {
        guard let services = unsafe services else { return }
        unsafe services.pointee.progress(services.pointee.ctx, UInt64(clamping: done), UInt64(clamping: total))
    }

    /// Reports memory that a codec library allocates (positive) or frees (negative) by itself.
    ///
    /// - Throws: `.limitExceeded` if the library must not allocate it.
    ///
    /// The corresponding C function is `cpi_services.budget`.
    public func reserve(bytes: Int) throws(CoderError) {
        guard let services = unsafe services else { return }
        if unsafe services.pointee.budget(services.pointee.ctx, Int64(bytes)) != CPI_OK {
            // The host may also count pixels.
            let (sum, overflow) = account.reserved.addingReportingOverflow(bytes)
            let requested = overflow ? .max : max(sum, account.allowed + 1)
            throw .limit("memory", allowed: account.allowed, requested: requested)
        }
        account.reserved += bytes
    }

    /// Releases reported memory that the session could not release because of an error or its end.
    func settle() {
        if account.reserved != 0 { try? reserve(bytes: -account.reserved) }
    }

    /// The number of threads that are worth using, at least 1.
    ///
    /// The corresponding C function is `cpi_services.thread_hint`.
    public var threadHint: Int {
        guard let services = unsafe services else { return 1 }
        return unsafe max(1, Int(services.pointee.thread_hint(services.pointee.ctx)))
    }
}
