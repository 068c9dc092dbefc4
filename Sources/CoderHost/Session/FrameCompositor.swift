import ImageModel

/// Places raw frames on the canvas: disposal, blending, sub-rectangles.
///
/// Memory is that of the canvas, one frame that blends, and a copy of the canvas only while a frame with disposal
/// "previous" is shown. The canvas is RGBA8 with straight alpha, transparent at first.
final class FrameCompositor {
    private(set) var canvas: PixelBuffer
    private let bounds: PixelRect
    private let pool: PixelBufferPool
    private var pending: (rect: PixelRect, disposal: Disposal)?
    private var saved: PixelBuffer?

    init(size: PixelSize, pool: PixelBufferPool = .shared) throws(CoderError) {
        canvas = try pool.take(size, .rgba8, clean: true)
        bounds = PixelRect(size)
        self.pool = pool
    }

    /// Forgets every frame.
    func reset() throws(CoderError) {
        if isKnownUniquelyReferenced(&canvas) {
            clear(bounds)
        } else {
            canvas = try pool.take(canvas.size, .rgba8, clean: true)
        }
        pending = nil
        saved = nil
    }

    /// Draws one frame; `decode` fills the place it is given, which has the size of the frame's rectangle.
    func draw(
        _ frame: FrameInfo, format: PixelFormat, decode: (CanvasPlace) throws(CoderError) -> FrameOutcome
    ) throws(CoderError) -> FrameOutcome {
        if !isKnownUniquelyReferenced(&canvas) {
            // Somebody still looks at the last frame.
            let fresh = try pool.take(canvas.size, .rgba8, clean: false)
            copy(canvas, PixelRect(canvas.size), to: fresh, x: 0, y: 0)
            canvas = fresh
        }
        dispose()
        let visible = bounds.intersection(frame.rect)
        // What lies beside the canvas leaves nothing to dispose of.
        if visible.isEmpty { return frame.rect.isEmpty ? .complete : try decodeUnseen(frame, format, decode) }
        if frame.disposal == .previous {
            saved = try pool.take(canvas.size, .rgba8, clean: false)
            copy(canvas, PixelRect(canvas.size), to: saved!, x: 0, y: 0)
        }
        pending = (visible, frame.disposal)
        // What replaces its rectangle, or lands on nothing, is decoded where it belongs.
        let isWhole = visible == frame.rect
        if isWhole, format == .rgba8, frame.blend == .source || frame.index == 0 {
            return try decode(CanvasPlace(canvas, visible))
        }
        let own = try pool.take(frame.rect.size, format, clean: true)
        let outcome = try decode(CanvasPlace(own))
        place(try PixelConverter.convert(own, to: .rgba8, pool: pool), frame, visible)
        return outcome
    }

    /// Decodes a frame that nobody sees: later frames may depend on its samples.
    private func decodeUnseen(
        _ frame: FrameInfo, _ format: PixelFormat, _ decode: (CanvasPlace) throws(CoderError) -> FrameOutcome
    ) throws(CoderError) -> FrameOutcome {
        try decode(CanvasPlace(try pool.take(frame.rect.size, format, clean: true)))
    }

    /// What the last frame asked to happen before the next one.
    private func dispose() {
        guard let (rect, disposal) = pending else { return }
        switch disposal {
        case .keep: break
        case .background: clear(rect)
        case .previous: if let saved { copy(saved, rect, to: canvas, x: rect.x, y: rect.y) }
        }
        saved = nil
        pending = nil
    }

    private func clear(_ rect: PixelRect) {
        for y in 0..<rect.height {
            CanvasPlace(canvas, rect).withMutableRow(y) { $0.fillZero() }
        }
    }

    private func copy(_ source: PixelBuffer, _ rect: PixelRect, to target: PixelBuffer, x: Int, y: Int) {
        for row in 0..<rect.height {
            source.withRow(rect.y + row) { bytes in
                let part = bytes.extracting(rect.x * 4..<(rect.x + rect.width) * 4)
                CanvasPlace(target, PixelRect(x: x, y: y, width: rect.width, height: rect.height))
                    .withMutableRow(row) { $0.copy(part) }
            }
        }
    }

    private func place(_ pixels: PixelBuffer, _ frame: FrameInfo, _ visible: PixelRect) {
        for row in 0..<visible.height {
            pixels.withRow(visible.y - frame.rect.y + row) { bytes in
                let left = (visible.x - frame.rect.x) * 4
                let source = bytes.extracting(left..<left + visible.width * 4)
                CanvasPlace(canvas, visible).withMutableRow(row) { target in
                    if frame.blend == .source { target.copy(source) } else { blend(source, &target, visible.width) }
                }
            }
        }
    }

    /// Source over destination, both with straight alpha.
    ///
    /// - Source: PNG specification, "Alpha channel processing"; integer arithmetic, rounded to nearest.
    private func blend(_ source: RawSpan, _ target: inout MutableRawSpan, _ count: Int) {
        for x in 0..<count {
            let at = x * 4
            let alpha = Int(source.byte(at: at + 3))
            if alpha == 0 { continue }
            let below = Int(target.bytes.byte(at: at + 3))
            if alpha == 255 || below == 0 {
                for channel in 0..<4 { target.setByte(at + channel, source.byte(at: at + channel)) }
                continue
            }
            // In units of 1/255²: what the frame adds, and what shows through it.
            let over = alpha * 255
            let under = (255 - alpha) * below
            let total = over + under
            for channel in 0..<3 {
                let sum = Int(source.byte(at: at + channel)) * over + Int(target.bytes.byte(at: at + channel)) * under
                target.setByte(at + channel, UInt8(truncatingIfNeeded: (sum + total / 2) / total))
            }
            target.setByte(at + 3, UInt8(truncatingIfNeeded: (total + 127) / 255))
        }
    }
}
