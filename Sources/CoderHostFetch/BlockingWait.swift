import Dispatch
import ImageModel
import HostSystem

/// Blocks the calling thread until an async body returns. Never call it on a thread of the concurrency pool.
func blockingWait<R: Sendable>(
    for body: @escaping @Sendable () async throws(CoderError) -> R
) throws(CoderError) -> R {
    let outcome = Mutex<Result<R, CoderError>?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    Task {
        let result: Result<R, CoderError>
        do throws(CoderError) {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        outcome.withLock { $0 = result }
        isDone.signal()
    }
    isDone.wait()
    guard let result = outcome.withLock({ $0 }) else { throw CoderError(.misuse, "a task ended without a result") }
    return try result.get()
}
