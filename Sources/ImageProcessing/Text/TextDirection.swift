/// The order in which the parts of a line are drawn.
///
/// This is the bidirectional algorithm without its control characters: letters, numbers with their separators, and
/// neutral characters.
/// - Source: Unicode Standard Annex 9, rules P2 to I2 and L2.
enum TextDirection {
    /// A part of a line with one direction and one script.
    struct Run: Equatable {
        var characters: [UInt32]
        /// Odd for text from right to left.
        var level: Int
        var isRightToLeft: Bool { level & 1 == 1 }
    }

    private enum Kind { case left, right, number, neutral, mark }

    /// Returns the parts of a line from left to right.
    ///
    /// - Parameter scriptOf: the script of a character as the number of its four letters, or 0.
    static func runs(_ line: [Unicode.Scalar], scriptOf: (UInt32) -> UInt32) -> [Run] {
        let levels = levels(of: line.map(kind))
        var runs: [Run] = []
        var script: UInt32 = 0
        for (scalar, level) in zip(line, levels) {
            let own = scriptOf(scalar.value)
            // Common and inherited characters, such as spaces and accents, have the script before them.
            let isSpecific = own != 0 && ![0x5A79_7979, 0x5A69_6E68, 0x5A7A_7A7A].contains(own)
            if let last = runs.last, last.level == level, !isSpecific || script == 0 || script == own {
                runs[runs.count - 1].characters.append(scalar.value)
                if isSpecific { script = own }
            } else {
                runs.append(Run(characters: [scalar.value], level: level))
                script = isSpecific ? own : 0
            }
        }
        return reordered(runs)
    }

    /// Reverses each sequence of parts at a level or above, from the highest level down.
    private static func reordered(_ runs: [Run]) -> [Run] {
        var runs = runs
        for level in stride(from: runs.map(\.level).max() ?? 0, to: 0, by: -1) {
            var start = 0
            while start < runs.count {
                var end = start
                while end < runs.count, runs[end].level >= level { end += 1 }
                if end > start { runs[start..<end].reverse() }
                start = max(end, start + 1)
            }
        }
        return runs
    }

    private static func levels(of line: [Kind]) -> [Int] {
        guard line.contains(.right) else { return [Int](repeating: 0, count: line.count) }
        let base = line.first { $0 == .left || $0 == .right } == .right ? 1 : 0
        var kinds = line
        // A mark has the direction of its letter; a number after letters from the left counts as one of them.
        var strong: Kind = base == 1 ? .right : .left
        for index in kinds.indices {
            switch kinds[index] {
            case .mark: kinds[index] = index > 0 ? kinds[index - 1] : .neutral
            case .number where strong == .left: kinds[index] = .left
            case .left, .right: strong = kinds[index]
            case .number, .neutral: break
            }
        }
        resolveNeutrals(&kinds, base)
        return kinds.map { kind in
            switch kind {
            case .right: 1
            case .number: 2
            default: base == 0 ? 0 : 2
            }
        }
    }

    /// Gives neutral characters the direction of both sides, otherwise that of the line.
    private static func resolveNeutrals(_ kinds: inout [Kind], _ base: Int) {
        let line: Kind = base == 1 ? .right : .left
        var index = 0
        while index < kinds.count {
            guard kinds[index] == .neutral else {
                index += 1
                continue
            }
            var end = index
            while end < kinds.count, kinds[end] == .neutral { end += 1 }
            let before = index > 0 ? kinds[index - 1] : line
            let after = end < kinds.count ? kinds[end] : line
            let isInNumber = before == .number && after == .number && end - index == 1
            let sides = [before, after].map { $0 == .number ? .right : $0 }
            let result: Kind = isInNumber ? .number : sides[0] == sides[1] ? sides[0] : line
            for place in index..<end { kinds[place] = result }
            index = end
        }
    }

    private static func kind(_ scalar: Unicode.Scalar) -> Kind {
        switch scalar.value {
        case 0x30...0x39, 0x660...0x669, 0x6F0...0x6F9: return .number
        default: break
        }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return .mark
        case .spaceSeparator, .control, .format: return .neutral
        default: break
        }
        switch scalar.value {
        case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10800...0x10FFF, 0x1E800...0x1EFFF: return .right
        default: return scalar.properties.isAlphabetic || scalar.properties.numericType != nil ? .left : .neutral
        }
    }

    /// Whether a character's script needs joined letters, reordered marks, or a line from right to left.
    static func needsShaping(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0590...0x109F, 0x1700...0x171F, 0x1780...0x18AF, 0x1900...0x1CFF, 0xA800...0xA8FF, 0xA980...0xAADF,
            0xABC0...0xABFF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x10A00...0x10A5F, 0x11000...0x11FFF, 0x1E800...0x1EFFF:
            true
        default: false
        }
    }
}
