import CoderHost

/// A pattern for file names: `*`, `?`, `[a-z]`, `{jpg,png}`, and `**` for any number of folders.
///
/// A pattern without a slash applies to the file name, one with a slash to the path below the folder. A pattern without
/// capital letters ignores case.
package struct GlobPattern: Sendable {
    private enum Piece {
        case one(UInt8)
        case any
        /// `*`: any bytes except a slash.
        case run
        /// `**`: any bytes.
        case deepRun
        case set([ClosedRange<UInt8>], isNegated: Bool)
    }

    /// The alternatives that the braces of the pattern give.
    private let alternatives: [[Piece]]
    private let ignoresCase: Bool
    private let appliesToPath: Bool

    /// The largest number of alternatives.
    private static let maxAlternatives = 256

    /// Parses a pattern.
    ///
    /// - Throws: ``UsageError`` for an empty pattern, open brackets or braces, or too many alternatives.
    package init(_ text: String) throws(UsageError) {
        let bytes = Array(text.utf8)
        if bytes.isEmpty { throw UsageError("--glob needs a pattern", hint: "for example --glob '*.jpg'") }
        ignoresCase = !bytes.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        appliesToPath = bytes.contains(UInt8(ascii: "/"))
        var parsed: [[Piece]] = []
        for alternative in try Self.expanded(bytes, text) { parsed.append(try Self.pieces(alternative, text)) }
        alternatives = parsed
    }

    private static func malformed(_ text: String, _ reason: String) -> UsageError {
        UsageError("invalid --glob value \"\(text)\": \(reason)", hint: "for example --glob '*.{jpg,png}'")
    }

    /// Returns the texts that the braces of a pattern give.
    private static func expanded(_ bytes: [UInt8], _ text: String) throws(UsageError) -> [[UInt8]] {
        var waiting = [bytes]
        var done: [[UInt8]] = []
        while let next = waiting.popLast() {
            guard let open = next.firstIndex(of: UInt8(ascii: "{")) else {
                done.append(next)
                continue
            }
            guard let close = next[open...].firstIndex(of: UInt8(ascii: "}")) else {
                throw malformed(text, "a brace is not closed")
            }
            let inside = next[(open + 1)..<close]
            if inside.contains(UInt8(ascii: "{")) { throw malformed(text, "braces in braces") }
            let choices = inside.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            guard waiting.count + done.count + choices.count <= maxAlternatives else {
                throw malformed(text, "more than \(maxAlternatives) alternatives")
            }
            waiting += choices.map { Array(next[..<open] + $0 + next[(close + 1)...]) }
        }
        return done
    }

    private static func pieces(_ bytes: [UInt8], _ text: String) throws(UsageError) -> [Piece] {
        var pieces: [Piece] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "?"): pieces.append(.any)
            case UInt8(ascii: "*"):
                guard rest.first == byte else {
                    pieces.append(.run)
                    continue
                }
                rest = rest.drop { $0 == byte }
                // `**/` also stands for no folder at all.
                if rest.first == UInt8(ascii: "/") { rest = rest.dropFirst() }
                pieces.append(.deepRun)
            case UInt8(ascii: "["):
                guard let close = rest.dropFirst().firstIndex(of: UInt8(ascii: "]")) else {
                    throw malformed(text, "a bracket is not closed")
                }
                pieces.append(set(rest[..<close]))
                rest = rest[(close + 1)...]
            case UInt8(ascii: "\\"):
                guard let next = rest.popFirst() else { throw malformed(text, "it ends in a backslash") }
                pieces.append(.one(next))
            default: pieces.append(.one(byte))
            }
        }
        return pieces
    }

    private static func set(_ inside: ArraySlice<UInt8>) -> Piece {
        let isNegated = inside.first == UInt8(ascii: "!") || inside.first == UInt8(ascii: "^")
        var rest = isNegated ? inside.dropFirst() : inside
        var ranges: [ClosedRange<UInt8>] = []
        while let first = rest.popFirst() {
            guard rest.count >= 2, rest.first == UInt8(ascii: "-"), let last = rest.dropFirst().first, last >= first
            else {
                ranges.append(first...first)
                continue
            }
            ranges.append(first...last)
            rest = rest.dropFirst(2)
        }
        return .set(ranges, isNegated: isNegated)
    }

    /// Whether a file matches.
    ///
    /// - Parameter path: the path of the file below the searched folder.
    /// - Complexity: the length of the path times the length of the pattern.
    package func matches(_ path: String) -> Bool {
        var bytes = Array(path.utf8)
        if !appliesToPath, let slash = bytes.lastIndex(of: UInt8(ascii: "/")) { bytes.removeFirst(slash + 1) }
        if ignoresCase {
            bytes = bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
        }
        return alternatives.contains { Self.matches(bytes, $0) }
    }

    /// Follows all positions in the pattern at the same time, so that no pattern costs more than its length for a byte.
    private static func matches(_ bytes: [UInt8], _ pieces: [Piece]) -> Bool {
        var active = closure(of: [0], pieces)
        for byte in bytes {
            var next: Set<Int> = []
            for place in active {
                // `?` stands for a whole character, which has several bytes in UTF-8.
                if byte & 0xC0 == 0x80, place > 0, case .any = pieces[place - 1] { next.insert(place) }
                if place == pieces.count { continue }
                switch pieces[place] {
                case .one(let wanted): if byte == wanted { next.insert(place + 1) }
                case .any: if byte != UInt8(ascii: "/") { next.insert(place + 1) }
                case .run: if byte != UInt8(ascii: "/") { next.insert(place) }
                case .deepRun: next.insert(place)
                case .set(let ranges, let isNegated):
                    if byte != UInt8(ascii: "/"), ranges.contains(where: { $0.contains(byte) }) != isNegated {
                        next.insert(place + 1)
                    }
                }
            }
            if next.isEmpty { return false }
            active = closure(of: next, pieces)
        }
        return active.contains(pieces.count)
    }

    /// Adds the positions behind runs, which may be empty.
    private static func closure(of places: Set<Int>, _ pieces: [Piece]) -> Set<Int> {
        var result = places
        for place in places {
            var next = place
            while next < pieces.count {
                switch pieces[next] {
                case .run, .deepRun: next += 1
                default: next = .max
                }
                if next <= pieces.count { result.insert(next) }
            }
        }
        return result
    }
}
