public import CoderPluginKit
public import ImageModel

/// Changes the metadata of a PNG, animated or not, and compresses its samples into fewer bytes.
///
/// Copies chunks unchanged, in their order. `.raw` covers every ancillary chunk that is neither text nor metadata with
/// its own kind, and the bytes behind the end chunk. It excludes chunks that change how pixels look (tRNS, gAMA, cHRM,
/// sRGB, cICP, mDCV, cLLI, sBIT, bKGD, pHYs) or when they are shown (acTL, fcTL, fdAT).
public struct PNGRewriter: ImageRewriter {
    public static func rewrite(
        _ request: RewriteRequest, _ session: RewriteSession
    ) throws(CoderError) -> RewriteOutcome {
        guard request.transform == .up else {
            throw .refused("a PNG cannot be rotated without decoding it; use coderhost convert")
        }
        guard request.crop == nil else {
            throw .refused("a PNG cannot be cropped without decoding it; use coderhost convert")
        }
        var edit = PNGMetadataEdit(request)
        let inventory = try PNGInventory(of: session.source, host: session.host) { chunk throws(CoderError) in
            edit.locate(chunk, in: session.source)
        }
        try edit.prepare(isColor: inventory.isColor)
        var output = PNGRewriting(session, inventory, edit)
        if request.optimizes {
            if inventory.isAnimated {
                try output.shrinkFrames()
            } else {
                output.still = try PNGStillShrinker(session, inventory, edit).shrunk()
            }
        }
        try output.write()
        return RewriteOutcome(kept: PixelRect(inventory.size))
    }
}

/// Writes a file again, chunk by chunk.
struct PNGRewriting {
    private let session: RewriteSession
    private let inventory: PNGInventory
    private let edit: PNGMetadataEdit
    private var writer: PNGChunkWriter
    /// The pixels of a still in shorter form.
    var still: PNGShrunkStill?
    private var frames: PNGFrameShrinker?
    /// Whether the pixels, or the first frame, have begun.
    private var hasBegun = false

    init(_ session: RewriteSession, _ inventory: PNGInventory, _ edit: PNGMetadataEdit) {
        self.session = session
        self.inventory = inventory
        self.edit = edit
        writer = PNGChunkWriter(session)
    }

    /// Compresses the frames of an animation during the walk.
    mutating func shrinkFrames() throws(CoderError) {
        if inventory.isInterlaced {
            session.host.warn("the frames of an interlaced animation are copied unchanged")
        } else {
            frames = try PNGFrameShrinker(session, inventory)
        }
    }

    mutating func write() throws(CoderError) {
        try writer.write(PNGCursor.signature)
        var walk = PNGChunkWalk(session.source, host: session.host)
        while let chunk = try walk.next() {
            for bytes in edit.chunks(at: chunk.offset) { try writer.write(bytes) }
            switch chunk.kind {
            case .imageHeader:
                if let still { try writer.write(.imageHeader, still.header) } else { try writer.copy(chunk) }
                for bytes in edit.early { try writer.write(bytes) }
            case .imageData, .fcTL, .fdAT:
                try begin()
                try writePixels(chunk)
            default:
                if keeps(chunk) { try writer.copy(chunk) }
            }
            session.host.progress(chunk.range.upperBound, of: inventory.end)
        }
        if edit.keepsTail { try writer.copyTail(from: inventory.end) }
    }

    /// Writes the chunks that must precede the pixels.
    private mutating func begin() throws(CoderError) {
        if hasBegun { return }
        hasBegun = true
        for bytes in edit.added { try writer.write(bytes) }
        for (kind, data) in still?.colors ?? [] { try writer.write(kind, data) }
        if let still { try writer.write(.imageData, still.stream) }
    }

    private mutating func writePixels(_ chunk: PNGChunk) throws(CoderError) {
        if frames != nil {
            try frames?.write(chunk, to: &writer)
        } else if still == nil || chunk.kind != .imageData {
            try writer.copy(chunk)
        }
    }

    private func keeps(_ chunk: PNGChunk) -> Bool {
        let isShrunk = still != nil || frames != nil
        if isShrunk, chunk.kind == .iDOT { return false }
        if still?.colors != nil, [.palette, .tRNS, .sBIT, .bKGD].contains(chunk.kind) { return false }
        return edit.keeps(chunk, in: session.source)
    }
}
