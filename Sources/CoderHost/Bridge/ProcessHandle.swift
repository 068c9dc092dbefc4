import CHostSystem
import Glibc

/// An isolated process as its host holds it: ended when the last reference goes.
// Sendable because: its numbers never change.
final class ProcessHandle: @unchecked Sendable {
    /// A pidfd, or -1 on kernels that have none.
    private let descriptor: Int32
    /// The number of a child of this process; 0 for a process that somebody else reaps.
    private let child: Int32

    /// Takes over a pidfd of a process that is no child.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        child = 0
    }

    /// Starts a worker's program with `socket` as its descriptor 3.
    init(starting path: String, socket: Int32) throws(SystemError) {
        var handle: Int32 = -1
        let process = unsafe host_start_worker(path, socket, &handle)
        if process < 0 { throw .last }
        child = process
        descriptor = handle
    }

    deinit {
        kill()
        // It is ending: nothing it does can delay that for long.
        if child > 0 { _ = host_reap(child) }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Ends the process, whatever it does.
    func kill() { _ = host_kill(descriptor, child) }

    /// The signal that ended it, which it may be about to do; 0 for none, or where that cannot be told.
    var endingSignal: Int32 {
        guard child > 0, hasEnded(within: 500) else { return 0 }
        return host_ending_signal(child)
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
