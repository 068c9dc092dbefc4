import Dispatch
import HostSystem
package import ImageModel
import ImageProcessing

/// Resolves host names.
///
/// - Concurrency: any thread.
package protocol NameResolver: Sendable {
    /// Returns all addresses of a host, the preferred one first.
    ///
    /// - Throws: `.transferFailed` when the host has none, `.deadlineExceeded`, `.cancelled`.
    func addresses(of host: String) async throws(CoderError) -> [IPAddress]
}

/// The system's resolver, as configured in `/etc`.
///
/// Lookups block, so they run on a few separate threads. A caller that reaches its timeout returns before its lookup.
package struct SystemResolver: NameResolver {
    /// How long a caller waits for a lookup.
    package var timeout: Duration

    /// Creates a resolver.
    package init(timeout: Duration = .seconds(15)) { self.timeout = timeout }

    /// Limits the blocked threads, because a lookup cannot be interrupted.
    private static let places = AdmissionQueue(limit: 16)
    private static let queue = DispatchQueue(label: "coderhost.resolver", attributes: .concurrent)

    /// Returns all addresses of a host.
    package func addresses(of host: String) async throws(CoderError) -> [IPAddress] {
        let timeout = self.timeout
        return try await TimeLimit.run(timeout, "resolving the host name took too long") {
            () async throws(CoderError) -> [IPAddress] in
            // A separate task, because it occupies its place until the lookup returns, even after a timeout.
            let work = Task {
                await Self.places.outcome { await Self.lookUp(host) }
            }
            return try await AbandonableTask.value(of: work)
        }
    }

    private static func lookUp(_ host: String) async -> Result<[IPAddress], CoderError> {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: SystemNames.lookUp(host)) }
        }
    }
}

extension AdmissionQueue {
    fileprivate func outcome<R: Sendable>(
        _ body: @Sendable () async -> Result<R, CoderError>
    ) async -> Result<R, CoderError> {
        do throws(CoderError) {
            return try await run(LoadUrgency()) { () async throws(CoderError) -> Result<R, CoderError> in await body() }
        } catch {
            return .failure(error)
        }
    }
}

/// Waits for tasks that cannot be stopped.
enum AbandonableTask {
    /// Returns the value of a task; throws `.cancelled` at once if the caller is cancelled, even if the task continues.
    static func value<R: Sendable>(of work: Task<Result<R, CoderError>, Never>) async throws(CoderError) -> R {
        let answer = OneShotValue<Result<R, CoderError>>()
        Task { answer.give(await work.value) }
        let outcome = await withTaskCancellationHandler {
            await answer.value
        } onCancel: {
            work.cancel()
            answer.give(.failure(CoderError(.cancelled, "the load was cancelled")))
        }
        return try outcome.get()
    }
}

/// A value that is set once; later calls of ``give(_:)`` are ignored.
final class OneShotValue<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case waiting(CheckedContinuation<Value, Never>)
        case given(Value)
    }

    private let state = Mutex(State.empty)

    func give(_ value: Value) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .given: return nil
            case .empty:
                state = .given(value)
                return nil
            case .waiting(let continuation):
                state = .given(value)
                return continuation
            }
        }
        continuation?.resume(returning: value)
    }

    /// The value, when it is set; may be awaited once.
    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let value = state.withLock { state -> Value? in
                    if case .given(let value) = state { return value }
                    state = .waiting(continuation)
                    return nil
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }
}

/// Runs work with a timeout.
enum TimeLimit {
    /// Runs `body` and cancels it after the timeout.
    ///
    /// - Parameter name: name of the limit in the error; nil for none.
    /// - Throws: `.deadlineExceeded` with the message, or the error of `body`.
    static func run<R: Sendable>(
        _ limit: Duration?, _ message: String, named name: String? = nil,
        _ body: @escaping @Sendable () async throws(CoderError) -> R
    ) async throws(CoderError) -> R {
        guard let limit else { return try await body() }
        return try await race(body) {
            guard (try? await Task.sleep(for: limit)) != nil else { return nil }
            var error = CoderError(.deadlineExceeded, message)
            error.isTransient = true
            let seconds = UInt64(clamping: limit.components.seconds)
            error.limit = name.map { CoderError.Limit(name: $0, allowed: seconds, requested: seconds) }
            return error
        }
    }

    /// Runs `body`, and cancels it when `watch` returns an error first.
    static func race<R: Sendable>(
        _ body: @escaping @Sendable () async throws(CoderError) -> R,
        _ watch: @escaping @Sendable () async -> CoderError?
    ) async throws(CoderError) -> R {
        let outcome = await withTaskGroup(of: Result<R, CoderError>?.self) { group in
            group.addTask {
                do throws(CoderError) {
                    return .success(try await body())
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                // Nil after cancellation; then `body` returns the outcome.
                await watch().map { .failure($0) }
            }
            var outcome: Result<R, CoderError>?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            return outcome ?? .failure(CoderError(.cancelled, "the load was cancelled"))
        }
        return try outcome.get()
    }
}
