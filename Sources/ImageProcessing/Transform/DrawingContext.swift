package import ImageModel

/// A small canvas for drawing rectangles, images and rounded lines.
///
/// Coordinates are points from the top left corner; `scale` is the number of pixels per point. The canvas uses
/// premultiplied 16-bit samples; edges between pixels are antialiased.
/// - Throws: `.invalidArgument` for numbers that are not finite.
/// - Concurrency: one thread at a time.
package final class DrawingContext {
    /// The number of pixels per point.
    package let scale: Double
    /// The size of the canvas: the size in points times the scale, rounded up.
    package let pixelSize: PixelSize
    /// Whether the canvas starts black and its image has no alpha; otherwise it starts transparent.
    package let isOpaque: Bool
    private let canvas: PixelBuffer
    private var clips: [RoundedShape] = []

    /// Creates a canvas with a size in points.
    ///
    /// - Throws: `.invalidArgument` for a size that is empty or too large, `.outOfMemory`.
    package convenience init(size: PointSize, scale: Double = 1, isOpaque: Bool = false) throws(CoderError) {
        try check(scale, "a scale", in: 1e-6...1e6)
        let (width, height) = ((size.width * scale).rounded(.up), (size.height * scale).rounded(.up))
        let sides = 1.0...2_147_483_647.0
        guard size.width > 0, size.height > 0, sides.contains(width), sides.contains(height) else {
            throw .invalidArgument("a canvas of \(keyText(size.width))x\(keyText(size.height)) points cannot exist")
        }
        try self.init(pixels: PixelSize(Int(width), Int(height)), scale: scale, isOpaque: isOpaque)
    }

    /// Creates a canvas with a size in pixels.
    init(pixels: PixelSize, scale: Double = 1, isOpaque: Bool = false) throws(CoderError) {
        pixelSize = pixels
        self.scale = scale
        self.isOpaque = isOpaque
        canvas = try PixelBufferPool.shared.take(pixels, .work, clean: true)
        if isOpaque {
            let black = WorkRow.filled(with: RGBAColor(red: 0, green: 0, blue: 0), count: pixels.width)
            for y in 0..<pixels.height { canvas.storeWork(y, from: black) }
        }
    }

    /// Fills a rectangle with a color.
    package func fill(_ rect: PointRect, with color: RGBAColor, blendMode: BlendMode = .normal) throws(CoderError) {
        paint(RoundedShape(try pixels(rect)), within: try pixels(rect), color, blendMode)
    }

    /// Fills a rectangle with rounded corners.
    package func fill(
        _ rect: PointRect, radius: Double, corners: RectCorners = .all, with color: RGBAColor,
        blendMode: BlendMode = .normal
    ) throws(CoderError) {
        try checkLength(radius, "a radius")
        let area = try pixels(rect)
        paint(RoundedShape(area, radius: radius * scale, corners: corners), within: area, color, blendMode)
    }

    /// Makes a rectangle transparent, or black in an opaque context.
    package func clear(_ rect: PointRect) throws(CoderError) {
        let nothing = RGBAColor(red: 0, green: 0, blue: 0, alpha: isOpaque ? 255 : 0)
        try fill(rect, with: nothing, blendMode: .copy)
    }

    /// Draws a line along a rectangle with rounded corners, half of its width on either side.
    package func stroke(
        _ rect: PointRect, radius: Double = 0, corners: RectCorners = .all, lineWidth: Double = 1,
        with color: RGBAColor, blendMode: BlendMode = .normal
    ) throws(CoderError) {
        try checkLength(radius, "a radius")
        try checkLength(lineWidth, "a line width")
        let (area, width) = (try pixels(rect), lineWidth * scale)
        if width == 0 { return }
        let shape = RoundedShape(strokeOf: area, radius: radius * scale, corners: corners, lineWidth: width)
        paint(shape, within: area.inset(by: -width / 2), color, blendMode)
    }

    /// Restricts further drawing to a rectangle with rounded corners, in addition to earlier clips.
    package func clip(to rect: PointRect, radius: Double = 0, corners: RectCorners = .all) throws(CoderError) {
        try checkLength(radius, "a radius")
        clips.append(RoundedShape(try pixels(rect), radius: radius * scale, corners: corners))
    }

    /// Removes all clips.
    package func resetClip() { clips = [] }

    /// Draws an image into a rectangle, resized if its size differs; the rectangle's edges are rounded to whole pixels.
    ///
    /// - Parameter alpha: 0 … 1.
    /// - Throws: also `.unsupportedFeature` for float samples, `.outOfMemory`.
    package func draw(
        _ image: PixelBuffer, in rect: PointRect, blendMode: BlendMode = .normal, alpha: Double = 1
    ) throws(CoderError) {
        let area = try pixels(rect)
        let (left, top) = (area.x.rounded(), area.y.rounded())
        let (right, bottom) = ((area.x + area.width).rounded(), (area.y + area.height).rounded())
        let size = PixelSize(Int(right - left), Int(bottom - top))
        if size.isEmpty { return }
        let resized = size == image.size ? image : try resized(image, crop: nil, to: size)
        try draw(resized, left: Int(left), top: Int(top), blendMode, alpha)
    }

    /// Draws an image with its top left corner at a point; one image pixel covers one canvas pixel.
    ///
    /// - Throws: also `.unsupportedFeature` for float samples, `.outOfMemory`.
    package func draw(
        _ image: PixelBuffer, x: Double, y: Double, blendMode: BlendMode = .normal, alpha: Double = 1
    ) throws(CoderError) {
        let place = try pixels(PointRect(x: x, y: y, width: 0, height: 0))
        try draw(image, left: Int(place.x.rounded()), top: Int(place.y.rounded()), blendMode, alpha)
    }

    /// Returns a copy of the canvas: RGBA8 with straight alpha, or opaque if the context is.
    ///
    /// - Throws: `.outOfMemory`.
    package func image() throws(CoderError) -> PixelBuffer {
        try image(PixelFormat(.rgba, alpha: isOpaque ? .opaque : .straight))
    }

    /// Returns a copy of the canvas in an integer format.
    func image(_ format: PixelFormat) throws(CoderError) -> PixelBuffer {
        try canvas.mapRows(to: format) { _ in }
    }

    // MARK: In pixels

    /// - Throws: `.invalidArgument` if a number is not finite or is beyond the reach of any canvas.
    private func pixels(_ rect: PointRect) throws(CoderError) -> PointRect {
        for length in [rect.x, rect.y, rect.width, rect.height] {
            guard (length * scale).magnitude <= 4_294_967_296 else {
                throw .invalidArgument("a rectangle with \(keyText(length)) points cannot be drawn")
            }
        }
        return PointRect(
            x: rect.x * scale, y: rect.y * scale, width: max(0, rect.width * scale),
            height: max(0, rect.height * scale))
    }

    private func checkLength(_ length: Double, _ what: String) throws(CoderError) {
        try check(length, what, in: 0...4_294_967_296)
    }

    /// Returns the whole pixels around a rectangle that lie on the canvas.
    private func touched(_ rect: PointRect) -> (columns: Range<Int>, rows: Range<Int>) {
        func range(_ start: Double, _ length: Double, _ side: Int) -> Range<Int> {
            let first = max(0, min(Int(start.rounded(.down)), side))
            return first..<max(first, min(Int((start + length).rounded(.up)), side))
        }
        return (range(rect.x, rect.width, pixelSize.width), range(rect.y, rect.height, pixelSize.height))
    }

    private func paint(_ shape: RoundedShape, within rect: PointRect, _ color: RGBAColor, _ mode: BlendMode) {
        let (columns, rows) = touched(rect)
        let source = WorkRow.filled(with: color, count: columns.count)
        for y in rows {
            let coverage = clipped(shape.coverage(y, columns), y, columns)
            blend(source, mode, coverage, y, columns.lowerBound)
        }
    }

    private func draw(
        _ image: PixelBuffer, left: Int, top: Int, _ mode: BlendMode, _ alpha: Double
    ) throws(CoderError) {
        try check(alpha, "an alpha", in: 0...1)
        let image = try image.workable("drawing")
        let area = PixelRect(x: left, y: top, width: image.size.width, height: image.size.height)
        let visible = area.intersection(PixelRect(pixelSize))
        if visible.isEmpty { return }
        let columns = visible.x..<visible.x + visible.width
        let part = [UInt16](repeating: UInt16((alpha * 65_535).rounded()), count: columns.count)
        var work = [UInt16](repeating: 0, count: image.size.width * 4)
        for y in visible.y..<visible.y + visible.height {
            image.loadWork(y - top, into: &work)
            let start = (visible.x - left) * 4
            var source = visible.width == image.size.width ? work : Array(work[start..<start + columns.count * 4])
            if alpha < 1 { WorkRow.cover(&source, part) }
            blend(source, mode, clipped(.full, y, columns), y, columns.lowerBound)
        }
    }

    private func clipped(_ coverage: RoundedShape.Coverage, _ y: Int, _ columns: Range<Int>) -> RoundedShape.Coverage {
        var coverage = coverage
        for clip in clips {
            switch (coverage, clip.coverage(y, columns)) {
            case (.empty, _), (_, .full): break
            case (_, .empty): coverage = .empty
            case (.full, .partial(let part)): coverage = .partial(part)
            case (.partial(let a), .partial(let b)):
                coverage = .partial(zip(a, b).map { UInt16((UInt32($0) * UInt32($1) + 32_767) / 65_535) })
            }
        }
        return coverage
    }

    private func blend(_ source: [UInt16], _ mode: BlendMode, _ coverage: RoundedShape.Coverage, _ y: Int, _ x: Int) {
        switch coverage {
        case .empty: break
        case .full: canvas.blendWork(y, from: x, source, mode, coverage: nil)
        case .partial(let part): canvas.blendWork(y, from: x, source, mode, coverage: part)
        }
    }
}
