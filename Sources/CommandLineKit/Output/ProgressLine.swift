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
        Console.write(
            "\(done)/\(total)  \(pace(done, monotonicNow() - start))  \(printable(String(name.suffix(40))))", to: 2)
        isShown = true
    }

    /// Returns the rate and the time left, such as `12/s, 1 min 30 s left`.
    private func pace(_ done: Int, _ elapsed: UInt64) -> String {
        let seconds = Double(elapsed) / 1e9
        guard done > 0, seconds > 0 else { return "" }
        let rate = Double(done) / seconds
        let left = Int((Double(total - done) / rate).rounded(.up))
        let tenths = Int((rate * 10).rounded())
        let shown = rate < 9.95 ? "\(tenths / 10).\(tenths % 10)" : "\(Int(rate.rounded()))"
        let time =
            left < 60
            ? "\(left) s" : left < 3600 ? "\(left / 60) min \(left % 60) s" : "\(left / 3600) h \(left / 60 % 60) min"
        return "\(shown)/s, \(time) left"
    }

    /// Removes the line.
    package mutating func clear() {
        if isShown { Console.write("\r\u{1B}[K", to: 2) }
        isShown = false
    }
}
