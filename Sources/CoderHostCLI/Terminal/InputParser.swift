import ImageModel

/// A typed key.
enum Key: Hashable {
    /// A printable character, or a control character by its code.
    case character(UInt8)
    case escape
    case left, right, up, down, home, end
    case other
}

/// An answer of the terminal to a query.
enum TerminalAnswer: Hashable {
    /// The primary device attributes; 4 means sixel.
    case attributes([Int])
    case version(String)
    /// The answer to a graphics query of the kitty protocol.
    case graphics(isOK: Bool)
    case cellSize(PixelSize)
    case colorRegisters(Int)
}

/// A key or an answer of the terminal.
enum InputEvent: Hashable {
    case key(Key)
    case answer(TerminalAnswer)
}

/// Separates keys from terminal answers in the input, independent of their timing.
///
/// - Source: ECMA-48 5.4 (control sequences) and 5.6 (control strings); xterm "Control Sequences".
struct InputParser {
    private var pending: [UInt8] = []
    /// The maximum length of an answer in bytes.
    private static let maxString = 4096

    /// Whether the input ends with an incomplete sequence, or with a lone Escape.
    var isWaiting: Bool { !pending.isEmpty }

    mutating func feed(_ bytes: [UInt8]) -> [InputEvent] {
        pending += bytes
        var events: [InputEvent] = []
        var at = 0
        while at < pending.count, let (event, length) = next(at) {
            if let event { events.append(event) }
            at += length
        }
        pending.removeFirst(at)
        return events
    }

    /// Call this after a pause in the input: a pending lone Escape byte was the Escape key.
    mutating func flush() -> [InputEvent] {
        guard let first = pending.first else { return [] }
        let isLone = pending.count == 1 && first == 0x1B
        pending = []
        return isLone ? [.key(.escape)] : []
    }

    /// Returns the event at `at` and its length; nil if it is incomplete.
    private func next(_ at: Int) -> (InputEvent?, Int)? {
        let byte = pending[at]
        guard byte == 0x1B else {
            // Non-ASCII characters have no function.
            return (byte < 0x80 ? .key(.character(byte)) : .key(.other), 1)
        }
        guard at + 1 < pending.count else { return nil }
        switch pending[at + 1] {
        case 0x1B: return (.key(.escape), 1)
        case UInt8(ascii: "["): return sequence(at)
        case UInt8(ascii: "O"):
            guard at + 2 < pending.count else { return nil }
            return (.key(Self.arrow(pending[at + 2])), 3)
        case UInt8(ascii: "P"), UInt8(ascii: "]"), UInt8(ascii: "_"), UInt8(ascii: "^"), UInt8(ascii: "X"):
            return string(at)
        // Alt with a key has no function.
        default: return (.key(.other), 2)
        }
    }

    private func sequence(_ start: Int) -> (InputEvent?, Int)? {
        var at = start + 2
        while at < pending.count, (0x20...0x3F).contains(pending[at]) { at += 1 }
        guard at < pending.count else { return at - start > 256 ? (nil, at - start) : nil }
        let length = at - start + 1
        let final = pending[at]
        // A broken sequence: parsing continues after it.
        guard (0x40...0x7E).contains(final) else { return (nil, length - 1) }
        let body = String(decoding: pending[(start + 2)..<at], as: UTF8.self)
        let marker = body.first
        let numbers = body.drop { !$0.isNumber && $0 != ";" }.split(separator: ";", omittingEmptySubsequences: false)
            .map { Int($0) ?? 0 }
        switch (marker, final) {
        case ("?", UInt8(ascii: "c")): return (.answer(.attributes(numbers)), length)
        // Cell size in pixels: 6 ; height ; width.
        case ("6", UInt8(ascii: "t")) where numbers.count == 3 && numbers[0] == 6:
            return (.answer(.cellSize(PixelSize(numbers[2], numbers[1]))), length)
        // Color registers: 1 ; 0 for success ; count.
        case ("?", UInt8(ascii: "S")) where numbers.count >= 3 && numbers[0] == 1 && numbers[1] == 0:
            return (.answer(.colorRegisters(numbers[2])), length)
        case ("?", _), (">", _), ("<", _), ("=", _): return (nil, length)
        case (_, UInt8(ascii: "~")):
            switch numbers.first {
            case 1, 7: return (.key(.home), length)
            case 4, 8: return (.key(.end), length)
            default: return (.key(.other), length)
            }
        default: return (.key(Self.arrow(final)), length)
        }
    }

    private static func arrow(_ final: UInt8) -> Key {
        switch final {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        default: .other
        }
    }

    private func string(_ start: Int) -> (InputEvent?, Int)? {
        var at = start + 2
        var contentEnd = 0
        while true {
            guard at < pending.count else { return at - start > Self.maxString ? (nil, at - start) : nil }
            // BEL also ends an operating system command.
            if pending[at] == 0x07, pending[start + 1] == UInt8(ascii: "]") {
                contentEnd = at
                at += 1
                break
            }
            if pending[at] == 0x1B {
                guard at + 1 < pending.count else { return nil }
                contentEnd = at
                if pending[at + 1] == UInt8(ascii: "\\") { at += 2 }
                break
            }
            at += 1
        }
        let content = String(decoding: pending[(start + 2)..<contentEnd], as: UTF8.self)
        switch pending[start + 1] {
        case UInt8(ascii: "P") where content.hasPrefix(">|"):
            return (.answer(.version(String(content.dropFirst(2)))), at - start)
        case UInt8(ascii: "_") where content.hasPrefix("G"):
            return (.answer(.graphics(isOK: content.hasSuffix(";OK"))), at - start)
        default: return (nil, at - start)
        }
    }
}
