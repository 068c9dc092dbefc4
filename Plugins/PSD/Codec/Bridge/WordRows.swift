/// Joins rows of big-endian 16-bit samples to pixels.
///
/// Checking each byte of each row takes longer than all the rest of decoding a file without compression, so the bounds
/// are checked once for a row.
enum WordRows {
    /// Stores the pixels `columns` of a row.
    ///
    /// - Parameters:
    ///   - rows: the row of each channel.
    ///   - flip: the bits to invert.
    ///   - unmixed: makes a color of the stored one and alpha, which is the last channel; nil without alpha.
    static func join(
        _ rows: [[UInt8]], _ columns: Range<Int>, flip: UInt16 = 0, unmixed: ((UInt16, UInt16) -> UInt16)? = nil,
        into target: inout MutableRawSpan
    ) {
        precondition(columns.lowerBound >= 0 && rows.allSatisfy { $0.count >= 2 * columns.upperBound })
        precondition(target.byteCount >= 2 * rows.count * columns.count)
        unsafe target.withUnsafeMutableBytes { target in
            if rows.count == 3, unmixed == nil, flip == 0 {
                return unsafe triples(rows[0], rows[1], rows[2], columns, target)
            }
            let count = rows.count
            for channel in rows.indices {
                let hasColor = channel < count - 1
                unsafe rows[channel].withUnsafeBytes { row in
                    unsafe rows[count - 1].withUnsafeBytes { alpha in
                        var to = 2 * channel
                        for x in columns {
                            var sample = unsafe word(row, x)
                            if hasColor, let unmixed {
                                let alpha = unsafe word(alpha, x)
                                // Most pixels of most images are opaque or empty.
                                if alpha != .max, alpha != 0 { sample = unmixed(sample, alpha) }
                            }
                            unsafe target.storeBytes(of: sample ^ flip, toByteOffset: to, as: UInt16.self)
                            to += 2 * count
                        }
                    }
                }
            }
        }
    }

    /// Stores four pixels at once, in three words.
    private static func triples(
        _ red: [UInt8], _ green: [UInt8], _ blue: [UInt8], _ columns: Range<Int>,
        _ target: UnsafeMutableRawBufferPointer
    ) {
        unsafe red.withUnsafeBytes { red in
            unsafe green.withUnsafeBytes { green in
                unsafe blue.withUnsafeBytes { blue in
                    var (x, to) = (columns.lowerBound, 0)
                    while x + 4 <= columns.upperBound {
                        let (r, g, b) = unsafe (four(red, x), four(green, x), four(blue, x))
                        let first = r & 0xFFFF | (g & 0xFFFF) << 16 | (b & 0xFFFF) << 32 | (r & 0xFFFF_0000) << 32
                        let second =
                            g >> 16 & 0xFFFF | b & 0xFFFF_0000 | r & 0xFFFF_0000_0000 | (g & 0xFFFF_0000_0000) << 16
                        let third = b >> 32 & 0xFFFF | (r >> 48) << 16 | (g >> 48) << 32 | (b >> 48) << 48
                        unsafe target.storeBytes(of: first.littleEndian, toByteOffset: to, as: UInt64.self)
                        unsafe target.storeBytes(of: second.littleEndian, toByteOffset: to + 8, as: UInt64.self)
                        unsafe target.storeBytes(of: third.littleEndian, toByteOffset: to + 16, as: UInt64.self)
                        (x, to) = (x + 4, to + 24)
                    }
                    while x < columns.upperBound {
                        unsafe target.storeBytes(of: word(red, x), toByteOffset: to, as: UInt16.self)
                        unsafe target.storeBytes(of: word(green, x), toByteOffset: to + 2, as: UInt16.self)
                        unsafe target.storeBytes(of: word(blue, x), toByteOffset: to + 4, as: UInt16.self)
                        (x, to) = (x + 1, to + 6)
                    }
                }
            }
        }
    }

    @inline(__always)
    private static func word(_ row: UnsafeRawBufferPointer, _ x: Int) -> UInt16 {
        unsafe UInt16(bigEndian: row.loadUnaligned(fromByteOffset: 2 * x, as: UInt16.self))
    }

    /// Returns four samples, the first in the lowest bits.
    @inline(__always)
    private static func four(_ row: UnsafeRawBufferPointer, _ x: Int) -> UInt64 {
        let stored = unsafe UInt64(littleEndian: row.loadUnaligned(fromByteOffset: 2 * x, as: UInt64.self))
        return (stored & 0x00FF_00FF_00FF_00FF) << 8 | stored >> 8 & 0x00FF_00FF_00FF_00FF
    }
}
