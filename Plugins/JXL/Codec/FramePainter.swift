internal import CoderPluginKit
internal import ImageModel

/// Decodes frames in order into surfaces of the host.
final class FramePainter {
    private let session: DecoderSession
    private let header: JXLHeader
    private let isParallel: Bool
    private var stream: JXLStream
    /// Whether the library failed on pieces, so that the painter starts again when the source is complete.
    private var waitsForWhole = false
    /// The index of the next frame that the library has not finished.
    private var next = 0
    private var drawing: Drawing?
    private var reserved = 0

    /// A frame in progress.
    private struct Drawing {
        let index: Int
        let target: PixelMemory
        /// Colors and black, for an image in inks.
        let inks: (colors: PixelMemory, black: PixelMemory)?
        var hasTarget = false
        /// The number of bytes that were read when the unfinished frame was last shown.
        var shown = 0
    }

    init(_ session: DecoderSession, _ header: JXLHeader) throws(CoderError) {
        self.session = session
        self.header = header
        isParallel = session.options.integer(OptionKey.threads) != 1 && session.limits.maxThreads != 1
        stream = try Self.stream(session, isParallel)
        let bytes = Self.libraryMemory(header)
        try session.host.reserve(bytes: bytes)
        reserved = bytes
    }

    private static func stream(_ session: DecoderSession, _ isParallel: Bool) throws(CoderError) -> JXLStream {
        try JXLStream(session.source, session.host, [.header, .frames, .pixels], isParallel: isParallel)
    }

    deinit { if reserved > 0 { try? session.host.reserve(bytes: -reserved) } }

    /// The peak memory of libjxl, which does not count it. Measured in bytes a pixel: 3 to 10 with loss, 15 to 20 without
    /// and for frames, up to 60 for layers.
    private static func libraryMemory(_ header: JXLHeader) -> Int {
        let (info, isWide) = (header.info, header.formats[0].bits > 8)
        let area = info.size.area ?? .max / 64
        return area.multipliedReportingOverflow(by: isWide || info.isAnimated || !info.isLossy ? 20 : 10).partialValue
    }

    /// Whether the frame can be decoded without starting again.
    func canDraw(_ frame: Int, into target: PixelMemory) -> Bool {
        guard let drawing else { return frame >= next }
        return drawing.index == frame && drawing.target.isSame(as: target)
    }

    /// Decodes a frame, or continues with it after more input has arrived.
    func draw(_ frame: Int, into target: PixelMemory, wantsPartial: Bool) throws(CoderError) -> DecodeOutcome {
        if drawing == nil {
            if frame > next { stream.skip(frame - next) }
            drawing = Drawing(index: frame, target: target, inks: try inks(target))
        }
        if waitsForWhole {
            guard session.source.isComplete else { throw .needsInput }
            try restart()
        }
        while true {
            let event: JXLStream.Event
            do throws(CoderError) {
                event = try stream.next()
            } catch {
                if error.code == .corrupt {
                    // All bytes at once decode, if they are not damaged.
                    if stream.hasContinued {
                        try restart()
                        continue
                    }
                    if !session.source.isComplete {
                        waitsForWhole = true
                        throw .needsInput
                    }
                }
                let isEnd = error.code == .truncated
                if error.code == .needsInput && wantsPartial || isEnd, try show(), wantsPartial {
                    return .partial(PixelRect(target.size))
                }
                throw error
            }
            switch event {
            case .color:
                if let color = header.wantedColor { _ = stream.prefer(color) }
            case .needsTarget: try lend()
            case .image:
                finish()
                next = frame + 1
                drawing = nil
                return .complete
            case .end: throw .corrupt("there is no frame \(frame)")
            default: continue
            }
        }
    }

    /// Starts again with a new decoder, for the frame in progress.
    private func restart() throws(CoderError) {
        stream = try Self.stream(session, isParallel)
        waitsForWhole = false
        drawing?.hasTarget = false
        drawing?.shown = 0
        if let drawing, drawing.index > 0 { stream.skip(drawing.index) }
    }

    private func inks(_ target: PixelMemory) throws(CoderError) -> (colors: PixelMemory, black: PixelMemory)? {
        guard header.blackChannel != nil else { return nil }
        try session.host.reserve(bytes: 4 * (target.size.area ?? 0))
        reserved += 4 * (target.size.area ?? 0)
        return (try PixelMemory(target.size, .rgb8), try PixelMemory(target.size, .gray8))
    }

    private func lend() throws(CoderError) {
        guard let drawing else { return }
        try stream.draw(into: drawing.inks?.colors ?? drawing.target)
        if let inks = drawing.inks, let channel = header.blackChannel {
            try stream.draw(channel: channel, into: inks.black)
        }
        self.drawing?.hasTarget = true
    }

    private func finish() {
        guard let drawing, let inks = drawing.inks else { return }
        drawing.target.writeInks(inks.colors, black: inks.black)
    }

    /// Draws the part of the frame that has arrived; false if nothing new has.
    private func show() throws(CoderError) -> Bool {
        guard let drawing, drawing.hasTarget, drawing.index == 0, stream.position > drawing.shown, try stream.flush()
        else { return false }
        self.drawing?.shown = stream.position
        finish()
        return true
    }
}
