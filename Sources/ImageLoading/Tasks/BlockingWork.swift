import Dispatch
import ImageModel

/// Runs what blocks (decoding, files) on threads of its own, never on those that tasks share.
enum BlockingWork {
    static func run<R: Sendable>(
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
