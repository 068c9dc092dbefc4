import HostSystem
import ImageModel
import ImageProcessing
import PluginRuntime

/// Composites raw frames on the canvas: disposal, blending, sub-rectangles.
///
/// Memory: the canvas, one blended frame, and the saved area below a frame with disposal "previous". The canvas has
/// straight alpha and is transparent at first.
///
/// Call order: ``begin(_:format:)``, fill the returned place, ``finish()``; or ``abandon()``.
final class FrameCompositor {
    private(set) var canvas: PixelBuffer
    private let bounds: PixelRect
    private let pool: PixelBufferPool
    private var pending: (rect: PixelRect, disposal: Disposal, blank: PixelRect)?
    /// The canvas area below the last frame, to be restored.
    private var saved: PixelBuffer?
    private var drawing: Drawing?
    /// The area that the disposal of the last frame cleared; the whole canvas if that leaves no frame on it.
    private var blank: PixelRect
    /// The reusable buffer for frames that are not decoded into the canvas.
    private var separateBuffer: PixelBuffer?

    /// A frame that is being decoded.
    private struct Drawing {
        var frame: FrameInfo
        var place: CanvasPlace
        /// Whether the place is in its own buffer, not in the canvas.
        var isSeparate: Bool
    }

    init(size: PixelSize, format: PixelFormat, pool: PixelBufferPool = .shared) throws(CoderError) {
        canvas = try pool.take(size, format, clean: true)
        bounds = PixelRect(size)
        blank = bounds
        self.pool = pool
    }

    var format: PixelFormat { canvas.format }

    /// Returns the bytes of the buffers in use, plus one more buffer if it is different.
    func byteCount(with buffer: PixelBuffer) -> Int {
        var buffers = [canvas, buffer]
        for other in [saved, separateBuffer, drawing?.place.buffer] {
            if let other, !buffers.contains(where: { $0 === other }) { buffers.append(other) }
        }
        return buffers.dropFirst(canvas === buffer ? 1 : 0).reduce(0) { $0 + $1.byteCount }
    }

    /// Discards all frames.
    func reset() throws(CoderError) {
        abandon()
        if PixelBuffer.isOnlyReference(&canvas) {
            clear(bounds)
        } else {
            canvas = try pool.take(canvas.size, format, clean: true)
        }
        blank = bounds
    }

    /// Discards the frame in progress, and the disposal of the last frame.
    func abandon() {
        drawing = nil
        pending = nil
        saved = nil
        blank = Self.nothing
    }

    private static let nothing = PixelRect(PixelSize.zero)

    /// Returns the place of the frame that waits for input.
    func place(ofOpenFrame index: Int) -> CanvasPlace? {
        drawing.flatMap { $0.frame.index == index ? $0.place : nil }
    }

    /// Disposes of the last frame and returns the place for the next one; nil if there is nothing to decode.
    ///
    /// A frame that replaces its rectangle, or is frame 0, is decoded directly into the canvas.
    /// - Parameter format: the format of the coder.
    func begin(_ frame: FrameInfo, format: PixelFormat) throws(CoderError) -> CanvasPlace? {
        let visible = bounds.intersection(frame.rect)
        let replaces = frame.blend == .source || frame.index == 0
        let isDirect = visible == frame.rect && format == canvas.format && replaces
        try makeCanvasUnique(keeping: !(isDirect && visible == bounds && frame.disposal != .previous))
        dispose()
        // A frame outside the canvas needs no disposal.
        guard !visible.isEmpty else {
            if frame.rect.isEmpty { return nil }
            // Later frames may depend on the samples of an invisible frame.
            return begin(frame, try room(for: frame.rect.size, format), isSeparate: true)
        }
        if frame.disposal == .previous {
            let below = try pool.take(visible.size, canvas.format, clean: false)
            copy(canvas, visible, to: below, x: 0, y: 0)
            saved = below
        }
        pending = (visible, frame.disposal, blank)
        if isDirect { return begin(frame, CanvasPlace(canvas, visible), isSeparate: false) }
        return begin(frame, try room(for: frame.rect.size, format), isSeparate: true)
    }

    private func begin(_ frame: FrameInfo, _ place: CanvasPlace, isSeparate: Bool) -> CanvasPlace {
        drawing = Drawing(frame: frame, place: place, isSeparate: isSeparate)
        return place
    }

    /// Draws a frame that was decoded in its own buffer.
    func finish() throws(CoderError) {
        guard let done = drawing else { return }
        drawing = nil
        let visible = bounds.intersection(done.frame.rect)
        guard done.isSeparate, !visible.isEmpty else { return }
        let pixels = try converted(done.place)
        guard done.frame.blendsInFixedPoint, done.frame.blend == .over else {
            return draw(pixels, done.frame, visible)
        }
        for part in copyOntoBlank(pixels, done.frame, visible) { draw(pixels, done.frame, part) }
    }

    private func converted(_ place: CanvasPlace) throws(CoderError) -> PixelBuffer {
        place.buffer.format == format
            ? place.buffer : try PixelConverter.convert(place.buffer, to: format, pool: pool)
    }

    /// Makes the canvas uniquely referenced, by copying it if necessary.
    private func makeCanvasUnique(keeping: Bool) throws(CoderError) {
        if PixelBuffer.isOnlyReference(&canvas) { return }
        let fresh = try pool.take(canvas.size, format, clean: false)
        if keeping { copy(canvas, bounds, to: fresh, x: 0, y: 0) }
        canvas = fresh
    }

    /// Returns memory for a frame in its own buffer, which is reused for all frames of its size or smaller.
    private func room(for size: PixelSize, _ format: PixelFormat) throws(CoderError) -> CanvasPlace {
        let place = PixelRect(size)
        if let separateBuffer, separateBuffer.format == format, PixelRect(separateBuffer.size).contains(place) {
            return CanvasPlace(separateBuffer, place)
        }
        separateBuffer = nil
        // A frame that needs conversion is converted as a whole, so its buffer has the exact size.
        let isReusable = format == self.format && PixelRect(canvas.size).contains(place)
        let fresh = try pool.take(isReusable ? canvas.size : size, format, clean: true)
        if isReusable { separateBuffer = fresh }
        return CanvasPlace(fresh, place)
    }

    /// Performs the disposal of the last frame.
    private func dispose() {
        guard let (rect, disposal, below) = pending else { return }
        switch disposal {
        case .keep: blank = Self.nothing
        case .background:
            clear(rect)
            // On an empty canvas, nothing is left.
            blank = below == bounds ? bounds : rect
        case .previous:
            if let saved { copy(saved, PixelRect(rect.size), to: canvas, x: rect.x, y: rect.y) }
            blank = below
        }
        saved = nil
        pending = nil
    }

    /// Performs a frame with disposal "background" without decoding it.
    func clearAway(_ frame: FrameInfo) throws(CoderError) {
        drawing = nil
        try makeCanvasUnique(keeping: true)
        dispose()
        let visible = bounds.intersection(frame.rect)
        if visible.isEmpty { return }
        clear(visible)
        if blank != bounds { blank = visible }
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
        let isFixed = frame.blendsInFixedPoint
        for row in 0..<visible.height {
            pixels.withRow(visible.y - frame.rect.y + row) { span in
                let left = (visible.x - frame.rect.x) * bytes
                let source = span.extracting(left..<left + visible.width * bytes)
                place.withMutableRow(row) { target in
                    if isOver {
                        blendRow(source, over: &target, bits: format.bits, inFixedPoint: isFixed)
                    } else {
                        target.copy(source)
                    }
                }
            }
        }
    }

    /// Copies the part of a frame on the blank area, and returns the parts that must be drawn.
    private func copyOntoBlank(_ pixels: PixelBuffer, _ frame: FrameInfo, _ visible: PixelRect) -> [PixelRect] {
        let inner = visible.intersection(blank)
        if inner.isEmpty { return [visible] }
        let source = PixelRect(
            x: inner.x - frame.rect.x, y: inner.y - frame.rect.y, width: inner.width, height: inner.height)
        copy(pixels, source, to: canvas, x: inner.x, y: inner.y)
        let (right, bottom) = (inner.x + inner.width, inner.y + inner.height)
        return [
            PixelRect(x: visible.x, y: visible.y, width: visible.width, height: inner.y - visible.y),
            PixelRect(x: visible.x, y: inner.y, width: inner.x - visible.x, height: inner.height),
            PixelRect(x: right, y: inner.y, width: visible.x + visible.width - right, height: inner.height),
            PixelRect(x: visible.x, y: bottom, width: visible.width, height: visible.y + visible.height - bottom),
        ].filter { !$0.isEmpty }
    }
}
