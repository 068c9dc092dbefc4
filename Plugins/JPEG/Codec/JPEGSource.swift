import CoderPluginKit
import ImageModel

/// The bytes of a file; reading reports errors if the host only reads piece by piece.
final class JPEGSource {
    let source: ByteSource
    /// The last bytes read, if the file is not in memory.
    private var window: [UInt8] = []
    private var start = 0

    /// The number of bytes read at once.
    static let windowCount = 1 << 16

    init(_ source: ByteSource) { self.source = source }

    var count: Int { source.available }

    /// The byte at an offset below ``count``.
    ///
    /// - Throws: `.inputOutput`, `.truncated`.
    func byte(_ offset: Int) throws(CoderError) -> UInt8 {
        if source.isContiguous { return source[offset] }
        try load(offset..<offset + 1)
        return window[offset - start]
    }

    /// The big-endian number of two bytes below ``count``.
    func u16(_ offset: Int) throws(CoderError) -> Int { Int(try byte(offset)) << 8 | Int(try byte(offset + 1)) }

    /// Whether a range begins with these bytes.
    func begins(_ range: Range<Int>, with bytes: [UInt8]) throws(CoderError) -> Bool {
        guard range.count >= bytes.count else { return false }
        for (index, byte) in bytes.enumerated() where try self.byte(range.lowerBound + index) != byte { return false }
        return true
    }

    /// Copies a range below ``count``.
    func bytes(_ range: Range<Int>) throws(CoderError) -> [UInt8] {
        source.isContiguous ? source.bytes(range) : try source.read(range)
    }

    /// Returns the number of compressed bytes before the next marker, in a range of at most ``windowCount`` bytes.
    func bytesBeforeMarker(_ range: Range<Int>) throws(CoderError) -> Int {
        if source.isContiguous { return source.withBytes(range) { JPEGLibrary.bytesBeforeMarker($0) } }
        try load(range)
        let first = range.lowerBound - start
        return JPEGLibrary.bytesBeforeMarker(window[first..<first + range.count])
    }

    private func load(_ range: Range<Int>) throws(CoderError) {
        if range.lowerBound >= start, range.upperBound <= start + window.count { return }
        window = try source.read(range.lowerBound..<min(count, range.lowerBound + max(range.count, Self.windowCount)))
        start = range.lowerBound
    }
}
