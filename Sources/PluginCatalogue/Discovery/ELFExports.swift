/// The symbols that a shared object exports.
///
///     symbol   name 4 │ info 1 │ other 1 │ section 2 │ value 8 │ size 8
///     GNU hash buckets 4 │ first symbol 4 │ bloom words 4 │ shift 4 │ bloom, 8 each │ buckets, 4 each │ chains, 4 each;
///              a chain ends where bit 0 is set
///     old hash buckets 4 │ symbols 4 │ …
///
/// - Source: System V ABI, chapters 4 and 5; GNU hash as in glibc's `elf/dl-lookup.c`.
extension ELFImage {
    private static let maxSymbols = 1 << 16
    private static let symbolBytes = 24
    /// Symbols that old linkers always export.
    private static let usual: Set<String> = ["_init", "_fini", "_edata", "_end", "__bss_start"]

    /// Every exported name, sorted; nil if the tables are damaged.
    package var exports: [String]? {
        guard let symbols = dynamic[6].flatMap(fileOffset), let range = try? symbolRange() else { return nil }
        guard range.count <= Self.maxSymbols,
            let table = try? bytes(symbols + range.lowerBound * Self.symbolBytes, range.count * Self.symbolBytes)
        else { return nil }
        var names: [String] = []
        for at in stride(from: 0, to: table.count, by: Self.symbolBytes) {
            let binding = table[at + 4] >> 4
            let visibility = table[at + 5] & 3
            // Binding global, weak or unique; visibility default or protected; defined in this file.
            guard binding == 1 || binding == 2 || binding == 10, visibility == 0 || visibility == 3,
                u16(table, at + 6) != 0
            else { continue }
            guard let name = string(Int(u32(table, at))) else { return nil }
            if !Self.usual.contains(name) { names.append(name) }
        }
        return names.sorted()
    }

    /// Returns the range of symbols that may be exported.
    private func symbolRange() throws(Failure) -> Range<Int> {
        if let table = dynamic[0x6FFF_FEF5].flatMap(fileOffset) {  // DT_GNU_HASH
            let header = try bytes(table, 16)
            let bucketCount = Int(u32(header, 0))
            let first = Int(u32(header, 4))
            let bloom = Int(u32(header, 8))
            guard bucketCount <= Self.maxSymbols, bloom <= Self.maxSymbols, first <= Self.maxSymbols else {
                throw .damaged("its symbol table is too large")
            }
            let buckets = try bytes(table + 16 + bloom * 8, bucketCount * 4)
            var last = 0
            for at in stride(from: 0, to: buckets.count, by: 4) { last = max(last, Int(u32(buckets, at))) }
            if last < first { return first..<first }
            guard last < Self.maxSymbols else { throw .damaged("its symbol table is too large") }
            let chains = table + 16 + bloom * 8 + bucketCount * 4
            // Follow the last chain to its end, one page at a time.
            while last < Self.maxSymbols {
                let at = chains + (last - first) * 4
                let page = try bytes(at, min(1024, (size - at) & ~3))
                guard !page.isEmpty else { throw .damaged("its symbol table has no end") }
                for word in stride(from: 0, to: page.count, by: 4) {
                    last += 1
                    if page[word] & 1 == 1 { return first..<last }
                }
            }
            throw .damaged("its symbol table is too large")
        }
        // DT_HASH
        guard let table = dynamic[4].flatMap(fileOffset) else { throw .damaged("it has no symbol table") }
        return 0..<Int(u32(try bytes(table, 8), 4))
    }
}
