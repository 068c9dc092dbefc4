import CoderHost
import CommandLineKit
import Glibc

/// Shows a progress bar for each running download; only on terminals.
///
///     photo.jpg  [########            ]   41 %  1.2 MB of 2.9 MB, 850 kB/s
///     clip.gif   [      ###           ]  312 kB, 96 kB/s
///
/// - Concurrency: any thread.
final class DownloadBars: Sendable {
    struct Row: Sendable {
        var name: String
        var received = 0
        /// The length; nil if unknown.
        var expected: Int?
        var begun: UInt64
    }

    private struct State {
        var rows: [Int: Row] = [:]
        var next = 0
        /// The number of lines on the terminal.
        var shown = 0
        var drawn: UInt64 = 0
    }

    /// Shorter downloads get no bar; nanoseconds.
    private static let patience: UInt64 = 300_000_000
    /// The minimum interval between two drawings; nanoseconds.
    private static let pace: UInt64 = 100_000_000

    private let isOn = Console.errorIsTerminal
    let names: [String]
    private let state = Mutex(State())

    /// Creates the bars.
    ///
    /// - Parameter names: the names of all downloads; equal names get a number.
    init(_ names: [String]) {
        let counts = names.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        self.names = names.enumerated().map { counts[$1] == 1 ? $1 : "\($1) (\($0))" }
    }

    func begin(_ number: Int) -> Int {
        state.withLock { state in
            state.next += 1
            state.rows[state.next] = Row(name: names[number], begun: monotonicNow())
            return state.next
        }
    }

    func update(_ bar: Int, _ received: Int, _ expected: Int?) {
        guard isOn else { return }
        state.withLock { state in
            state.rows[bar]?.received = received
            state.rows[bar]?.expected = expected
            let now = monotonicNow()
            if now - state.drawn >= Self.pace { draw(&state, now) }
        }
    }

    func end(_ bar: Int) {
        state.withLock { state in
            state.rows[bar] = nil
            if isOn, state.shown > 0 { draw(&state, monotonicNow()) }
        }
    }

    /// Runs a body that prints above the bars.
    func aside(_ body: () -> Void) {
        state.withLock { state in
            clear(&state)
            body()
        }
    }

    func close() { state.withLock { clear(&$0) } }

    // MARK: Drawing

    private func draw(_ state: inout State, _ now: UInt64) {
        clear(&state)
        state.drawn = now
        let columns = TerminalDevice.columns(of: STDERR_FILENO) ?? 80
        let rows = state.rows.sorted { $0.key < $1.key }.map(\.value).filter { now - $0.begun >= Self.patience }
        if rows.isEmpty { return }
        let width = rows.map { printable($0.name).count }.max() ?? 0
        let lines = rows.map { Self.line($0, now, columns: columns, nameWidth: width) + "\n" }
        Console.write(lines.joined(), to: STDERR_FILENO)
        state.shown = rows.count
    }

    private func clear(_ state: inout State) {
        if state.shown > 0 { Console.write("\u{1B}[\(state.shown)A\r\u{1B}[J", to: STDERR_FILENO) }
        state.shown = 0
    }

    /// The maximum width of the text after a bar: `  100 %  1023 KiB of 1023 KiB, 1023 KiB/s`.
    private static let numbers = 41

    /// Returns one line, narrower than the terminal.
    ///
    /// - Parameter nameWidth: the width of the longest name, so that all bars begin in the same column.
    static func line(_ row: Row, _ now: UInt64, columns: Int, nameWidth: Int = 32) -> String {
        let seconds = Double(now > row.begun ? now - row.begun : 0) / 1e9
        let rate = seconds > 0 ? Int(Double(row.received) / seconds) : 0
        var text = ByteText.of(row.received)
        if let expected = row.expected, expected > 0 {
            let percent = min(100, Int(Double(row.received) * 100 / Double(expected)))
            text = "\(padded(percent)) %  \(text) of \(ByteText.of(expected))"
        }
        text += ", \(ByteText.of(rate))/s"
        let rest = columns - 1 - width - 4 - numbers
        guard rest >= 8 else { return String(text.prefix(max(0, columns - 1))) }
        return "\(name(row.name, min(rest, 32, max(8, nameWidth))))  [\(bar(row, seconds))]  \(text)"
    }

    private static func padded(_ percent: Int) -> String {
        String(repeating: " ", count: percent < 10 ? 2 : percent < 100 ? 1 : 0) + "\(percent)"
    }

    private static let width = 20

    private static func bar(_ row: Row, _ seconds: Double) -> String {
        if let expected = row.expected, expected > 0 {
            let full = min(width, Int(Double(row.received) * Double(width) / Double(expected)))
            return String(repeating: "#", count: full) + String(repeating: " ", count: width - full)
        }
        // Without length, a marker moves to the right and back, one second in each direction.
        let span = width - 3
        let step = Int(seconds * Double(span)) % (2 * span)
        let at = step <= span ? step : 2 * span - step
        return String(repeating: " ", count: at) + "###" + String(repeating: " ", count: span - at)
    }

    private static func name(_ name: String, _ width: Int) -> String {
        let shown = printable(name)
        let cut = shown.count > width ? "…" + shown.suffix(width - 1) : shown
        return cut + String(repeating: " ", count: width - cut.count)
    }
}
