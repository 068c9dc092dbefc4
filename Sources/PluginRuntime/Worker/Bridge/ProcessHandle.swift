import CHostSystem
import Glibc
import HostSystem

/// An isolated process, ended when the last reference is released.
// Sendable because: all its values are constant.
final class ProcessHandle: @unchecked Sendable {
    /// A pidfd, or -1 on kernels without them.
    private let descriptor: Int32
    /// The number of a child of this process; 0 for a worker, which its zygote reaps.
    private let child: Int32
    /// The process whose children may be killed through the descriptor.
    private let zygote: Int32
    /// The control group of a child; nil if there is none.
    let group: WorkerGroup?

    /// Takes ownership of the descriptor that a zygote sent as the pidfd of a worker; it may be any descriptor.
    init(descriptor: Int32, childOf zygote: Int32) {
        self.descriptor = descriptor
        self.zygote = zygote
        child = 0
        group = nil
    }

    /// Starts the worker program with `socket` as its descriptor 3 and `guardian` as its descriptor 4.
    ///
    /// - Parameter group: the control group that it enters first.
    init(starting path: String, socket: Int32, guardian: Int32, group: WorkerGroup?) throws(SystemError) {
        var handle: Int32 = -1
        let process = unsafe host_start_worker(path, socket, guardian, group?.entrance.descriptor ?? -1, &handle)
        if process < 0 { throw .last }
        child = process
        descriptor = handle
        zygote = 0
        self.group = group
    }

    deinit {
        kill()
        if child > 0 {
            // The process is ending, unless it was stopped by a signal.
            if descriptor < 0 || host_has_ended(descriptor, 3000) == 0 { _ = host_signal(descriptor, child, SIGKILL) }
            _ = host_reap(child)
        }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the process unconditionally.
    ///
    /// A child is a guardian: it runs no plugin code and ends all processes that a plugin left behind. A worker is
    /// killed only if the kernel reports that it is a child of the zygote. A plugin can send any descriptor instead,
    /// even one of this process.
    ///
    /// - Returns: Whether the process has ended or is ending; false if the descriptor does not belong to a worker.
    @discardableResult
    func kill() -> Bool {
        if child > 0 { return host_signal(descriptor, child, SIGTERM) == 0 }
        let parent = host_parent(descriptor)
        if parent == HOST_HAS_ENDED { return true }
        return parent > 0 && parent == zygote && host_signal(descriptor, 0, SIGKILL) == 0
    }

    /// Lets a worker run on the processors that this thread may use.
    func shareProcessors() {
        if child == 0 { _ = host_share_processors(descriptor, zygote) }
    }

    /// Waits up to five seconds and returns how a child ended; nil if it is still running or if that is unknown.
    ///
    /// The guardian ends with its zygote, but with a delay on an overloaded machine.
    func ending() -> Zygote.Ending? {
        guard child > 0 else { return nil }
        let status = host_ending(child, 5000)
        if status < 0 { return nil }
        return status >= HOST_ENDED_BY ? .signal(status - HOST_ENDED_BY) : Zygote.Ending(exitCode: status)
    }

    /// Waits up to the timeout and returns whether the process has ended; true if that is unknown.
    func hasEnded(within milliseconds: Int32 = 0) -> Bool {
        descriptor < 0 || host_has_ended(descriptor, milliseconds) != 0
    }
}

/// Creates two connected sockets.
func socketPair() throws(SystemError) -> (own: Int32, theirs: Int32) {
    var own: Int32 = -1
    var theirs: Int32 = -1
    if unsafe host_socket_pair(&own, &theirs) != 0 { throw .last }
    return (own, theirs)
}
