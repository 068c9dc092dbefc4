package import CoderPluginKit
package import ImageModel

/// The decoding of one image of a file, which can be suspended and continued.
package final class PNGImage {
    private let source: ByteSource
    private let host: HostServices
    private let engine: PNGEngine
    private let width: Int
    private var cursor: PNGCursor
    private var surfaceIdentity: Int
    /// The rows of the surface.
    private var rows: Range<Int>
    /// The cursor's bytes that a full surface left over.
    private var rest = 0..<0
    private let isReduced: Bool
    /// Whether the image is complete.
    package private(set) var isDecoded = false

    /// Begins an image; ends an earlier one of the same engine.
    ///
    /// - Parameter size: the size of the whole image. The surface has the same size, or that of every 2ⁿ-th pixel and
    ///   row with a `shift`, or only the first rows.
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

    /// Whether the decoding can continue with this surface.
    package func fits(_ surface: borrowing Surface) -> Bool {
        !isDecoded && !engine.isFull && rows.count == surface.size.height
            && surfaceIdentity == PNGEngine.identity(of: surface)
    }

    /// Continues with the following rows in another surface; with the same rows if bytes were missing.
    func goOn(with next: Range<Int>, in surface: borrowing Surface) throws(CoderError) {
        if next == rows, fits(surface) { return }
        guard engine.isFull, next.lowerBound == rows.upperBound else {
            throw CoderError(.misuse, "the rows do not continue the last ones")
        }
        try engine.goOn(in: surface, upTo: next.upperBound)
        rows = next
        surfaceIdentity = PNGEngine.identity(of: surface)
    }

    /// Decodes until the bytes end or the surface is full.
    ///
    /// - Throws: `.needsInput` if there are no new rows, `.truncated` and `.corrupt` after all readable rows are
    ///   decoded.
    package func decode(wantsPartial: Bool) throws(CoderError) -> DecodeOutcome {
        do throws(CoderError) {
            try fill()
        } catch {
            let progress = engine.takeProgress()
            if error.code == .needsInput, wantsPartial, !progress.rows.isEmpty {
                let first = isReduced ? progress.rows.lowerBound : progress.rows.lowerBound - rows.lowerBound
                return .partial(PixelRect(x: 0, y: first, width: width, height: progress.rows.count))
            }
            guard progress.isComplete, error.code == .truncated || error.code == .corrupt && cursor.isBehindPixels
            else { throw error }
            // Damage behind the pixels of the last row does not affect them.
            let end = "the file ends before its end chunk"
            host.warn(error.code == .truncated ? end : "damaged behind the pixels: \(error.message)")
            warnOfRest(progress)
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
        warnOfRest(progress)
        if !progress.isOver { host.warn("the compressed data has no end") }
        isDecoded = true
        return .complete
    }

    /// Warns of data behind the image that is not decoded.
    private func warnOfRest(_ progress: PNGEngine.Progress) {
        if progress.hasExtraData {
            host.warn("the compressed data continues after the last row")
        } else if progress.unusedBytes > 0 {
            let isOne = progress.unusedBytes == 1
            host.warn(
                "\(progress.unusedBytes) \(isOne ? "byte" : "bytes") behind the image data \(isOne ? "is" : "are") ignored"
            )
        }
    }

    private func fill() throws(CoderError) {
        // Rows may be pending even if no bytes are.
        try push(rest)
        while !engine.isFull {
            try host.checkCancellation()
            guard let range = try cursor.next() else { return }
            try push(range)
        }
    }

    private func push(_ range: Range<Int>) throws(CoderError) {
        // No bytes are left over if this throws.
        rest = 0..<0
        if !engine.hasEnded, !range.isEmpty { cursor.noteUse() }
        let taken = try engine.push(range, of: source)
        rest = range.lowerBound + taken..<range.upperBound
    }
}
