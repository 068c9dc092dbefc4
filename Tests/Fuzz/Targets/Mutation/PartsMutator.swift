/// Splits a file into parts, changes them, and joins them into a file with correct lengths.
protocol PartsMutator: Mutator {
    /// A part and the name of its kind.
    typealias Part = (kind: [UInt8], data: [UInt8])

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part])
    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8]
    /// Changes the bytes before the first part.
    func changeHead(_ head: inout [UInt8], _ dice: inout Dice)
    /// Changes the bytes within one part, with the knowledge of its kind.
    func change(_ part: inout Part, _ dice: inout Dice)
    /// Puts spliced parts into the order that the format requires, and corrects numbers that count or name other parts.
    func repaired(_ parts: [Part]) -> [Part]
}

extension PartsMutator {
    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        var (head, parts) = parts(of: bytes)
        if parts.isEmpty { return BytesMutator().mutate(&bytes, &dice, other: other) }
        let others = self.parts(of: other).parts
        for _ in 0...dice.below(3) {
            if parts.isEmpty { break }
            let at = dice.below(parts.count)
            switch dice.below(10) {
            case 0: parts.remove(at: at)
            case 1: parts.insert(parts[at], at: dice.below(parts.count + 1))
            case 2: parts.swapAt(at, dice.below(parts.count))
            case 3: if !others.isEmpty { parts.insert(dice.pick(others), at: at) }
            case 4: if let other = others.first(where: { $0.kind == parts[at].kind }) { parts[at] = other }
            default: change(&parts[at], &dice)
            }
        }
        changeHead(&head, &dice)
        bytes = file(head, parts)
    }

    func changeHead(_ head: inout [UInt8], _ dice: inout Dice) {}
    func change(_ part: inout Part, _ dice: inout Dice) { BytesMutator().change(&part.data, &dice) }
    func repaired(_ parts: [Part]) -> [Part] { parts }
}
