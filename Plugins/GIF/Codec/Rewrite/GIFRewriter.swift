public import CoderPluginKit
public import ImageModel

/// Changes the metadata of a GIF, and packs its frames into fewer bytes: as their differences, if that is smaller.
///
/// Copies all other blocks unchanged, in their order. `.raw` covers applications that have no metadata kind of their own and do
/// not set the loop count. It also covers unknown extensions and bytes behind the trailer. Plain text stays: it uses up
/// the delay in front of it.
public struct GIFRewriter: ImageRewriter {
    public static func rewrite(
        _ request: RewriteRequest, _ session: RewriteSession
    ) throws(CoderError) -> RewriteOutcome {
        guard request.transform == .up else {
            throw .refused("a GIF cannot be rotated without decoding it; use coderhost convert")
        }
        guard request.crop == nil else {
            throw .refused("a GIF cannot be cropped without decoding it; use coderhost convert")
        }
        var scanner = GIFScanner(session.source, limits: session.limits)
        try scanner.readScreen()
        let start = scanner.walk.position
        try scanner.findFirstFrame()

        var edit = try GIFMetadataEdit(request)
        if edit.addsExtensions {
            var walk = GIFBlockWalk(session.source, from: start, host: session.host)
            while let block = try walk.next() { edit.locate(block) }
        }
        let packer = request.optimizes ? GIFFramePacker(session, globalPalette: scanner.screen.globalPalette) : nil
        let frames = request.optimizes ? try GIFDifference.replacements(session, scanner.screen, from: start) : nil
        try GIFRewriting(session: session, edit: edit, packer: packer, frames: frames).write(from: start)
        return RewriteOutcome(kept: PixelRect(scanner.screen.canvas))
    }
}

/// Writes a file again, block by block.
private struct GIFRewriting {
    private static let piece = 1 << 16

    let session: RewriteSession
    let edit: GIFMetadataEdit
    let packer: GIFFramePacker?
    /// The new frames; nil to pack each image alone.
    let frames: GIFDifference.Result?

    /// - Parameter start: the position of the first block, behind the logical screen.
    func write(from start: Int) throws(CoderError) {
        try writeScreen(upTo: start)
        var hasBegun = false
        var walk = GIFBlockWalk(session.source, from: start, host: session.host)
        while let block = try walk.next() {
            // The loop count comes right behind the palette, and nothing comes between a graphic control and its image.
            if !hasBegun, !block.isLooping {
                hasBegun = true
                for bytes in edit.added { try session.sink.write(bytes) }
            }
            for bytes in edit.extensions(at: block.range.lowerBound) { try session.sink.write(bytes) }
            if let bytes = frames?.replaced[block.range.lowerBound] {
                try session.sink.write(bytes)
            } else if frames == nil, let bytes = try packer?.packed(block) {
                try session.sink.write(bytes)
            } else if edit.keeps(block) {
                try copy(block.range)
            }
            let count = session.source.available
            // The search for differences is the first half.
            let before = packer == nil ? 0 : count
            session.host.progress(before + block.range.upperBound, of: before + count)
        }
        if let warning = walk.warning { session.host.warn(warning) }
        if edit.keepsTail { try copy(walk.position..<session.source.available) }
    }

    /// Writes the signature, the logical screen and the global palette (GIF89a specification, sections 17 … 19).
    private func writeScreen(upTo start: Int) throws(CoderError) {
        // Extensions need version 89a.
        let isNew = edit.addsExtensions || frames != nil
        var head = isNew ? Array("GIF89a".utf8) : session.source.bytes(0..<6)
        head += session.source.bytes(6..<13)
        let added = frames?.addedColors ?? 0
        // The lowest three bits: twice the number of entries for each step. It doubles at most until 256.
        if added > 0 { head[10] = head[10] & ~7 | UInt8(FramePalette.bits((start - 13) / 3 + added) - 1) }
        try session.sink.write(head)
        try copy(13..<start)
        if added > 0 { try session.sink.write([UInt8](repeating: 0, count: 3 * added)) }
    }

    private func copy(_ range: Range<Int>) throws(CoderError) {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.piece) {
            try session.host.checkCancellation()
            let part = start..<min(start + Self.piece, range.upperBound)
            try session.source.withBytes(part) { bytes throws(CoderError) in
                try session.sink.write(bytes)
            }
        }
    }
}
