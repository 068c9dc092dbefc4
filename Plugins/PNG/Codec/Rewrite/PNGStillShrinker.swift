internal import CoderPluginKit
internal import ImageModel

/// A still, compressed into fewer bytes.
struct PNGShrunkStill {
    /// The data of the image header.
    var header: [UInt8]
    /// The sBIT, PLTE, tRNS and bKGD for the samples; nil if those of the source stay.
    var colors: [(PNGChunk.Kind, [UInt8])]?
    /// A zlib stream.
    var stream: [UInt8]
}

/// Compresses the samples of a still into fewer bytes, in another form if that keeps every pixel.
struct PNGStillShrinker {
    private let session: RewriteSession
    private let inventory: PNGInventory
    /// Whether the form of the samples must stay.
    private let keepsForm: Bool
    private let hasProfile: Bool

    /// The overhead of a chunk: length, name and checksum.
    private static let frame = 12

    init(_ session: RewriteSession, _ inventory: PNGInventory, _ edit: PNGMetadataEdit) {
        self.session = session
        self.inventory = inventory
        let dependents = [PNGChunk.Kind.hIST, .sPLT].compactMap { inventory.single[$0] }
        let hasPaletteBeside = inventory.single[.palette] != nil && inventory.colorType != 3
        keepsForm =
            hasPaletteBeside || inventory.hasUnsafeChunks && edit.keepsTail
            || dependents.contains { edit.keeps($0, in: session.source) }
        hasProfile = edit.leavesProfile(inventory.single[.iCCP] != nil)
    }

    /// Compresses the pixels; nil if no shorter form was found.
    ///
    /// - Throws: `.corrupt`, `.truncated`, `.limitExceeded`.
    func shrunk() throws(CoderError) -> PNGShrunkStill? {
        let file = PNGFile(
            DecoderSession(
                source: session.source, options: session.options, limits: session.limits, host: session.host))
        _ = try file.readHeader()
        let memory = MemoryReservation(session.host)
        let reader = PNGPixelReader(file, session: session, memory: memory)
        guard !keepsForm, let companions = try companions() else {
            return try shrunkInForm(try reader.stored(inventory), memory: memory)
        }
        var pixels = try reader.decoded(bits: nil)
        var facts = try PixelFacts(of: pixels, host: session.host)
        if facts.isDoubled {
            pixels = try reader.decoded(bits: 8)
            facts = try PixelFacts(of: pixels, host: session.host)
        }
        let source = session.source
        let rules = PNGCandidates.Rules(
            companions: companions, mayChangeColor: !hasProfile, isColor: inventory.isColor,
            palette: inventory.single[.palette].map { source.bytes($0.data) } ?? [],
            alphas: inventory.colorType == 3 ? inventory.single[.tRNS].map { source.bytes($0.data) } ?? [] : [])
        let candidates = PNGCandidates(rules: rules, host: session.host, memory: memory)
        let shrinking = try PNGShrinking(session.host)
        let best = try shrinking.shortest(try candidates.all(pixels, facts)) { layout in
            candidates.chunks(of: layout).reduce(0) { $0 + $1.1.count + Self.frame }
        }
        guard let best else { return nil }
        let colors = candidates.chunks(of: best.layout)
        let length = best.stream.count + Self.frame + colors.reduce(0) { $0 + $1.1.count + Self.frame }
        let before = inventory.pixelBytes + colorBytes
        return length < before
            ? PNGShrunkStill(header: header(best.layout), colors: colors, stream: best.stream) : nil
    }

    /// Compresses the samples as stored, without passes.
    private func shrunkInForm(
        _ pixels: PixelBuffer, memory: MemoryReservation
    ) throws(CoderError) -> PNGShrunkStill? {
        let layout = PNGLayout(colorType: inventory.colorType, depth: inventory.depth)
        let shrinking = try PNGShrinking(session.host)
        guard let best = try shrinking.shortest([PNGCandidate(pixels, layout)], extra: { _ in 0 }) else { return nil }
        return best.stream.count + Self.frame < inventory.pixelBytes
            ? PNGShrunkStill(header: header(layout), colors: nil, stream: best.stream) : nil
    }

    /// Returns the bytes of the chunks that another form adds.
    private var colorBytes: Int {
        [PNGChunk.Kind.sBIT, .palette, .tRNS, .bKGD].reduce(0) { $0 + (inventory.single[$1]?.range.count ?? 0) }
    }

    private func header(_ layout: PNGLayout) -> [UInt8] {
        Array(inventory.header[..<8]) + [UInt8(layout.depth), layout.colorType, 0, 0, 0]
    }

    /// Returns the sample-dependent chunks; nil if they are damaged or do not match the samples.
    private func companions() throws(CoderError) -> PNGCompanions? {
        let chunks = [PNGChunk.Kind.bKGD, .sBIT, .tRNS, .palette].compactMap { inventory.single[$0] }
        // A palette has 768 bytes at most.
        guard chunks.allSatisfy({ $0.length <= 768 && $0.isIntact(in: session.source) }) else { return nil }
        func data(_ kind: PNGChunk.Kind) -> [UInt8]? { inventory.single[kind].map { session.source.bytes($0.data) } }
        return PNGCompanions(
            background: data(.bKGD), significantBits: data(.sBIT), colorType: inventory.colorType,
            depth: inventory.depth, palette: data(.palette) ?? [])
    }
}
