import ImageModel

/// Lets a C library ask, between pieces of its work, whether it shall stop; keeps the reason.
///
/// Hand over `callback` and `context`. The poll has to outlive the library's calls.
/// - Concurrency: one thread at a time.
@safe public final class CancellationPoll {
    private let host: HostServices
    /// Why the library was stopped; nil while it was not.
    public private(set) var error: CoderError?

    /// - Parameter host: The services of the session; asked at every poll.
    public init(_ host: HostServices) { self.host = host }

    /// Answers 1 when the work shall stop, else 0.
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
