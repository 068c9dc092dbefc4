import CoderPluginKit

/// Changes the text of every page; no pixel moves.
enum MosaicRewriter: ImageRewriter {
    // rewrite begins
    static func rewrite(_ request: RewriteRequest, _ session: RewriteSession) throws(CoderError) -> RewriteOutcome {
        guard request.transform == .up, request.crop == nil else { throw .refused("a mosaic keeps its pixels") }
        guard request.replaced.allSatisfy({ $0.kind == .text }) else { throw .refused("a mosaic holds text only") }
        let text = request.replaced.last?.bytes ?? (request.removed.contains(.text) ? [] : nil)

        let first = try MosaicPage(session.source)
        var page = first
        while true {
            var reader = ByteReader(session.source, at: page.text.lowerBound)
            let old = try reader.bytes(page.text.count)
            try session.sink.write(MosaicPage.header(page.size, tile: page.tile, text: text ?? old))
            try session.copy(page.colors)
            if page.colors.upperBound >= session.source.available { return RewriteOutcome(kept: PixelRect(first.size)) }
            page = try MosaicPage(session.source, at: page.colors.upperBound)
        }
    }
    // rewrite ends
}

extension RewriteSession {
    /// Copies a part of the source.
    func copy(_ range: Range<Int>) throws(CoderError) {
        try ByteReader(source, at: range.lowerBound).require(range.count)
        var start = range.lowerBound
        while start < range.upperBound {
            try host.checkCancellation()
            let end = min(range.upperBound, start + 65_536)
            try source.withBytes(start..<end) { bytes throws(CoderError) in try sink.write(bytes) }
            start = end
        }
    }
}
