import ImageModel

/// Lets a C library poll for cancellation between pieces of its work, and keeps the reason.
///
/// Pass `callback` and `context` to the library. The poll must outlive the library's calls.
/// - Concurrency: one thread at a time.
@safe public final class CancellationPoll {
    private let host: HostServices
    /// The reason for stopping the library; nil as long as it may continue.
    public private(set) var error: CoderError?

    /// Creates a poll for a session.
    ///
    /// - Parameter host: the services of the session, called at every poll.
    public init(_ host: HostServices) { self.host = host }

    /// Returns 1 if the library should stop, else 0.
    public let callback: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { context in
        let poll = unsafe Unmanaged<CancellationPoll>.fromOpaque(context!).takeUnretainedValue()
        do throws(CoderError) {
            try poll.host.checkCancellation()
            return 0
        } catch {
            poll.error = error
            return 1
        }
    }

    /// The argument for `callback`.
    public var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }
}
