import CHostSystem
import Glibc
import Synchronization

/// Standard output and standard error without a buffer, so that nothing is lost when a process ends early.
package enum Console {
    /// Writes text and a line feed; false when nobody reads any more.
    @discardableResult
    package static func out(_ line: String) -> Bool { write(harmless(line) + "\n", to: STDOUT_FILENO) }

    @discardableResult
    package static func error(_ line: String) -> Bool { write(harmless(line) + "\n", to: STDERR_FILENO) }

    @discardableResult
    package static func write(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var at = 0
            while at < bytes.count {
                let count = unsafe Glibc.write(descriptor, bytes.baseAddress! + at, bytes.count - at)
                if count < 0 {
                    if errno == EINTR { continue }
                    if errno == EAGAIN && waitForWriting(descriptor) { continue }
                    if descriptor == STDOUT_FILENO { outputErrorCode.store(errno, ordering: .relaxed) }
                    return false
                }
                at += count
            }
            return true
        }
    }

    package static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    package static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Keeps files that are opened later from taking the place of a standard stream that this process was started without.
    package static func keepStandardStreams() { host_keep_standard_streams() }

    /// Makes a reader that goes away, and a file that may not grow, an error of the write instead of the end of the
    /// process.
    package static func reportWriteErrors() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// What went wrong with standard output, if anything did.
    package static var outputError: SystemError? {
        let code = outputErrorCode.load(ordering: .relaxed)
        return code == 0 ? nil : SystemError(code)
    }

    private static let outputErrorCode = Atomic<Int32>(0)

    /// Whether a terminal would do something else than show it.
    package static func isHarmful(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// Somebody's words on a terminal: control characters and those that turn the writing direction are spelled out.
    private static func harmless(_ line: String) -> String {
        guard line.unicodeScalars.contains(where: isHarmful) else { return line }
        var result = ""
        for scalar in line.unicodeScalars {
            if isHarmful(scalar) {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// Blocks until a descriptor that does not block by itself takes bytes again.
func waitForWriting(_ descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return unsafe poll(&entry, 1, -1) > 0
}
