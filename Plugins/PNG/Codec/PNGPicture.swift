package import CoderPluginKit
package import ImageModel

/// The decoding of one picture of a file, which goes on where it stopped.
package final class PNGPicture {
    private let source: ByteSource
    private let host: HostServices
    private let engine: PNGEngine
    private var cursor: PNGCursor
    private let surfaceIdentity: Int
    private let width: Int
    /// Whether there is nothing left to do.
    package private(set) var isDecoded = false

    /// Begins a picture that has the size of the surface; an earlier one of the same engine ends.
    package init(
        _ cursor: PNGCursor, of source: ByteSource, by engine: PNGEngine, host: HostServices, isInterlaced: Bool,
        into surface: borrowing Surface, wantsPartial: Bool
    ) throws(CoderError) {
        self.source = source
        self.host = host
        self.engine = engine
        self.cursor = cursor
        surfaceIdentity = PNGEngine.identity(of: surface)
        width = surface.size.width
        try engine.begin(surface, isInterlaced: isInterlaced, blocky: wantsPartial)
    }

    /// Whether it can go on with this surface.
    package func fits(_ surface: borrowing Surface) -> Bool {
        !isDecoded && surfaceIdentity == PNGEngine.identity(of: surface)
    }

    /// Decodes as far as the bytes reach.
    ///
    /// - Throws: `.needsInput` when there is nothing to show, `.truncated` and `.corrupt` after what could be decoded.
    package func decode(wantsPartial: Bool) throws(CoderError) -> DecodeOutcome {
        do throws(CoderError) {
            while true {
                try host.checkCancellation()
                guard let range = try cursor.next() else { break }
                try engine.push(range, of: source)
            }
        } catch {
            let progress = engine.takeProgress()
            if error.code == .needsInput, wantsPartial, !progress.rows.isEmpty {
                return .partial(PixelRect(x: 0, y: progress.rows.lowerBound, width: width, height: progress.rows.count))
            }
            guard error.code == .truncated, progress.isComplete else { throw error }
            host.warn("the file ends before its end chunk")
            isDecoded = true
            return .complete
        }
        let progress = engine.takeProgress()
        if !progress.isComplete { throw .truncated("the compressed data ends before the last row") }
        if progress.hasExtraData { host.warn("there is more compressed data than the picture has rows") }
        if !progress.isOver { host.warn("the compressed data has no end") }
        isDecoded = true
        return .complete
    }
}
