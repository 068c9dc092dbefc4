internal import CCoderPlugin
internal import ImageModel

/// A session of the host, which keeps the error that ended it.
class ExportedSession {
    /// The first error; every later call except close returns it again.
    private var failure: CoderError?
    /// Whether a call may request more input.
    private let maySuspend: Bool

    init(maySuspend: Bool) { self.maySuspend = maySuspend }

    /// Runs one call and converts an error to a status; keeps the error and stores it in `error`.
    @unsafe
    final func answer(
        _ errorOut: UnsafeMutablePointer<cpi_error>, _ call: () throws(CoderError) -> cpi_status
    ) -> cpi_status {
        if failure == nil {
            do throws(CoderError) {
                return try call()
            } catch {
                if error.code == .needsInput, maySuspend { return CPI_NEED_INPUT }
                // The session continues as if the request had not been made.
                if error.code == .refused {
                    unsafe error.fill(errorOut)
                    return CPI_REFUSED
                }
                failure = error.code == .needsInput ? CoderError(.pluginFault, "an encoder requested input") : error
            }
        }
        guard let failure else { return CPI_INTERNAL }
        unsafe failure.fill(errorOut)
        return failure.status
    }

    /// Passes the object to the host, which returns it with `close`.
    final func lend() -> OpaquePointer {
        OpaquePointer(unsafe Unmanaged.passRetained(self).toOpaque())
    }
}

/// Returns the error for a call out of sequence.
func outOfSequence(_ call: String) -> CoderError { CoderError(.misuse, "\(call) was called out of sequence") }

/// Returns the object for a pointer that the host received from `lend`; nil for NULL.
@unsafe
func lent<Session: ExportedSession>(_ pointer: OpaquePointer, as type: Session.Type) -> Session? {
    guard UInt(bitPattern: pointer) != 0 else { return nil }
    return unsafe Unmanaged<Session>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
}

/// Stores the error of a call without a session.
@unsafe
func answerMisuse(_ error: UnsafeMutablePointer<cpi_error>) -> cpi_status {
    unsafe CoderError.nullArgument.fill(error)
    return CPI_MISUSE
}

/// Returns whether a string of the host equals this one.
@unsafe
func isEqual(_ string: UnsafePointer<CChar>, _ text: String) -> Bool {
    if unsafe isNull(string) { return false }
    var at = unsafe string
    for byte in text.utf8 {
        if unsafe UInt8(bitPattern: at.pointee) != byte { return false }
        unsafe at += 1
    }
    return unsafe at.pointee == 0
}
