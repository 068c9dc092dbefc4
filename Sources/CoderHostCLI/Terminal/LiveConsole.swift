import CoderHost
import CommandLineKit
import Glibc
import ImageModel

/// The terminal of this process.
final class LiveConsole: PlaybackConsole {
    private let device: TerminalDevice
    private var parser = InputParser()
    /// Keys that arrived while waiting for answers.
    private var waiting: [PlaybackEvent] = []
    /// Whether answers of the terminal may still arrive.
    private var owesAnswers = false
    private(set) var facts: TerminalFacts

    /// The timeout for answers of the terminal, in nanoseconds.
    private static let patience: UInt64 = 300_000_000
    /// The timeout for the rest of a sequence, in nanoseconds; after it, a lone Escape byte is the Escape key.
    private static let pause: UInt64 = 50_000_000

    init(_ facts: TerminalFacts) {
        self.facts = facts
        device = TerminalDevice(entering: ImageScreen.entering, leaving: ImageScreen.leaving)
    }

    func enter() throws(CoderError) {
        do throws(SystemError) {
            try device.enter()
        } catch {
            throw CoderError(.inputOutput, "cannot use the terminal: \(error)")
        }
    }

    func leave() { device.leave(discardsInput: owesAnswers) }

    /// The ending signal that stopped a write.
    var pendingEnd: Int32? { device.pendingEnd }

    func end(by signal: Int32) -> Never {
        leave()
        device.end(by: signal)
    }

    // MARK: Queries

    /// Queries the terminal and waits at most 300 ms for the answers. Keeps keys typed in the meantime.
    func ask() {
        guard device.takesKeys else { return }
        let deadline = now + Self.patience
        guard device.write(facts.questions) else { return }
        owesAnswers = true
        while owesAnswers {
            let time = now
            guard time < deadline else { break }
            let wake = device.wait(nanoseconds: deadline - time)
            waiting += Self.events(wake.signals)
            if wake.isReadable { take(parser.feed(device.read())) }
            if waiting.contains(where: { if case .end = $0 { true } else { false } }) || !device.takesKeys { break }
        }
        // Clears the output of a terminal that printed the queries as text.
        device.write(Array("\u{1B}[2J".utf8))
    }

    private func take(_ events: [InputEvent]) {
        for event in events {
            switch event {
            case .key(let key): waiting.append(.key(key))
            case .answer(let answer):
                facts.take(answer)
                if case .attributes = answer { owesAnswers = false }
            }
        }
    }

    // MARK: PlaybackConsole

    let clock: any PlaybackClock = SystemClock()
    private var now: UInt64 { clock.now }
    var takesKeys: Bool { device.takesKeys }
    var size: TerminalSize { device.size ?? TerminalSize(columns: 80, rows: 24) }

    func sleep(until time: UInt64?) -> [PlaybackEvent] {
        while waiting.isEmpty {
            let now = self.now
            if let time, now >= time, !parser.isWaiting {
                poll(0)
                break
            }
            var left = time.map { $0 > now ? $0 - now : 0 }
            if parser.isWaiting { left = min(left ?? Self.pause, Self.pause) }
            let wasWaiting = parser.isWaiting
            if !poll(left), wasWaiting { take(parser.flush()) }
            if let time, self.now >= time { break }
        }
        defer { waiting = [] }
        return waiting
    }

    /// Reads input once; false if there is none.
    @discardableResult
    private func poll(_ nanoseconds: UInt64?) -> Bool {
        let wake = device.wait(nanoseconds: nanoseconds)
        waiting += Self.events(wake.signals)
        guard wake.isReadable else { return false }
        let bytes = device.read()
        take(parser.feed(bytes))
        return !bytes.isEmpty
    }

    func write(_ bytes: [UInt8]) -> Bool { device.write(bytes) }

    func suspend() -> Bool {
        do throws(SystemError) {
            try device.suspend()
            return true
        } catch {
            return false
        }
    }

    private static func events(_ signals: [Int32]) -> [PlaybackEvent] {
        signals.map { signal in
            switch signal {
            case SIGTSTP: .suspend
            case SIGCONT: .resumed
            case SIGWINCH: .resized
            default: .end(signal)
            }
        }
    }
}
