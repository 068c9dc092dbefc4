import HostSystem
import ImageModel

/// Blurred rows, computed while the rows of the source arrive.
///
/// - Concurrency: one thread at a time.
final class BlurredRows: RowSource {
    var size: PixelSize { source.size }
    var format: PixelFormat { source.format }

    private let source: any RowSource
    private let blur: RowBlur
    /// Two rows of the source, which the blur takes at once, and two of the result.
    private let input, output: PixelBuffer
    /// The number of source rows in `input`, and of those that the blur took.
    private var held = 0, taken = 0
    /// The rows in `output`.
    private var rows = 0..<0

    /// - Throws: `.unsupportedFeature` for float samples, `.outOfMemory`.
    init(_ source: any RowSource, _ kernel: BlurKernel) throws(CoderError) {
        try source.format.checkWorkable("the blur")
        self.source = source
        blur = try RowBlur(source.size, source.format, kernel)
        let pair = PixelSize(source.size.width, 2)
        input = try PixelBufferPool.shared.take(pair, source.format, clean: false)
        output = try PixelBufferPool.shared.take(pair, source.format, clean: false)
    }

    func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        while y >= rows.upperBound { try computeNext() }
        return try output.withRow(y - rows.lowerBound, body)
    }

    private func computeNext() throws(CoderError) {
        let first = rows.upperBound
        guard taken < size.height else {
            blur.finish(output)
            rows = first..<first + 1
            return
        }
        let count = min(2, size.height - taken)
        while held < count {
            try source.withRow(taken + held) { row throws(CoderError) in input.withMutableRow(held) { $0.copy(row) } }
            held += 1
        }
        rows = first..<first + blur.take(input, count: count, output)
        taken += count
        held = 0
    }
}
