import Glibc

/// Reads up to `limit` + 1 bytes of a file, so that the caller can detect larger files. Nil if reading fails.
func readFile(_ path: String, limit: Int) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: limit + 1)
    var count = 0
    while count < bytes.count {
        let step = unsafe bytes.withUnsafeMutableBytes { buffer in
            unsafe read(descriptor, buffer.baseAddress! + count, buffer.count - count)
        }
        if step < 0 { return nil }
        if step == 0 { break }
        count += step
    }
    return Array(bytes[..<count])
}

/// Creates or replaces a file; returns whether all bytes were written.
func writeFile(_ path: String, _ text: String) -> Bool {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return false }
    let arrived = writeAll(descriptor, text)
    return close(descriptor) == 0 && arrived
}

private func writeAll(_ descriptor: Int32, _ text: String) -> Bool {
    let bytes = Array(text.utf8)
    var count = 0
    while count < bytes.count {
        let step = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress! + count, $0.count - count) }
        if step <= 0 { return false }
        count += step
    }
    return true
}

/// Ends the tool with a message for the build system.
func fail(_ message: String) -> Never {
    _ = writeAll(STDERR_FILENO, message + "\n")
    exit(1)
}
