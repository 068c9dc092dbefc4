import CoderPluginKit
import HEIFCodec
import ImageModel
import Testing

/// An image that `HEIFDecoder` has decoded.
struct DecodedHEIF {
    let info: ImageInfo
    let pixels: PixelBuffer

    /// The samples of one pixel, 16-bit ones whole.
    func samples(_ x: Int, _ y: Int) -> [Int] {
        let count = pixels.format.channels.count
        let wide = pixels.format.bits == 16
        return pixels.withRow(y) { row in
            (0..<count).map { channel in
                let index = x * count + channel
                return wide
                    ? Int(row.pair(at: index)) : Int(row.byte(at: index))
            }
        }
    }

    /// The largest difference from the pattern, in 8-bit steps.
    func distance(to expected: (Int, Int) -> [Int]) -> Int {
        var largest = 0
        let scale = pixels.format.bits == 16 ? 257 : 1
        for y in 0..<info.size.height {
            for x in 0..<info.size.width {
                for (got, want) in zip(samples(x, y), expected(x, y)) {
                    largest = max(largest, abs(got - want * scale) / scale)
                }
            }
        }
        return largest
    }
}

extension RawSpan {
    fileprivate func byte(at index: Int) -> UInt8 { unsafe unsafeLoad(fromByteOffset: index, as: UInt8.self) }
    fileprivate func pair(at index: Int) -> UInt16 {
        unsafe unsafeLoadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)
    }
}

func heifDecoder(_ bytes: [UInt8], limits: DecodeLimits = .default) throws -> HEIFDecoder {
    try HEIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
}

func decodeHEIF(
    _ bytes: [UInt8], as format: PixelFormat? = nil, limits: DecodeLimits = .default
) throws -> DecodedHEIF {
    let decoder = try heifDecoder(bytes, limits: limits)
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: format ?? info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return DecodedHEIF(info: info, pixels: buffer)
}
