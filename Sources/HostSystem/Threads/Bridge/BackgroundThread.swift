import Glibc

/// Runs a body on a thread of its own, for which no other thread waits; returns false if the system cannot create one.
@discardableResult
package func runInBackground(_ body: @escaping @Sendable () -> Void) -> Bool {
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

private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
