import CHostSystem
import Glibc

/// An isolated process as its host holds it: ended when the last reference goes.
// Sendable because: its numbers never change.
final class ProcessHandle: @unchecked Sendable {
    /// A pidfd, or -1 on kernels that have none.
    private let descriptor: Int32
    /// The number of a child of this process; 0 for a worker, which its zygote reaps.
    private let child: Int32
    /// The only process whose child may be killed through the descriptor.
    private let zygote: Int32
    /// The control group of a child; nil where there is none.
    let group: WorkerGroup?

    /// Takes over what a zygote has sent as the pidfd of a worker. It may be any descriptor.
    init(descriptor: Int32, childOf zygote: Int32) {
        self.descriptor = descriptor
        self.zygote = zygote
        child = 0
        group = nil
    }

    /// Starts a worker's program with `socket` as its descriptor 3 and `guardian` as its descriptor 4.
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
            // Unless somebody has stopped it, it is ending.
            if descriptor < 0 || host_has_ended(descriptor, 3000) == 0 { _ = host_signal(descriptor, child, SIGKILL) }
            _ = host_reap(child)
        }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the process, whatever it does.
    ///
    /// A child is the guardian of others, runs nothing of a plugin, and takes along what a plugin has left behind. A worker
    /// is killed only where the kernel says that it is a child of the zygote: a plugin can send any descriptor in the place
    /// of the right one, even that of this process.
    ///
    /// - Returns: Whether the process has ended or is about to; false where the descriptor is not that of a worker.
    @discardableResult
    func kill() -> Bool {
        if child > 0 { return host_signal(descriptor, child, SIGTERM) == 0 }
        let parent = host_parent(descriptor)
        if parent == HOST_HAS_ENDED { return true }
        return parent > 0 && parent == zygote && host_signal(descriptor, 0, SIGKILL) == 0
    }

    /// Has a worker run on the processors that this thread may use.
    func shareProcessors() {
        if child == 0 { _ = host_share_processors(descriptor, zygote) }
    }

    /// How a child has ended, within five seconds; nil where it goes on or that cannot be told.
    ///
    /// The guardian ends with its zygote, but on a machine without time to spare not at once.
    func ending() -> Zygote.Ending? {
        guard child > 0 else { return nil }
        let status = host_ending(child, 5000)
        if status < 0 { return nil }
        return status > 128 ? .signal(status - 128) : .exit(status)
    }

    /// Whether it has ended, after waiting up to so many milliseconds; true where that cannot be told.
    func hasEnded(within milliseconds: Int32 = 0) -> Bool {
        descriptor < 0 || host_has_ended(descriptor, milliseconds) != 0
    }
}

/// Two sockets that are connected to each other.
func socketPair() throws(SystemError) -> (own: Int32, theirs: Int32) {
    var own: Int32 = -1
    var theirs: Int32 = -1
    if unsafe host_socket_pair(&own, &theirs) != 0 { throw .last }
    return (own, theirs)
}
