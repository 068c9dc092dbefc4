/// Combines whole parts of two valid files of one format.
///
/// The splicer never changes bytes within a part, and corrects lengths, checksums, order and counts. A decoder therefore
/// accepts many of the results.
public struct Splicer: Mutator {
    private let container: any PartsMutator

    init(_ container: any PartsMutator) { self.container = container }

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        let (head, own) = container.parts(of: bytes)
        if own.isEmpty { return BytesMutator().mutate(&bytes, &dice, other: other) }
        let others = container.parts(of: other).parts
        var parts = own
        for _ in 0...dice.below(3) { PartList.splice(&parts, others, &dice) }
        bytes = container.file(head, container.repaired(parts))
    }
}

/// The four ways to combine two lists of parts.
enum PartList {
    typealias Part = (kind: [UInt8], data: [UInt8])

    static func splice(_ parts: inout [Part], _ others: [Part], _ dice: inout Dice) {
        if parts.isEmpty { return }
        let at = dice.below(parts.count)
        switch dice.below(4) {
        case 0:
            let alike = others.filter { $0.kind == parts[at].kind }
            if !alike.isEmpty { parts[at] = dice.pick(alike) }
        case 1:
            if others.isEmpty { return }
            // A few kinds of part hold most of the parts: each kind has the same chance.
            let kind = dice.pick(kinds(others))
            let part = dice.pick(others.filter { $0.kind == kind })
            let beside = parts.indices.filter { parts[$0].kind == kind }
            let place = beside.isEmpty ? dice.below(parts.count) : dice.pick(beside)
            parts.insert(part, at: place)
        case 2: parts.insert(parts[at], at: at)
        default:
            let alike = parts.indices.filter { parts[$0].kind == parts[at].kind }
            parts.swapAt(at, alike.count > 1 ? dice.pick(alike) : dice.below(parts.count))
        }
    }

    /// Every kind once, in the order of the file.
    private static func kinds(_ parts: [Part]) -> [[UInt8]] {
        var result: [[UInt8]] = []
        for part in parts where !result.contains(part.kind) { result.append(part.kind) }
        return result
    }
}

/// Runs one of two mutators: the first twice as often as the second.
public struct EitherMutator: Mutator {
    private let first: any Mutator
    private let second: any Mutator

    init(_ first: any Mutator, or second: any Mutator) {
        self.first = first
        self.second = second
    }

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        if dice.once(in: 3) {
            second.mutate(&bytes, &dice, other: other)
        } else {
            first.mutate(&bytes, &dice, other: other)
        }
    }
}

extension PNGMutator {
    /// IHDR first, one IEND last, all IDAT together; then the numbers of acTL, fcTL and fdAT.
    func repaired(_ parts: [Part]) -> [Part] {
        func named(_ name: String) -> [Part] { parts.filter { $0.kind == Array(name.utf8) } }
        let fixed = ["IHDR", "IDAT", "IEND"].map { Array($0.utf8) }
        var rest = parts.filter { !fixed.contains($0.kind) }
        let before = parts.prefix { $0.kind != fixed[1] }.count { !fixed.contains($0.kind) }
        rest.insert(contentsOf: named("IDAT"), at: before)
        var result = named("IHDR").prefix(1) + rest + named("IEND").prefix(1)
        let frames = named("fcTL").count
        var number = 0
        for index in result.indices {
            switch String(decoding: result[index].kind, as: UTF8.self) {
            case "acTL" where result[index].data.count == 8:
                result[index].data.replaceSubrange(0..<4, with: [UInt8].big(frames, 4))
            case "fcTL" where result[index].data.count >= 4, "fdAT" where result[index].data.count >= 4:
                result[index].data.replaceSubrange(0..<4, with: [UInt8].big(number, 4))
                number += 1
            default: break
            }
        }
        return Array(result)
    }
}

extension RIFFMutator {
    /// VP8X, ICCP and ANIM first; then the flags of VP8X.
    func repaired(_ parts: [Part]) -> [Part] {
        let order = ["VP8X", "ICCP", "ANIM"].map { Array($0.utf8) }
        var result = order.flatMap { kind in parts.filter { $0.kind == kind }.prefix(1) }
        result += parts.filter { !order.contains($0.kind) }
        guard let head = result.first, head.kind == order[0], head.data.count == 10 else { return result }
        for (name, flag) in [("ANMF", 0x02), ("XMP ", 0x04), ("EXIF", 0x08), ("ICCP", 0x20)] as [(String, UInt8)] {
            let isThere = result.contains { $0.kind == Array(name.utf8) }
            result[0].data[0] = isThere ? result[0].data[0] | flag : result[0].data[0] & ~flag
        }
        return result
    }
}

extension JPEGMutator {
    /// Tables, application data and comments stay before the first scan.
    func repaired(_ parts: [Part]) -> [Part] {
        let scan = parts.firstIndex { $0.kind == [0xDA] } ?? parts.count
        let early: (Part) -> Bool = { $0.kind[0] >= 0xE0 || $0.kind == [0xDB] }
        return parts[..<scan] + parts[scan...].filter(early) + parts[scan...].filter { !early($0) }
    }
}
