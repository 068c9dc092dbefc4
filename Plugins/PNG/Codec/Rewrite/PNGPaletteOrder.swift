internal import ImageModel

/// Orders of the colors of a palette; those that are not opaque come first, so that tRNS is short.
struct PNGPaletteOrder {
    /// RGBA, four bytes an entry.
    let entries: [UInt8]

    var count: Int { entries.count / 4 }

    private func alpha(_ index: Int) -> UInt8 { entries[4 * index + 3] }

    /// The entries in the new order.
    func palette(_ order: [Int]) -> [UInt8] { order.flatMap { entries[4 * $0..<4 * $0 + 4] } }

    /// The new index of each entry; 256 values.
    static func values(_ order: [Int]) -> [UInt8] {
        var values = [UInt8](repeating: 0, count: 256)
        for (place, index) in order.enumerated() { values[index] = UInt8(place) }
        return values
    }

    private func sorted(by isBefore: (Int, Int) -> Bool) -> [Int] {
        let all = Array(0..<count)
        return all.filter { alpha($0) < 0xFF }.sorted(by: isBefore)
            + all.filter { alpha($0) == 0xFF }.sorted(by: isBefore)
    }

    /// From dark to light.
    var byLightness: [Int] {
        // BT.601, times 1000.
        let weights = [299, 587, 114]
        let lightness = (0..<count).map { index -> Int in
            (0..<3).reduce(0) { $0 + weights[$1] * Int(entries[4 * index + $1]) }
        }
        return sorted { (alpha($0), lightness[$0], $0) < (alpha($1), lightness[$1], $1) }
    }

    /// The order of another palette, RGB with three bytes an entry.
    func following(_ palette: [UInt8], alphas: [UInt8]) -> [Int] {
        var places: [[UInt8]: Int] = [:]
        for index in 0..<palette.count / 3 {
            let color = Array(palette[3 * index..<3 * index + 3]) + [index < alphas.count ? alphas[index] : 0xFF]
            if places[color] == nil { places[color] = index }
        }
        let place = (0..<count).map { places[Array(entries[4 * $0..<4 * $0 + 4])] ?? Int.max }
        return sorted { (place[$0], $0) < (place[$1], $1) }
    }

    /// An order in which neighbors in the image get neighboring indices: a chain that grows at the end where the next
    /// color has most neighbors.
    ///
    /// - Parameter neighbors: the counts of ``PixelFacts/neighbors(of:host:)``.
    /// - Source: W. Zeng, J. Li, S. Lei: "An efficient color re-indexing scheme for palette-based compression", ICIP 2000,
    ///   with the weights of A. J. Pinho, A. J. R. Neves: "A note on Zeng's technique", 2004.
    func byNeighbors(_ neighbors: [UInt32]) -> [Int] {
        func weight(_ a: Int, _ b: Int) -> Int { Int(neighbors[a < b ? 256 * a + b : 256 * b + a]) }
        guard count > 2 else { return byLightness }
        var rest = Set(0..<count)
        var sums = [Int](repeating: 0, count: count)
        var chain: [Int] = []
        var best = (0, 1)
        for a in 0..<count {
            for b in a + 1..<count where weight(a, b) > weight(best.0, best.1) { best = (a, b) }
        }
        func add(_ index: Int, atEnd: Bool) {
            chain.insert(index, at: atEnd ? chain.count : 0)
            rest.remove(index)
            for other in rest { sums[other] += weight(index, other) }
        }
        add(best.0, atEnd: true)
        add(best.1, atEnd: true)
        while let next = rest.max(by: { a, b in sums[a] == sums[b] ? a > b : sums[a] < sums[b] }) {
            // The end of the chain that is nearer to the neighbors of the new color.
            var balance = 0
            for (place, other) in chain.enumerated() {
                balance += (2 * place - chain.count + 1) * weight(next, other)
            }
            add(next, atEnd: balance >= 0)
        }
        return chain.filter { alpha($0) < 0xFF } + chain.filter { alpha($0) == 0xFF }
    }
}
