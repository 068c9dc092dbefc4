package import CoderPluginKit
package import ImageModel

/// The decoding of one picture of a file, which goes on where it stopped.
package final class PNGPicture {
    private let source: ByteSource
    private let host: HostServices
    private let engine: PNGEngine
    private let width: Int
    private var cursor: PNGCursor
    private var surfaceIdentity: Int
    /// The rows that the surface has.
    private var rows: Range<Int>
    /// What a full surface left over of the bytes that the cursor gave.
    private var rest = 0..<0
    private let isReduced: Bool
    /// Whether there is nothing left to do.
    package private(set) var isDecoded = false

    /// Begins a picture; an earlier one of the same engine ends.
    ///
    /// - Parameter size: of the whole picture; the surface has as many pixels, or every 2ⁿ-th of every such row with a
    ///   `shift`, or the first rows.
    package init(
        _ cursor: PNGCursor, of source: ByteSource, by engine: PNGEngine, host: HostServices, isInterlaced: Bool,
        size: PixelSize, shift: Int = 0, into surface: borrowing Surface, wantsPartial: Bool
    ) throws(CoderError) {
        self.source = source
        self.host = host
        self.engine = engine
        width = surface.size.width
        self.cursor = cursor
        isReduced = shift > 0
        surfaceIdentity = PNGEngine.identity(of: surface)
        rows = 0..<surface.size.height
        try engine.begin(size, in: surface, isInterlaced: isInterlaced, blocky: wantsPartial, shift: shift)
        if !isReduced, rows.count < size.height { try engine.goOn(in: surface, upTo: rows.upperBound) }
    }

    /// Whether it can go on with this surface.
    package func fits(_ surface: borrowing Surface) -> Bool {
        !isDecoded && !engine.isFull && rows.count == surface.size.height
            && surfaceIdentity == PNGEngine.identity(of: surface)
    }

    /// Goes on with the rows that follow, in a surface of their own; the same ones again where bytes were missing.
    func goOn(with next: Range<Int>, in surface: borrowing Surface) throws(CoderError) {
        if next == rows, fits(surface) { return }
        guard engine.isFull, next.lowerBound == rows.upperBound else {
            throw CoderError(.misuse, "the rows do not go on where the last ones ended")
        }
        try engine.goOn(in: surface, upTo: next.upperBound)
        rows = next
        surfaceIdentity = PNGEngine.identity(of: surface)
    }

    /// Decodes as far as the bytes, or the surface, reach.
    ///
    /// - Throws: `.needsInput` when there is nothing to show, `.truncated` and `.corrupt` after what could be decoded.
    package func decode(wantsPartial: Bool) throws(CoderError) -> DecodeOutcome {
        do throws(CoderError) {
            try fill()
        } catch {
            let progress = engine.takeProgress()
            if error.code == .needsInput, wantsPartial, !progress.rows.isEmpty {
                let first = isReduced ? progress.rows.lowerBound : progress.rows.lowerBound - rows.lowerBound
                return .partial(PixelRect(x: 0, y: first, width: width, height: progress.rows.count))
            }
            guard error.code == .truncated, progress.isComplete else { throw error }
            host.warn("the file ends before its end chunk")
            isDecoded = true
            return .complete
        }
        let isFull = engine.isFull
        let progress = engine.takeProgress()
        if isFull {
            isDecoded = progress.isComplete
            return .complete
        }
        if !progress.isComplete { throw .truncated("the compressed data ends before the last row") }
        if progress.hasExtraData { host.warn("there is more compressed data than the picture has rows") }
        if !progress.isOver { host.warn("the compressed data has no end") }
        isDecoded = true
        return .complete
    }

    private func fill() throws(CoderError) {
        // Rows may wait even where no bytes do.
        try push(rest)
        while !engine.isFull {
            try host.checkCancellation()
            guard let range = try cursor.next() else { return }
            try push(range)
        }
    }

    private func push(_ range: Range<Int>) throws(CoderError) {
        // Nothing is left over if this throws.
        rest = 0..<0
        let taken = try engine.push(range, of: source)
        rest = range.lowerBound + taken..<range.upperBound
    }
}
