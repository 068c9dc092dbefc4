import ImageModel
import ImageProcessing

/// Places raw frames on the canvas: disposal, blending, sub-rectangles.
///
/// Memory is that of the canvas, one frame that blends, and the part of the canvas below a frame with disposal
/// "previous" while it is shown. The canvas has straight alpha and is transparent at first.
///
/// Call order: ``begin(_:format:)``, fill the place it answers, ``finish()``; or ``abandon()``.
final class FrameCompositor {
    private(set) var canvas: PixelBuffer
    private let bounds: PixelRect
    private let pool: PixelBufferPool
    private var pending: (rect: PixelRect, disposal: Disposal)?
    /// What was below the last frame, where it has to come back.
    private var saved: PixelBuffer?
    private var drawing: Drawing?
    /// Memory of the last frame that was decoded beside the canvas.
    private var aside: PixelBuffer?

    /// A frame that is being decoded.
    private struct Drawing {
        var frame: FrameInfo
        var place: CanvasPlace
        /// Whether the place is beside the canvas.
        var isAside: Bool
    }

    init(size: PixelSize, format: PixelFormat, pool: PixelBufferPool = .shared) throws(CoderError) {
        canvas = try pool.take(size, format, clean: true)
        bounds = PixelRect(size)
        self.pool = pool
    }

    var format: PixelFormat { canvas.format }

    /// Bytes of the buffers in use here, and of one more if it is another one.
    func byteCount(with buffer: PixelBuffer) -> Int {
        var buffers = [canvas, buffer]
        for other in [saved, aside, drawing?.place.buffer] {
            if let other, !buffers.contains(where: { $0 === other }) { buffers.append(other) }
        }
        return buffers.dropFirst(canvas === buffer ? 1 : 0).reduce(0) { $0 + $1.byteCount }
    }

    /// Forgets every frame.
    func reset() throws(CoderError) {
        abandon()
        if PixelBuffer.isOnlyReference(&canvas) {
            clear(bounds)
        } else {
            canvas = try pool.take(canvas.size, format, clean: true)
        }
    }

    /// Forgets what was begun, and what the last frame asked for.
    func abandon() {
        drawing = nil
        pending = nil
        saved = nil
    }

    /// The place of the frame that waits for more input.
    func place(ofOpenFrame index: Int) -> CanvasPlace? {
        drawing.flatMap { $0.frame.index == index ? $0.place : nil }
    }

    /// Disposes of the last frame and answers where the next one is to be decoded; nil where there is nothing to decode.
    ///
    /// What replaces its rectangle, or lands on nothing, goes straight to its place on the canvas.
    /// - Parameter format: what the coder delivers.
    func begin(_ frame: FrameInfo, format: PixelFormat) throws(CoderError) -> CanvasPlace? {
        let visible = bounds.intersection(frame.rect)
        let replaces = frame.blend == .source || frame.index == 0
        let isDirect = visible == frame.rect && format == canvas.format && replaces
        try own(keeping: !(isDirect && visible == bounds && frame.disposal != .previous))
        dispose()
        // What lies beside the canvas leaves nothing to dispose of.
        guard !visible.isEmpty else {
            if frame.rect.isEmpty { return nil }
            // Later frames may depend on the samples of one that nobody sees.
            return begin(frame, try room(for: frame.rect.size, format), aside: true)
        }
        if frame.disposal == .previous {
            let below = try pool.take(visible.size, canvas.format, clean: false)
            copy(canvas, visible, to: below, x: 0, y: 0)
            saved = below
        }
        pending = (visible, frame.disposal)
        if isDirect { return begin(frame, CanvasPlace(canvas, visible), aside: false) }
        return begin(frame, try room(for: frame.rect.size, format), aside: true)
    }

    private func begin(_ frame: FrameInfo, _ place: CanvasPlace, aside: Bool) -> CanvasPlace {
        drawing = Drawing(frame: frame, place: place, isAside: aside)
        return place
    }

    /// Puts the frame on the canvas that was decoded beside it.
    func finish() throws(CoderError) {
        guard let done = drawing else { return }
        drawing = nil
        let visible = bounds.intersection(done.frame.rect)
        guard done.isAside, !visible.isEmpty else { return }
        draw(try converted(done.place), done.frame, visible)
    }

    private func converted(_ place: CanvasPlace) throws(CoderError) -> PixelBuffer {
        place.buffer.format == format
            ? place.buffer : try PixelConverter.convert(place.buffer, to: format, pool: pool)
    }

    /// A canvas that nobody else looks at.
    private func own(keeping: Bool) throws(CoderError) {
        if PixelBuffer.isOnlyReference(&canvas) { return }
        let fresh = try pool.take(canvas.size, format, clean: false)
        if keeping { copy(canvas, bounds, to: fresh, x: 0, y: 0) }
        canvas = fresh
    }

    /// Memory for a frame beside the canvas: one buffer for all that are not larger than it.
    private func room(for size: PixelSize, _ format: PixelFormat) throws(CoderError) -> CanvasPlace {
        let place = PixelRect(size)
        if let aside, aside.format == format, PixelRect(aside.size).contains(place) { return CanvasPlace(aside, place) }
        aside = nil
        // What has to be converted is converted as a whole, so it has its own size.
        let isLasting = format == self.format && PixelRect(canvas.size).contains(place)
        let fresh = try pool.take(isLasting ? canvas.size : size, format, clean: true)
        if isLasting { aside = fresh }
        return CanvasPlace(fresh, place)
    }

    /// Does what the last frame asked to happen before the next one.
    private func dispose() {
        guard let (rect, disposal) = pending else { return }
        switch disposal {
        case .keep: break
        case .background: clear(rect)
        case .previous: if let saved { copy(saved, PixelRect(rect.size), to: canvas, x: rect.x, y: rect.y) }
        }
        saved = nil
        pending = nil
    }

    /// Leaves behind what a frame with disposal "background" would, without decoding it.
    func clearAway(_ frame: FrameInfo) throws(CoderError) {
        drawing = nil
        try own(keeping: true)
        dispose()
        let visible = bounds.intersection(frame.rect)
        if !visible.isEmpty { clear(visible) }
    }

    private func clear(_ rect: PixelRect) {
        for y in 0..<rect.height {
            CanvasPlace(canvas, rect).withMutableRow(y) { $0.fillZero() }
        }
    }

    private func copy(_ source: PixelBuffer, _ rect: PixelRect, to target: PixelBuffer, x: Int, y: Int) {
        let place = CanvasPlace(target, PixelRect(x: x, y: y, width: rect.width, height: rect.height))
        let bytes = source.format.bytesPerPixel
        for row in 0..<rect.height {
            source.withRow(rect.y + row) { span in
                let part = span.extracting(rect.x * bytes..<(rect.x + rect.width) * bytes)
                place.withMutableRow(row) { $0.copy(part) }
            }
        }
    }

    private func draw(_ pixels: PixelBuffer, _ frame: FrameInfo, _ visible: PixelRect) {
        let place = CanvasPlace(canvas, visible)
        let bytes = format.bytesPerPixel
        let isOver = frame.blend == .over
        for row in 0..<visible.height {
            pixels.withRow(visible.y - frame.rect.y + row) { span in
                let left = (visible.x - frame.rect.x) * bytes
                let source = span.extracting(left..<left + visible.width * bytes)
                place.withMutableRow(row) { target in
                    if isOver { blendRow(source, over: &target, bits: format.bits) } else { target.copy(source) }
                }
            }
        }
    }
}
