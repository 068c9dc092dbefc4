internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Finds smaller sample forms with the same pixels.
struct PixelFacts {
    /// Red, green and blue are equal in every pixel.
    var isGray: Bool
    /// Every pixel is opaque.
    var isOpaque: Bool
    /// Both bytes of every 16-bit sample are equal: 8 bits are enough.
    var isDoubled: Bool
    /// The color of the transparent pixels, if it is one color and no other pixel has it.
    var key: [UInt16]?
    /// The fewest bits that can store every gray of 8 bits.
    var grayDepth: Int
}

extension PixelFacts {
    private static let rowsAtOnce = 64

    init(of buffer: PixelBuffer, host: HostServices) throws(CoderError) {
        let survey = try SampleSurvey(of: Surface(buffer), host: host)
        isGray = survey.isGray || buffer.format.channels.count < 3
        isOpaque = survey.isOpaque
        isDoubled = survey.isDoubled
        key = isOpaque ? nil : try Self.key(of: buffer, host: host)
        grayDepth = isGray && buffer.format.bits == 8 ? try Self.grayDepth(of: buffer, host: host) : buffer.format.bits
    }

    private static func key(of buffer: PixelBuffer, host: HostServices) throws(CoderError) -> [UInt16]? {
        var key = pngshim_key(is_possible: 1, is_known: 0, color: (0, 0, 0))
        let (channels, bytes) = (UInt8(buffer.format.channels.count), UInt8(buffer.format.bytesPerSample))
        let width = UInt32(buffer.size.width)
        for isCheck in [false, true] {
            try unsafe visit(buffer, host) { start, stride, rows in
                if isCheck {
                    unsafe pngshim_key_check(&key, start, stride, width, rows, channels, bytes)
                } else {
                    unsafe pngshim_key_find(&key, start, stride, width, rows, channels, bytes)
                }
            }
        }
        return key.is_possible != 0 && key.is_known != 0 ? [key.color.0, key.color.1, key.color.2] : nil
    }

    private static func grayDepth(of buffer: PixelBuffer, host: HostServices) throws(CoderError) -> Int {
        var isUsed = [UInt8](repeating: 0, count: 256)
        let (channels, width) = (UInt8(buffer.format.channels.count), UInt32(buffer.size.width))
        try unsafe visit(buffer, host) { start, stride, rows in
            unsafe isUsed.withUnsafeMutableBufferPointer {
                unsafe pngshim_values_add($0.baseAddress!, start, stride, width, rows, channels)
            }
        }
        let values = isUsed.indices.filter { isUsed[$0] != 0 }
        return [1, 2, 4].first { depth in values.allSatisfy { $0 % (255 / (1 << depth - 1)) == 0 } } ?? 8
    }

    /// Counts how often each index is next to each other one; 256 counts per index, for the indices above it.
    static func neighbors(of indices: PixelBuffer, host: HostServices) throws(CoderError) -> [UInt32] {
        var counts = [UInt32](repeating: 0, count: 1 << 16)
        let width = UInt32(indices.size.width)
        try unsafe visit(indices, host) { start, stride, rows in
            unsafe counts.withUnsafeMutableBufferPointer {
                unsafe pngshim_neighbors_add($0.baseAddress!, start, stride, width, rows)
            }
        }
        return counts
    }

    /// Passes groups of rows to `body`: their start, the bytes from one row to the next, and their number.
    @unsafe
    static func visit(
        _ buffer: PixelBuffer, _ host: HostServices, _ body: (UnsafePointer<UInt8>, UInt64, UInt32) -> Void
    ) throws(CoderError) {
        for first in stride(from: 0, to: buffer.size.height, by: rowsAtOnce) {
            try host.checkCancellation()
            let rows = min(rowsAtOnce, buffer.size.height - first)
            unsafe buffer.withUnsafeMutableBytes { bytes in
                let start = unsafe (bytes.baseAddress! + first * buffer.stride).assumingMemoryBound(to: UInt8.self)
                unsafe body(start, UInt64(buffer.stride), UInt32(rows))
            }
        }
    }
}
