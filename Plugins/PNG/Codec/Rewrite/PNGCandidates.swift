internal import CoderPluginKit
internal import ImageModel

/// Lists the forms that can store decoded pixels without loss.
struct PNGCandidates {
    /// The forms that a file allows.
    struct Rules {
        var companions: PNGCompanions
        /// Whether colors may become grays or the reverse: a profile is valid for only one of them.
        var mayChangeColor: Bool
        /// Whether the source has colors.
        var isColor: Bool
        /// The palette of the source, RGB with three bytes an entry; empty without one.
        var palette: [UInt8]
        /// Alpha of its first entries.
        var alphas: [UInt8]
    }

    let rules: Rules
    let host: HostServices
    let memory: MemoryReservation

    /// Returns the forms for decoded pixels, each with the bKGD and sBIT of the file.
    func all(_ pixels: PixelBuffer, _ facts: PixelFacts) throws(CoderError) -> [PNGCandidate] {
        let isGray = facts.isGray && (rules.mayChangeColor || !rules.isColor)
        let hasAlpha = pixels.format.hasTransparency && !facts.isOpaque
        let bits = pixels.format.bits
        var found: [PNGCandidate] = []
        let type: UInt8 = isGray ? 0 : 2
        if hasAlpha { found.append(PNGCandidate(pixels, PNGLayout(colorType: type | 4, depth: bits))) }
        if !hasAlpha || facts.key != nil {
            var layout = PNGLayout(colorType: type, depth: bits)
            if hasAlpha, let key = facts.key { layout.key = isGray ? [key[0]] : key }
            found.append(PNGCandidate(pixels, layout))
            if isGray, facts.grayDepth < bits { found.append(try gray(pixels, layout, depth: facts.grayDepth)) }
        }
        let mayBeIndexed = rules.isColor || rules.mayChangeColor
        // An index needs at least as many bits as a gray of four or fewer.
        let isSmall = isGray && !hasAlpha && facts.grayDepth <= 2
        if bits == 8, mayBeIndexed, !isSmall { found += try indexed(pixels) }
        return found.filter { rules.companions.data(for: $0.layout) != nil }
    }

    /// Returns the bytes of the chunks that belong to a form, without the pixels.
    func chunks(of layout: PNGLayout) -> [(PNGChunk.Kind, [UInt8])] {
        let companions = rules.companions.data(for: layout)
        // The order that the format requires (PNG 3rd edition, table 7).
        let all: [(PNGChunk.Kind, [UInt8]?)] = [
            (.sBIT, companions?.significantBits), (.palette, layout.paletteData), (.tRNS, layout.transparencyData),
            (.bKGD, companions?.background),
        ]
        return all.compactMap { kind, data in data.map { (kind, $0) } }
    }

    /// Returns grays of fewer than 8 bits.
    private func gray(_ pixels: PixelBuffer, _ layout: PNGLayout, depth: Int) throws(CoderError) -> PNGCandidate {
        var layout = layout
        layout.depth = depth
        layout.key = layout.key.map { $0 >> UInt16(8 - depth) }
        if pixels.format.channels == .gray { return PNGCandidate(pixels, layout) }
        try memory.add(pixels.size.area ?? 0)
        return PNGCandidate(try pixels.firstChannel(host: host), layout)
    }

    private func indexed(_ pixels: PixelBuffer) throws(CoderError) -> [PNGCandidate] {
        let palette = try GrowingPalette(hasHole: false)
        let isOpaque = !pixels.format.hasTransparency
        let all = PixelRect(pixels.size)
        guard try palette.add(Surface(pixels), all, isOpaque: isOpaque, host: host) else { return [] }
        try memory.add(pixels.size.area ?? 0)
        let indices = try palette.indices(of: pixels, host: host)
        var entries = palette.entries
        // The background needs an index, even if no pixel has its color.
        if let background = rules.companions.background, background.allSatisfy({ $0 % 257 == 0 }),
            entries.count < 1024
        {
            let rgb = background.map { UInt8($0 / 257) }
            let isThere = stride(from: 0, to: entries.count, by: 4).contains { entries[$0..<$0 + 3].elementsEqual(rgb) }
            if !isThere { entries += rgb + [0xFF] }
        }
        let order = PNGPaletteOrder(entries: entries)
        var orders = [order.byLightness]
        if !rules.palette.isEmpty { orders.append(order.following(rules.palette, alphas: rules.alphas)) }
        orders.append(order.byNeighbors(try PixelFacts.neighbors(of: indices, host: host)))
        let depth = [1, 2, 4].first { order.count <= 1 << $0 } ?? 8
        var found: [PNGCandidate] = []
        // Matches may be longer if every index has its own byte.
        for depth in depth < 8 ? [depth, 8] : [8] {
            for (place, chosen) in orders.enumerated() where orders.firstIndex(of: chosen) == place {
                let layout = PNGLayout(colorType: 3, depth: depth, palette: order.palette(chosen))
                var candidate = PNGCandidate(indices, layout, values: PNGPaletteOrder.values(chosen))
                candidate.isReordered = place > 0
                found.append(candidate)
            }
        }
        return found
    }
}
