import CoderPluginKit
import ImageModel

/// A position in the source, from which rows are read.
struct RowInput {
    let source: ByteSource
    var offset: Int

    /// Calls `body` with the next `count` bytes and moves behind them.
    ///
    /// - Throws: `.needsInput` or `.truncated` if they are not there.
    mutating func read<R>(exactly count: Int, _ body: (RawSpan) -> R) throws(CoderError) -> R {
        try ByteReader(source, at: offset).require(count)
        defer { offset += count }
        return source.withBytes(offset..<offset + count) { body($0) }
    }

    /// Calls `body` with the next bytes, at most `most`, and moves behind those that it reports as used.
    ///
    /// - Parameter body: returns nil if the bytes are not enough.
    /// - Throws: `.needsInput` or `.truncated` if they are not enough; the position stays.
    mutating func read(
        upTo most: Int, _ body: (RawSpan) throws(CoderError) -> Int?
    ) throws(CoderError) {
        // Keep this order: bytes that arrive after this check are found later, and not reported as missing.
        let isComplete = source.isComplete
        let available = source.available
        let start = min(offset, available)
        let end = available - start > most ? start + most : available
        guard let used = try source.withBytes(start..<end, body) else {
            if end - start >= most { throw .corrupt("a row has more data than pixels", at: start) }
            throw isComplete ? .truncated() : .needsInput
        }
        offset += used
    }
}

extension PixelSize {
    /// Returns the size of a header whose sides must be positive and whose rows must be countable.
    ///
    /// - Parameter bits: the largest number of bits of a pixel, stored or decoded.
    static func checked(_ width: Int, _ height: Int, bits: Int, at offset: Int) throws(CoderError) -> PixelSize {
        let size = PixelSize(width, height)
        guard width > 0, height > 0, max(width, height) <= Int(UInt32.max), let area = size.area,
            area <= (Int.max / 2 - (1 << 40)) / bits
        else {
            throw .corrupt("invalid image size \(size)", at: offset)
        }
        return size
    }
}

extension CodePoints {
    /// Linear light with the primaries of sRGB.
    static let linear = CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true)
}
