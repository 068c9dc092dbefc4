internal import CCoderPlugin
internal import ImageModel

/// A session as the host sees it: it remembers the error that ended it.
class ExportedSession {
    /// The first error; every call but close answers it again.
    private var failure: CoderError?
    /// Whether a call may ask for more input.
    private let maySuspend: Bool

    init(maySuspend: Bool) { self.maySuspend = maySuspend }

    /// Runs one call and turns what it throws into a status; the error is kept and told in `error`.
    @unsafe
    final func answer(
        _ errorOut: UnsafeMutablePointer<cpi_error>, _ call: () throws(CoderError) -> cpi_status
    ) -> cpi_status {
        if failure == nil {
            do throws(CoderError) {
                return try call()
            } catch {
                if error.code == .needsInput, maySuspend { return CPI_NEED_INPUT }
                // The session goes on as if the request had not been made.
                if error.code == .refused {
                    unsafe error.fill(errorOut)
                    return CPI_REFUSED
                }
                failure = error.code == .needsInput ? CoderError(.pluginFault, "an encoder asked for input") : error
            }
        }
        guard let failure else { return CPI_INTERNAL }
        unsafe failure.fill(errorOut)
        return failure.status
    }

    /// Hands the object to the host, which gives it back with `close`.
    final func lend() -> OpaquePointer {
        OpaquePointer(unsafe Unmanaged.passRetained(self).toOpaque())
    }
}

/// The error of a call that has no place in the sequence.
func outOfSequence(_ call: String) -> CoderError { CoderError(.misuse, "\(call) was called out of sequence") }

/// Finds the object behind a pointer that the host was lent; nil for NULL.
@unsafe
func lent<Session: ExportedSession>(_ pointer: OpaquePointer, as type: Session.Type) -> Session? {
    guard UInt(bitPattern: pointer) != 0 else { return nil }
    return unsafe Unmanaged<Session>.fromOpaque(UnsafeRawPointer(pointer)).takeUnretainedValue()
}

/// Tells of a call that found no session to answer it.
@unsafe
func answerMisuse(_ error: UnsafeMutablePointer<cpi_error>) -> cpi_status {
    unsafe CoderError.nullArgument.fill(error)
    return CPI_MISUSE
}

/// Whether a string of the host is this one.
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
