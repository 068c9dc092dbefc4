import CHostSystem
import CoderHost
import Glibc

/// A kernel notification that arrives when tasks have waited for memory too long.
///
/// - Source: Documentation/accounting/psi.rst, "Monitoring for pressure thresholds".
final class PressureTrigger: PressureSource {
    /// 150 ms of waiting within 2 s. Without privileges a window has to be a multiple of 2 s.
    private static let threshold = "some 150000 2000000"

    private let path: String
    private let file: File
    private let alarm: WakeupSignal

    /// Returns nil if the kernel or the container does not offer the file.
    init?(_ path: String) {
        // Another file would accept the threshold text, too, but would never send a notification.
        guard path.hasPrefix("/proc/") || path.hasPrefix("/sys/fs/cgroup/") else { return nil }
        let descriptor = unsafe open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        if descriptor < 0 { return nil }
        let file = File(descriptor: descriptor)
        var words = Self.threshold.utf8CString
        let count = words.count
        let written = unsafe words.withUnsafeMutableBytes { unsafe write(descriptor, $0.baseAddress, count) }
        guard written == count, let alarm = WakeupSignal() else { return nil }
        self.path = path
        self.file = file
        self.alarm = alarm
    }

    var kind: MemoryPressure.Watch { .trigger(path) }

    func wait() -> Bool { alarm.wait(for: file.descriptor, Int16(POLLPRI)) }

    func stop() { alarm.ring() }
}

/// A wait that ends on a file event, a timeout or a call of ``ring()``.
final class WakeupSignal: Sendable {
    private let reading: File
    private let writing: File

    init?() {
        var (first, second): (Int32, Int32) = (-1, -1)
        guard unsafe host_socket_pair(&first, &second) == 0 else { return nil }
        reading = File(descriptor: first)
        writing = File(descriptor: second)
    }

    /// Ends all waits, now and later.
    func ring() {
        var byte: UInt8 = 0
        _ = unsafe write(writing.descriptor, &byte, 1)
    }

    /// Waits for ``ring()``; returns false after the timeout.
    func wait(milliseconds: Int) -> Bool {
        var entry = pollfd(fd: reading.descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&entry, 1, Int32(clamping: milliseconds))
            if count < 0 && errno == EINTR { continue }
            return count != 0
        }
    }

    /// Blocks until a descriptor reports one of the events (true), fails, or ``ring()`` is called (false).
    func wait(for descriptor: Int32, _ events: Int16) -> Bool {
        var entries = [
            pollfd(fd: descriptor, events: events, revents: 0),
            pollfd(fd: reading.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let count = unsafe poll(&entries, 2, -1)
            if count < 0 && errno == EINTR { continue }
            if count <= 0 || entries[1].revents != 0 || entries[0].revents & Int16(POLLERR | POLLNVAL) != 0 {
                return false
            }
            if entries[0].revents & events != 0 { return true }
        }
    }
}
