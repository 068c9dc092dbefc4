internal import CCoderPlugin
public import ImageModel

/// What the host lends a session: cancellation, warnings, progress, a memory budget.
// A struct over a pointer that is valid as long as the session; sessions are not Sendable, and neither is this.
@safe public struct HostServices {
    private let services: UnsafePointer<cpi_services>?
    /// The host's table; nil for tests.
    @unsafe var table: UnsafePointer<cpi_services>? { unsafe services }
    private let account: Account

    /// What the session reported and did not give back yet; copies of the services share it.
    private final class Account {
        let allowed: Int
        var reserved = 0

        init(allowed: Int) { self.allowed = allowed }
    }

    /// Services that agree to everything, for tests.
    public init() {
        unsafe services = nil
        account = Account(allowed: 0)
    }

    /// Services that the host lends; `services` stays valid as long as the session.
    ///
    /// - Parameter memory: bytes that the session may reserve; 0 for no limit.
    /// - Throws: `.misuse`.
    @unsafe
    init(_ services: UnsafePointer<cpi_services>, memory: Int = 0) throws(CoderError) {
        _ = unsafe try copyIn(services, least: FirstSize.services)
        unsafe self.services = services
        account = Account(allowed: memory)
    }

    /// Throws when the caller gave up or time ran out; ask at least every 64 rows.
    ///
    /// - Throws: `.cancelled`, `.deadlineExceeded`.
    ///
    /// The corresponding C function is `cpi_services.poll`.
    public func checkCancellation() throws(CoderError) {
        guard let services = unsafe services else { return }
        if let error = unsafe CoderError(callback: services.pointee.poll(services.pointee.ctx)) { throw error }
    }

    /// Tells the user that the picture is usable but something was off.
    ///
    /// The corresponding C function is `cpi_services.log`.
    public func warn(_ message: String) { log(CPI_LOG_WARNING, message) }

    /// Leaves a line for whoever looks for a fault.
    ///
    /// The corresponding C function is `cpi_services.log`.
    public func debug(_ message: String) { log(CPI_LOG_DEBUG, message) }

    private func log(_ severity: UInt32, _ message: String) {
        guard let services = unsafe services else { return }
        unsafe message.withCString { unsafe services.pointee.log(services.pointee.ctx, severity, $0) }
    }

    /// Says how far the current call is, in units of the coder's choice.
    ///
    /// The corresponding C function is `cpi_services.progress`.
    public func progress(_ done: Int, of total: Int) {
        guard let services = unsafe services else { return }
        unsafe services.pointee.progress(services.pointee.ctx, UInt64(clamping: done), UInt64(clamping: total))
    }

    /// Reports memory that a codec library takes by itself (positive) or gives back (negative).
    ///
    /// - Throws: `.limitExceeded` when it must not be taken.
    ///
    /// The corresponding C function is `cpi_services.budget`.
    public func reserve(bytes: Int) throws(CoderError) {
        guard let services = unsafe services else { return }
        if unsafe services.pointee.budget(services.pointee.ctx, Int64(bytes)) != CPI_OK {
            // The host may count pixels, too.
            let (sum, overflow) = account.reserved.addingReportingOverflow(bytes)
            let requested = overflow ? .max : max(sum, account.allowed + 1)
            throw .limit("memory", allowed: account.allowed, requested: requested)
        }
        account.reserved += bytes
    }

    /// Gives back what the session reported and a failure, or its end, kept it from giving back.
    func settle() {
        if account.reserved != 0 { try? reserve(bytes: -account.reserved) }
    }

    /// Threads that are worth using, at least 1.
    ///
    /// The corresponding C function is `cpi_services.thread_hint`.
    public var threadHint: Int {
        guard let services = unsafe services else { return 1 }
        return unsafe max(1, Int(services.pointee.thread_hint(services.pointee.ctx)))
    }
}
