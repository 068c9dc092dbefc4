import CoderHost

/// What the kit looks at in a plugin's file beyond what a host needs: segments and exported names.
///
/// - Source: System V ABI, chapters 4 and 5; the GNU hash table as in binutils.
struct ELFTables {
    private let bytes: [UInt8]
    private(set) var segments: [(type: Int, flags: Int, offset: Int, address: Int, count: Int)] = []
    private var dynamic: [Int: Int] = [:]

    init?(path: String) {
        guard let file = try? File(reading: path), let status = try? file.status(),
            let bytes = try? file.bytes(at: 0, count: min(status.size, 256 << 20)), bytes.count >= 64
        else { return nil }
        self.bytes = bytes
        let table = number(32, 8)
        for index in 0..<number(56, 2) {
            let at = table + index * 56
            guard at >= 0, at + 56 <= bytes.count else { return nil }
            segments.append(
                (number(at, 4), number(at + 4, 4), number(at + 8, 8), number(at + 16, 8), number(at + 32, 8)))
        }
        if let part = segments.first(where: { $0.type == 2 }) {
            for at in stride(from: part.offset, to: part.offset + part.count, by: 16) {
                let tag = number(at, 8)
                if tag == 0 { break }
                dynamic[tag] = number(at + 8, 8)
            }
        }
    }

    /// Whether the loader has to change code.
    var changesCode: Bool { dynamic[22] != nil || (dynamic[30] ?? 0) & 4 != 0 }
    var hasExecutableStack: Bool { segments.first { $0.type == 0x6474_E551 }.map { $0.flags & 1 != 0 } ?? true }
    var hasWritableCode: Bool { segments.contains { $0.type == 1 && $0.flags & 3 == 3 } }

    /// Names that the file defines and shows, sorted.
    var exports: [String] {
        guard let symbols = dynamic[6].flatMap(place), let strings = dynamic[5].flatMap(place) else { return [] }
        var result: [String] = []
        for index in 1..<max(1, symbolCount) {
            let at = symbols + index * 24
            let info = number(at + 4, 1)
            let binding = info >> 4
            let visibility = number(at + 5, 1) & 3
            // Defined, global or weak, and neither hidden nor internal.
            guard at + 24 <= bytes.count, number(at + 6, 2) != 0, [1, 2, 10].contains(binding),
                visibility == 0 || visibility == 3
            else { continue }
            let start = strings + number(at, 4)
            guard start < bytes.count, let end = bytes[start...].firstIndex(of: 0) else { continue }
            result.append(String(decoding: bytes[start..<end], as: UTF8.self))
        }
        return result.sorted()
    }

    private var symbolCount: Int {
        if let hash = dynamic[4].flatMap(place) { return number(hash + 4, 4) }
        guard let table = dynamic[0x6FFF_FEF5].flatMap(place) else { return 0 }
        let (buckets, first, words) = (number(table, 4), number(table + 4, 4), number(table + 8, 4))
        let bucketsAt = table + 16 + 8 * words
        let chains = bucketsAt + 4 * buckets
        guard chains <= bytes.count else { return 0 }
        let last = (0..<buckets).map { number(bucketsAt + 4 * $0, 4) }.max() ?? 0
        if last < first { return first }
        var index = last
        // The lowest bit marks the end of a chain.
        while chains + 4 * (index - first) + 4 <= bytes.count, number(chains + 4 * (index - first), 4) & 1 == 0 {
            index += 1
        }
        return index + 1
    }

    private func place(_ address: Int) -> Int? {
        segments.first { $0.type == 1 && address >= $0.address && address - $0.address < $0.count }
            .map { $0.offset + address - $0.address }
    }

    /// A little-endian number; 0 outside the file.
    private func number(_ at: Int, _ count: Int) -> Int {
        guard at >= 0, at <= bytes.count - count else { return 0 }
        return (0..<count).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
    }
}
