import CoderHost

/// A progress line for a batch, shown on terminals for batches that take more than one second.
package struct ProgressLine {
    private let total: Int
    private let start = monotonicNow()
    private var isShown = false

    package init(total: Int) { self.total = total }

    /// Shows how many inputs are done.
    package mutating func show(_ done: Int, _ name: String) {
        guard total > 1, Console.errorIsTerminal, monotonicNow() - start > 1_000_000_000 else { return }
        clear()
        Console.write("\(done)/\(total) \(printable(String(name.suffix(60))))", to: 2)
        isShown = true
    }

    /// Removes the line.
    package mutating func clear() {
        if isShown { Console.write("\r\u{1B}[K", to: 2) }
        isShown = false
    }
}
