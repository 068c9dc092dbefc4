internal import CoderPluginKit
internal import ImageModel
internal import PNGShim

/// Rows of an image as a PNG stores them, without filters.
@safe struct StoredRows: ~Copyable {
    /// The conversion from pixels to stored samples.
    struct Packing: Hashable {
        /// The number of channels in the file.
        var channels: Int
        /// The bits of a sample in the file.
        var depth: Int
        /// The stored value for each value of the only 8-bit channel; empty for several channels and for 16 bits.
        var values: [UInt8] = []

        /// Returns the bytes of a row of this many pixels.
        func bytesPerRow(width: Int) -> Int { (width * channels * depth + 7) / 8 }
        /// The bytes from a sample to the same sample of the next pixel, at least 1.
        var step: Int { max(1, channels * depth / 8) }

        @unsafe
        fileprivate func raw(_ buffer: PixelBuffer) -> pngshim_packing {
            var packing = pngshim_packing()
            packing.width = UInt32(buffer.size.width)
            packing.channels = UInt8(buffer.format.channels.count)
            packing.sample_bytes = UInt8(buffer.format.bytesPerSample)
            packing.file_channels = UInt8(channels)
            packing.narrow = buffer.format.bits == 16 && depth == 8 ? 1 : 0
            guard !values.isEmpty else { return packing }
            packing.depth = UInt8(depth)
            unsafe withUnsafeMutableBytes(of: &packing.values) { unsafe $0.copyBytes(from: values) }
            return packing
        }
    }

    private let memory: UnsafeMutablePointer<UInt8>
    private let capacity: Int
    private(set) var count = 0
    let bytesPerRow: Int

    /// Reserves room for this many rows.
    init(capacity: Int, bytesPerRow: Int) {
        precondition(capacity > 0 && bytesPerRow > 0)
        self.capacity = capacity
        self.bytesPerRow = bytesPerRow
        unsafe memory = .allocate(capacity: capacity * bytesPerRow)
        unsafe memory.initialize(repeating: 0, count: capacity * bytesPerRow)
    }

    deinit { unsafe memory.deallocate() }

    /// Removes all rows.
    mutating func clear() { count = 0 }

    /// Adds some rows of an image.
    mutating func append(_ rows: Range<Int>, of buffer: PixelBuffer, _ packing: Packing) {
        precondition(rows.count <= capacity - count && rows.lowerBound >= 0 && rows.upperBound <= buffer.size.height)
        precondition(bytesPerRow == packing.bytesPerRow(width: buffer.size.width))
        precondition(packing.values.isEmpty || packing.values.count == 256 && buffer.format.bytesPerPixel == 1)
        precondition(packing.channels <= buffer.format.channels.count)
        var raw = unsafe packing.raw(buffer)
        unsafe buffer.withUnsafeMutableBytes { bytes in
            let start = unsafe (bytes.baseAddress! + rows.lowerBound * buffer.stride)
                .assumingMemoryBound(to: UInt8.self)
            unsafe pngshim_pack_rows(
                &raw, start, UInt64(buffer.stride), UInt32(rows.count), memory + count * bytesPerRow)
        }
        count += rows.count
    }

    /// Passes some of the rows to `body`.
    @unsafe
    func withRows<R>(_ range: Range<Int>, _ body: (UnsafePointer<UInt8>) -> R) -> R {
        precondition(range.lowerBound >= 0 && range.upperBound <= count)
        return unsafe body(memory + range.lowerBound * bytesPerRow)
    }
}
