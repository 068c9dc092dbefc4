import CoderPluginKit
import ImageModel

/// The rows of one file, in the order in which the file stores them.
protocol StoredRows {
    /// Reads the header; throws `.needsInput` until it has arrived.
    init(_ session: DecoderSession) throws(CoderError)

    /// The facts of the image.
    var info: ImageInfo { get }
    /// Whether the file stores the bottom row first.
    var isFromBottom: Bool { get }

    /// Makes `row` the next row, counted in the order of the file; returns false if only its predecessors lead to it.
    ///
    /// Row 0 is always possible.
    mutating func begin(atRow row: Int) -> Bool

    /// Decodes the next row; an error leaves this value as it was, so that the call can be repeated.
    ///
    /// - Throws: `.needsInput`, `.truncated`, `.corrupt`.
    mutating func next(_ row: inout MutableRawSpan) throws(CoderError)

    /// The formats in which rows can be decoded, best first.
    var formats: [PixelFormat] { get }
    /// Sets the format of the next rows, one of ``formats``.
    mutating func choose(_ format: PixelFormat)
    /// A defect of the rows that are decoded so far, for the user.
    var warning: String? { get }
}

extension StoredRows {
    var isFromBottom: Bool { false }
    var formats: [PixelFormat] { [info.nativeFormat] }
    mutating func choose(_ format: PixelFormat) {}
    var warning: String? { nil }
}
