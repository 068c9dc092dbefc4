import Dispatch
package import ImageModel

/// Runs blocking work, for example decoding and file access, on dispatch threads instead of Swift's cooperative
/// threads.
package enum BlockingWork {
    package static func run<R: Sendable>(
        _ body: @escaping @Sendable () throws(CoderError) -> R
    ) async throws(CoderError) -> R {
        let outcome = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<R, CoderError>, Never>) in
            DispatchQueue.global().async {
                do throws(CoderError) {
                    continuation.resume(returning: .success(try body()))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try outcome.get()
    }
}
