import CoderHost
import Glibc

/// Starts detached threads that end by themselves.
enum BackgroundThread {
    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread; returns false when the system cannot create one.
    static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        let context = unsafe Unmanaged.passRetained(Work(body))
        let thread = unsafe ThreadStack.start(context.toOpaque()) { context in
            unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().body()
            return nil
        }
        guard let thread else {
            unsafe context.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
