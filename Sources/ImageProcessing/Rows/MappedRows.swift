import HostSystem
package import ImageModel

/// Rows that are computed from one row of the source each.
///
/// - Concurrency: one thread at a time.
package final class MappedRows: RowSource {
    /// The size of the source.
    package var size: PixelSize { source.size }
    /// The format of the computed rows.
    package let format: PixelFormat

    private let source: any RowSource
    private let map: (RawSpan, inout MutableRawSpan) throws(CoderError) -> Void
    private var result: [UInt8]
    /// The row in `result`.
    private var current = -1

    /// - Parameter map: computes a row, from a row of the source.
    package init(
        _ source: any RowSource, to format: PixelFormat,
        _ map: @escaping (RawSpan, inout MutableRawSpan) throws(CoderError) -> Void
    ) throws(CoderError) {
        guard let count = format.bytesPerRow(width: source.size.width) else {
            throw .invalidArgument("there are no rows of \(source.size.width) pixels")
        }
        self.source = source
        self.format = format
        self.map = map
        result = [UInt8](repeating: 0, count: count)
    }

    /// Calls `body` with row `y`.
    package func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        if y != current {
            current = -1
            try source.withRow(y) { row throws(CoderError) in
                try result.withMutableSpan { target throws(CoderError) in try map(row, &target) }
            }
            current = y
        }
        return try result.withSpan(body)
    }
}

extension RowSource {
    /// Returns the rows in another format, converted as by ``PixelConverter``.
    package func converted(
        to format: PixelFormat, background: RGBAColor = .white
    ) throws(CoderError) -> any RowSource {
        if format == self.format { return self }
        let (row, count) = (try RowConverter(from: self.format, to: format, background: background), size.width)
        return try MappedRows(self, to: format) { source, target in row.convert(source, &target, count: count) }
    }

    /// Returns the rows with left and right exchanged.
    package func mirrored() throws(CoderError) -> any RowSource {
        try MappedRows(self, to: format) { [bytesPerPixel = format.bytesPerPixel] source, row in
            mirrorPixels(source, into: &row, bytesPerPixel: bytesPerPixel)
        }
    }

    /// Returns rows computed by `body` on work rows; CMYK becomes RGB first.
    ///
    /// - Parameter what: the operation, for the error message.
    /// - Throws: `.unsupportedFeature` for float samples.
    func mappedWork(
        _ what: String, format target: (PixelFormat) -> PixelFormat, _ body: @escaping (inout [UInt16]) -> Void
    ) throws(CoderError) -> any RowSource {
        try format.checkWorkable(what)
        let rows = format.channels == .cmyk ? try converted(to: format.withColors) : self
        let (from, to) = (rows.format, target(rows.format))
        var work = [UInt16](repeating: 0, count: size.width * 4)
        return try MappedRows(rows, to: to) { source, row in
            WorkRow.load(source, from, into: &work)
            body(&work)
            WorkRow.store(work, to, into: &row)
        }
    }

    /// Returns the rows in another color space.
    package func converted(by transform: ColorTransform) throws(CoderError) -> any RowSource {
        if transform.isIdentity { return self }
        return try MappedRows(self, to: transform.targetFormat) { [count = size.width] source, row in
            transform.convert(source, &row, count: count)
        }
    }

    /// Returns the whole image in memory.
    package func collected(pool: PixelBufferPool = .shared) throws(CoderError) -> PixelBuffer {
        let pixels = try pool.take(size, format, clean: false)
        for y in 0..<size.height {
            try withRow(y) { row throws(CoderError) in pixels.withMutableRow(y) { $0.copy(row) } }
        }
        return pixels
    }
}
