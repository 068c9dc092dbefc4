package import ImageModel

/// An image at another size, computed row by row from a source that is read once, from the top.
///
/// After an error from the source, the caller can request the same row again once the source is ready.
///
/// - Concurrency: one thread at a time.
package final class ResampledRows: RowSource {
    /// The size of the result.
    package let size: PixelSize
    /// The format of the source and the result.
    package var format: PixelFormat { source.format }

    private let source: any RowSource
    private let across: ResamplingAxis
    private let down: ResamplingAxis
    /// The engine; nil if every pixel stays the same.
    private let engine: (any ResamplingEngine)?
    /// The next source row to read, counted from the first row that is needed.
    private var next = 0
    private var current = -1
    private var weights: [Double] = []

    /// Prepares a resampling of a source, or of a window of it.
    ///
    /// - Throws: `.invalidArgument` for an empty size or a window that is not within the source, `.outOfMemory`.
    package init(
        _ source: any RowSource, window: SourceWindow? = nil, to size: PixelSize, _ how: Resampling = Resampling()
    ) throws(CoderError) {
        guard !source.size.isEmpty, !size.isEmpty, size.width <= Int32.max, size.height <= Int32.max else {
            throw .invalidArgument("an image of \(source.size) pixels cannot become one of \(size)")
        }
        let window = window ?? SourceWindow(PixelRect(source.size))
        guard window.x >= 0, window.y >= 0, window.width > 0, window.height > 0,
            window.x + window.width <= Double(source.size.width), window.y + window.height <= Double(source.size.height)
        else {
            throw .invalidArgument("the part \(window) is not within an image of \(source.size) pixels")
        }
        self.source = source
        self.size = size
        across = ResamplingAxis(
            start: window.x, length: window.width, within: source.size.width, target: size.width, filter: how.filter)
        down = ResamplingAxis(
            start: window.y, length: window.height, within: source.size.height, target: size.height,
            filter: how.filter)
        if across.isIdentity && down.isIdentity {
            engine = nil
        } else if ByteEngine.serves(source.format, across, down, how) {
            engine = try ByteEngine(format: source.format, across: across, down: down)
        } else {
            engine = try FloatEngine(
                format: source.format, across: across, down: down, linearLight: how.linearLight)
        }
    }

    /// Calls `body` with row `y`, which is computed from the source's rows.
    package func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        guard y < size.height, y >= current, y >= 0 else {
            throw CoderError(.misuse, "row \(y) was asked for after row \(current) of \(size.height)")
        }
        guard let engine else {
            let part = across.first * format.bytesPerPixel..<(across.first + size.width) * format.bytesPerPixel
            let value = try source.withRow(down.first + y) { row throws(CoderError) in
                try check(row)
                return try body(row.extracting(part))
            }
            current = y
            return value
        }
        if y > current {
            let first = down.weights(of: y, into: &weights)
            try read(engine, to: first + weights.count)
            engine.finish(first: first, weights)
            current = y
        }
        return try engine.withRow(body)
    }

    /// Reads source rows until `count` bins are complete.
    private func read(_ engine: any ResamplingEngine, to count: Int) throws(CoderError) {
        let part = across.first * format.bytesPerPixel
        let last = min(count * down.binning, source.size.height - down.first)
        while next < last {
            try source.withRow(down.first + next) { row throws(CoderError) in
                try check(row)
                engine.take(row.extracting(part..<source.size.width * format.bytesPerPixel), next)
            }
            next += 1
        }
    }

    /// Checks a row from the source, which may be foreign code.
    private func check(_ row: RawSpan) throws(CoderError) {
        guard row.byteCount >= source.size.width * format.bytesPerPixel else {
            throw CoderError(.misuse, "a row of \(row.byteCount) bytes is too short for \(source.size) pixels")
        }
    }
}

/// The arithmetic of ``ResampledRows``, with its memory.
protocol ResamplingEngine: AnyObject {
    /// Adds source row `number`, which follows the previous one; the row begins with the first pixel that is needed.
    func take(_ row: RawSpan, _ number: Int)

    /// Computes a target row from the source rows (or bins of rows) from `first` on.
    func finish(first: Int, _ weights: [Double])

    /// Calls `body` with the latest target row.
    func withRow<R>(_ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R
}
