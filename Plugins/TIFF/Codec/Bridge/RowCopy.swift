internal import CoderPluginKit
internal import ImageModel

/// Copies and reads of samples, checked once for a row.
enum RowCopy {
    /// Copies bytes to the place `offset` of a row.
    static func copy(_ source: RawSpan, _ start: Int, _ count: Int, to row: inout MutableRawSpan, at offset: Int) {
        row.copy(source.extracting(start..<start + count), toByteOffset: offset)
    }

    /// Copies bytes to the place `offset` of a row.
    static func copy(_ source: [UInt8], _ start: Int, _ count: Int, to row: inout MutableRawSpan, at offset: Int) {
        row.copy(source.span.extracting(start..<start + count), toByteOffset: offset)
    }

    /// Copies bytes of a row to the place `offset` of a block.
    static func copy(_ row: RawSpan, _ start: Int, _ count: Int, to target: inout [UInt8], at offset: Int) {
        precondition(start >= 0 && count >= 0 && start + count <= row.byteCount)
        precondition(offset >= 0 && offset + count <= target.count)
        unsafe row.withUnsafeBytes { row in
            unsafe target.withUnsafeMutableBytes { target in
                guard let from = row.baseAddress, let to = target.baseAddress else { return }
                unsafe (to + offset).copyMemory(from: from + start, byteCount: count)
            }
        }
    }

    /// Reads a native sample of 16, 32 or 64 bits.
    @inline(__always)
    static func word<T: FixedWidthInteger & BitwiseCopyable>(_ bytes: [UInt8], _ offset: Int, _: T.Type) -> T {
        precondition(offset >= 0 && offset <= bytes.count - MemoryLayout<T>.size)
        return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: T.self) }
    }

    /// Keeps the first `kept` of every `stored` bytes, and flips the bits of the first `flipped` of them.
    static func pick(
        _ kept: Int, of stored: Int, flipping flipped: Int, _ source: [UInt8], from start: Int, pixels: Int,
        to row: inout MutableRawSpan, at offset: Int
    ) {
        guard pixels > 0 else { return }
        precondition(start >= 0 && kept <= stored && start + (pixels - 1) * stored + kept <= source.count)
        precondition(offset >= 0 && offset + pixels * kept <= row.byteCount)
        unsafe source.withUnsafeBytes { source in
            unsafe row.withUnsafeMutableBytes { row in
                for channel in 0..<kept {
                    let mask: UInt8 = channel < flipped ? 255 : 0
                    for pixel in 0..<pixels {
                        unsafe row[offset + pixel * kept + channel] = source[start + pixel * stored + channel] ^ mask
                    }
                }
            }
        }
    }

    /// Replaces every byte by eight pixels of one byte each: 1 bit, from a column that begins a byte.
    ///
    /// - Parameter table: the eight pixels of each byte, in memory order.
    static func expand(
        _ table: [UInt64], _ source: [UInt8], from start: Int, columns: Range<Int>, to row: inout MutableRawSpan,
        at offset: Int
    ) {
        let (first, whole) = (start + columns.lowerBound / 8, columns.count / 8)
        precondition(columns.lowerBound % 8 == 0 && table.count == 256 && start >= 0)
        precondition(first + (columns.count + 7) / 8 <= source.count)
        precondition(offset >= 0 && offset + columns.count <= row.byteCount)
        unsafe table.withUnsafeBufferPointer { table in
            unsafe source.withUnsafeBufferPointer { source in
                unsafe row.withUnsafeMutableBytes { row in
                    for index in 0..<whole {
                        let pixels = unsafe table[Int(source[first + index])]
                        unsafe row.storeBytes(of: pixels, toByteOffset: offset + 8 * index, as: UInt64.self)
                    }
                    guard columns.count % 8 > 0 else { return }
                    let pixels = unsafe table[Int(source[first + whole])]
                    unsafe withUnsafeBytes(of: pixels) { pixels in
                        for rest in 0..<columns.count % 8 { unsafe row[offset + 8 * whole + rest] = pixels[rest] }
                    }
                }
            }
        }
    }

    /// Replaces the samples of 1 to 8 bits of one channel by entries of a table, each of `width` bytes.
    static func look(
        up table: [UInt8], width: Int, bits: Int, _ source: [UInt8], from start: Int, columns: Range<Int>,
        to row: inout MutableRawSpan, at offset: Int
    ) {
        guard !columns.isEmpty, [1, 2, 4, 8].contains(bits) else { return }
        let perByte = 8 / bits
        precondition(start >= 0 && start + (columns.upperBound - 1) / perByte < source.count)
        precondition(offset >= 0 && offset + columns.count * width <= row.byteCount && table.count == width << bits)
        let mask = (1 << bits) - 1
        unsafe table.withUnsafeBufferPointer { table in
            unsafe source.withUnsafeBytes { source in
                unsafe row.withUnsafeMutableBytes { row in
                    var to = offset
                    for x in columns {
                        let byte = unsafe Int(source[start + x / perByte])
                        let entry = byte >> (8 - bits * (x % perByte + 1)) & mask
                        for part in 0..<width { unsafe row[to + part] = table[entry * width + part] }
                        to += width
                    }
                }
            }
        }
    }
}
