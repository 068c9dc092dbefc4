import CHostSystem
import Glibc

/// Standard output and standard error without a buffer, so that nothing is lost when a process ends early.
package enum Console {
    /// Writes text and a line feed; false when nobody reads any more.
    @discardableResult
    package static func out(_ line: String) -> Bool { write(line + "\n", to: STDOUT_FILENO) }

    @discardableResult
    package static func error(_ line: String) -> Bool { write(line + "\n", to: STDERR_FILENO) }

    @discardableResult
    package static func write(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var at = 0
            while at < bytes.count {
                let count = unsafe Glibc.write(descriptor, bytes.baseAddress! + at, bytes.count - at)
                if count < 0 {
                    if errno == EINTR { continue }
                    return false
                }
                at += count
            }
            return true
        }
    }

    package static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    package static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    /// Columns of the terminal; 0 where there is none.
    package static var columns: Int { Int(host_terminal_columns(STDOUT_FILENO)) }

    /// Makes a reader that goes away an error of the next write instead of the end of the process.
    package static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }
}
