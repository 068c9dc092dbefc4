import HostSystem
import ImageModel

/// The rows of an image in the form used for comparison: RGBA, premultiplied, 8 or 16 bits.
struct ComparableRows {
    private let buffer: PixelBuffer
    private let converter: RowConverter?
    private let premultiplies: Bool
    private let bits: Int

    /// - Throws: `.unsupportedFeature` for float samples.
    init(_ buffer: PixelBuffer, bits: Int) throws(CoderError) {
        self.buffer = buffer
        self.bits = bits
        let isReady = buffer.format.channels == .rgba && buffer.format.bits == bits && buffer.format.numeric == .unorm
        // Premultiplied input stays unchanged.
        let isPremultiplied = buffer.format.alpha == .premultiplied
        let target = PixelFormat(.rgba, bits: bits, alpha: isPremultiplied ? .premultiplied : .straight)
        converter =
            isReady
            ? nil
            : try RowConverter(
                from: buffer.format, to: target, background: RGBAColor(red: 0, green: 0, blue: 0, alpha: 0))
        premultiplies = buffer.format.alpha == .straight
    }

    /// Returns a buffer for one row.
    func makeRow() -> [UInt8] { [UInt8](repeating: 0, count: buffer.size.width * bits / 2) }

    func read(_ y: Int, into row: inout [UInt8]) {
        if let converter {
            buffer.withRow(y) { source in
                unsafe row.withUnsafeMutableBytes { target in
                    var span = unsafe target.mutableBytes
                    converter.convert(source, &span, count: buffer.size.width)
                }
            }
        } else {
            buffer.copyRow(y, into: &row)
        }
        if premultiplies { ComparisonKernels.premultiply(&row, bits: bits) }
    }

    /// Returns the sample at an index of a row.
    func sample(_ row: [UInt8], _ index: Int) -> Int {
        bits == 8 ? Int(row[index]) : row.withSpan { Int($0.native(at: index * 2, as: UInt16.self)) }
    }
}
