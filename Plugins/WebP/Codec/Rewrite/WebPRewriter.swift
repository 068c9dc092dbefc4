public import CoderPluginKit
public import ImageModel

/// Changes the metadata of a WebP, animated or not.
///
/// Copies chunks unchanged, in their order. `.raw` covers chunks that the format does not define, outside of frames,
/// and the bytes behind the end of the file.
public struct WebPRewriter: ImageRewriter {
    public static func rewrite(
        _ request: RewriteRequest, _ session: RewriteSession
    ) throws(CoderError) -> RewriteOutcome {
        guard request.transform == .up else {
            throw .refused("a WebP cannot be rotated without decoding it; use coderhost convert")
        }
        guard request.crop == nil else {
            throw .refused("a WebP cannot be cropped without decoding it; use coderhost convert")
        }
        guard !request.optimizes else {
            throw .refused("the pixels of a WebP cannot be recompressed; use coderhost convert")
        }
        var edit = try WebPMetadataEdit(request)
        let inventory = try WebPInventory(of: session.source, host: session.host) { chunk throws(CoderError) in
            edit.locate(chunk)
        }
        try WebPRewriting(session: session, inventory: inventory, edit: edit).write()
        return RewriteOutcome(kept: PixelRect(inventory.canvas))
    }
}

/// Writes a file again, chunk by chunk.
private struct WebPRewriting {
    private static let piece = 1 << 16
    /// - Source: RFC 9649 section 2.4: the size in the header is even and has 32 bits.
    private static let largest = Int(UInt32.max) - 1

    let session: RewriteSession
    let inventory: WebPInventory
    let edit: WebPMetadataEdit

    func write() throws(CoderError) {
        var size = 4
        try visit { part in size += part.count }
        guard size <= Self.largest else { throw CoderError(.limitExceeded, "the file would exceed 4 GiB") }
        try session.sink.write(Array("RIFF".utf8) + little(size, 4) + Array("WEBP".utf8))
        try visit { part throws(CoderError) in
            switch part {
            case .bytes(let bytes): try session.sink.write(bytes)
            case .range(let range): try copy(range)
            }
        }
        let available = session.source.available
        if edit.keepsTail, inventory.end < available { try copy(inventory.end..<available) }
    }

    /// A piece of the output.
    private enum Part {
        case bytes([UInt8])
        /// Bytes of the source.
        case range(Range<Int>)

        var count: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .range(let range): range.count
            }
        }
    }

    /// Calls `body` for each piece behind the name of the format, in order.
    private func visit(_ body: (Part) throws(CoderError) -> Void) throws(CoderError) {
        if inventory.extended == nil, edit.needsExtension {
            let canvas = inventory.canvas
            let flags = edit.flags(nil, hasAlpha: inventory.hasAlpha)
            try body(
                .bytes(
                    WebPChunk.Name.extended.bytes + little(10, 4) + [flags, 0, 0, 0] + little(canvas.width - 1, 3)
                        + little(canvas.height - 1, 3)))
            for bytes in edit.early { try body(.bytes(bytes)) }
        }
        var end = WebPChunkWalk.start
        var lacksByte = false
        var walk = try WebPChunkWalk(session.source, host: session.host)
        while let chunk = try walk.next() {
            end = chunk.range.upperBound
            for bytes in edit.chunks(at: chunk.offset) { try body(.bytes(bytes)) }
            guard edit.keeps(chunk) else { continue }
            if chunk == inventory.extended {
                try visit(extended: chunk, body)
            } else {
                try body(.range(chunk.range))
                lacksByte = !chunk.isPadded
            }
        }
        if edit.added.isEmpty {
            // Too few bytes for a chunk.
            if end < walk.end { try body(.range(end..<walk.end)) }
        } else {
            if lacksByte { try body(.bytes([0])) }
            for bytes in edit.added { try body(.bytes(bytes)) }
        }
    }

    private func visit(extended chunk: WebPChunk, _ body: (Part) throws(CoderError) -> Void) throws(CoderError) {
        let flags = session.source[chunk.payload.lowerBound]
        try body(.range(chunk.offset..<chunk.payload.lowerBound))
        try body(.bytes([edit.flags(flags, hasAlpha: false)]))
        try body(.range(chunk.payload.lowerBound + 1..<chunk.range.upperBound))
        for bytes in edit.early { try body(.bytes(bytes)) }
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
