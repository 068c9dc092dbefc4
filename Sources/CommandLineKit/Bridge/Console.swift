import CHostSystem
import Glibc
package import HostSystem
import Synchronization

/// Unbuffered standard output and standard error, so that no output is lost when the process ends early.
package enum Console {
    /// Writes a line to standard output; false if the reader is gone.
    @discardableResult
    package static func out(_ line: String) -> Bool { write(harmless(line) + "\n", to: STDOUT_FILENO) }

    /// Writes a line to standard error; false if the reader is gone.
    @discardableResult
    package static func error(_ line: String) -> Bool { write(harmless(line) + "\n", to: STDERR_FILENO) }

    /// Writes text unchanged; false if the reader is gone.
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

    /// Whether standard output is a terminal.
    package static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    /// Whether standard error is a terminal.
    package static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Opens /dev/null for each missing standard stream, so that no file gets the descriptor of a standard stream.
    package static func keepStandardStreams() { host_keep_standard_streams() }

    /// Ignores SIGPIPE and SIGXFSZ: writes to a closed pipe or a full file return an error and do not end the process.
    package static func reportWriteErrors() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// The last write error of standard output, if any.
    package static var outputError: SystemError? {
        let code = outputErrorCode.load(ordering: .relaxed)
        return code == 0 ? nil : SystemError(code)
    }

    private static let outputErrorCode = Atomic<Int32>(0)

    /// Escapes control characters and characters that change the writing direction.
    private static func harmless(_ line: String) -> String {
        guard line.unicodeScalars.contains(where: \.isTerminalControl) else { return line }
        var result = ""
        for scalar in line.unicodeScalars {
            if scalar.isTerminalControl {
                result += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
