import Dispatch
public import ImageModel
import ImageProcessing
import Synchronization

/// Says which addresses a host has.
///
/// - Concurrency: any thread.
public protocol NameResolver: Sendable {
    /// All of them, the best first.
    ///
    /// - Throws: `.transferFailed` when there are none, `.deadlineExceeded`, `.cancelled`.
    func addresses(of host: String) async throws(CoderError) -> [IPAddress]
}

/// The system's own resolver, as it is set up in `/etc`.
///
/// It blocks, so it has a few threads of its own; a caller who waits too long goes away before it does.
public struct SystemResolver: NameResolver {
    /// How long a caller waits.
    public var timeout: Duration

    public init(timeout: Duration = .seconds(15)) { self.timeout = timeout }

    /// The system's resolver cannot be interrupted: as many may hang as there are places here.
    private static let places = AdmissionQueue(limit: 16)
    private static let queue = DispatchQueue(label: "coderhost.resolver", attributes: .concurrent)

    public func addresses(of host: String) async throws(CoderError) -> [IPAddress] {
        let timeout = self.timeout
        return try await TimeLimit.run(timeout, "asking for the addresses of the host took too long") {
            () async throws(CoderError) -> [IPAddress] in
            // Its own task, because the place is free only when the call has come back.
            let work = Task {
                await Self.places.outcome { await Self.lookUp(host) }
            }
            return try await Abandonable.value(of: work)
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

/// Waiting for what cannot be stopped.
enum Abandonable {
    /// The answer of a task, or `.cancelled` as soon as the caller is cancelled; the task is cancelled and may go on.
    static func value<R: Sendable>(of work: Task<Result<R, CoderError>, Never>) async throws(CoderError) -> R {
        let answer = OneAnswer<Result<R, CoderError>>()
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

/// A value that is given once, by whoever is first.
final class OneAnswer<Value: Sendable>: Sendable {
    private enum State {
        case nobody
        case waiting(CheckedContinuation<Value, Never>)
        case given(Value)
    }

    private let state = Mutex(State.nobody)

    func give(_ value: Value) {
        let continuation = state.withLock { state -> CheckedContinuation<Value, Never>? in
            switch state {
            case .given: return nil
            case .nobody:
                state = .given(value)
                return nil
            case .waiting(let continuation):
                state = .given(value)
                return continuation
            }
        }
        continuation?.resume(returning: value)
    }

    /// To be asked for once.
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

/// An end to waiting.
enum TimeLimit {
    /// Does `body`, and cancels it when it takes longer.
    ///
    /// - Throws: `.deadlineExceeded` with a message, or what `body` throws.
    static func run<R: Sendable>(
        _ limit: Duration?, _ message: String, _ body: @escaping @Sendable () async throws(CoderError) -> R
    ) async throws(CoderError) -> R {
        guard let limit else { return try await body() }
        return try await race(body) {
            guard (try? await Task.sleep(for: limit)) != nil else { return nil }
            var error = CoderError(.deadlineExceeded, message)
            error.isPassing = true
            return error
        }
    }

    /// Does `body`, and cancels it when `watch` returns an error first.
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
                // Nil when it was cancelled: `body` has an answer then.
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
