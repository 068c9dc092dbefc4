import CPixelKernels
import Glibc
import ImageModel

/// Resamples 8 bit samples in integers: several times faster than in floats, and exact within rounding.
final class ByteEngine: ResamplingEngine {
    private let target: Int
    private let channels: Int
    private let bytesPerPixel: Int
    private let alpha: PixelFormat.Alpha
    private let across: ResamplingAxis
    private let down: ResamplingAxis
    /// Whether rows are kept as bytes, not as words premultiplied by alpha.
    private let keepsBytes: Bool
    private let isBinned: Bool
    /// Samples from one row to the next.
    private let stride: Int
    private let slots: Int
    private let ring: AlignedMemory
    /// The row sums of a bin, and a row before it is added to them.
    private let sums: AlignedMemory
    private let fresh: AlignedMemory
    /// A row of weighted columns, a finished row, and that row as bytes.
    private let column: AlignedMemory
    private let finished: AlignedMemory
    private let result: AlignedMemory
    private var starts: [Int32] = []
    private var weights: [Int16] = []
    private let taps: Int
    private var rowWeights: [Int16] = []

    /// Returns whether this engine supports the format and the axes.
    static func serves(
        _ format: PixelFormat, _ across: ResamplingAxis, _ down: ResamplingAxis, _ how: Resampling
    ) -> Bool {
        // Bin sums have 32 bits.
        format.numeric == .unorm && format.bits == 8 && (!how.linearLight || format.channels == .cmyk)
            && down.mostTaps < PIXEL_MOST_ROWS && down.binning <= 1 << 16
    }

    init(format: PixelFormat, across: ResamplingAxis, down: ResamplingAxis) throws(CoderError) {
        self.across = across
        self.down = down
        target = across.target
        channels = format.channels.count
        bytesPerPixel = format.bytesPerPixel
        alpha = format.alpha
        isBinned = across.binning > 1 || down.binning > 1
        keepsBytes = format.alpha != .straight && !isBinned
        let padding = PIXEL_ROW_PADDING
        let (samples, overflow) = across.count.multipliedReportingOverflow(by: channels)
        guard !overflow, samples < Int.max / 8, target < Int.max / 64 else {
            throw CoderError(.outOfMemory, "rows of this size do not fit into memory")
        }
        // An odd number of cache lines: rows at power-of-two distances would evict each other.
        let lines = (samples + padding + 63) / 64
        stride = (lines | 1) * 64
        slots = down.mostTaps
        ring = try AlignedMemory(slots, stride, keepsBytes ? 1 : 2)
        let group = Int(pixel_words_tap_group(Int32(channels)))
        taps = (across.mostTaps + group - 1) / group * group
        // At the right edge a target pixel has fewer taps than most. The surplus reads must stay in memory; their
        // weight is 0.
        column = try AlignedMemory(stride + taps * channels, 2)
        // Pixels of three samples are written as four.
        finished = try AlignedMemory(target * channels + padding, 2)
        result = try AlignedMemory(target * channels + padding)
        let source = isBinned ? across.count * across.binning : 0
        sums = try AlignedMemory(source, channels, 4)
        fresh = try AlignedMemory(format.alpha == .straight ? source : 0, channels, 2)
        try tabulate()
    }

    /// Stores the weights of all columns in rows of equal length; zero weights reach past the end of a pixel row.
    private func tabulate() throws(CoderError) {
        guard !across.isIdentity else { return }
        let (all, overflow) = target.multipliedReportingOverflow(by: taps)
        guard !overflow, all < Int.max / 2 else { throw CoderError(.outOfMemory, "too many weights") }
        starts.reserveCapacity(target)
        weights.reserveCapacity(all)
        var exact: [Double] = []
        for x in 0..<target {
            starts.append(Int32(across.weights(of: x, into: &exact)))
            ResamplingAxis.quantize(exact, one: PIXEL_WEIGHT_ONE, into: &weights)
            for _ in exact.count..<taps { weights.append(0) }
        }
    }

    func take(_ row: RawSpan, _ number: Int) {
        let slot = number / down.binning % slots * stride
        let width = min(across.count * across.binning, row.byteCount / bytesPerPixel)
        unsafe row.withUnsafeBytes { bytes in
            guard let source = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            if keepsBytes {
                unsafe memcpy(ring.start + slot, source, width * channels)
            } else if isBinned {
                unsafe add(source, width, number)
            } else {
                let words = unsafe ring.start.assumingMemoryBound(to: Int16.self) + slot
                unsafe pixel_bytes_premultiply(source, words, UInt64(width), Int32(channels))
            }
        }
    }

    /// Adds a row to its bins, and stores the bins when they are full.
    private func add(_ source: UnsafePointer<UInt8>, _ width: Int, _ number: Int) {
        let row = number % down.binning
        let samples = UInt64(width * channels)
        let sums = unsafe sums.start.assumingMemoryBound(to: UInt32.self)
        if row == 0 { unsafe memset(sums, 0, width * channels * 4) }
        if alpha == .straight {
            let words = unsafe fresh.start.assumingMemoryBound(to: Int16.self)
            unsafe pixel_bytes_premultiply(source, words, UInt64(width), Int32(channels))
            unsafe pixel_words_add(words, sums, samples)
        } else {
            unsafe pixel_bytes_add(source, sums, samples)
        }
        guard row == down.binning - 1 || number == down.sourceCount - 1 else { return }
        let slot = unsafe ring.start.assumingMemoryBound(to: Int16.self) + number / down.binning % slots * stride
        unsafe pixel_sums_bin(
            sums, slot, UInt64(width), Int32(channels), UInt64(across.binning), UInt64(row + 1),
            alpha == .straight ? 1 : 64)
    }

    func finish(first: Int, _ exact: [Double]) {
        rowWeights.removeAll(keepingCapacity: true)
        ResamplingAxis.quantize(exact, one: PIXEL_WEIGHT_ONE, into: &rowWeights)
        if rowWeights.count % 2 == 1 { rowWeights.append(0) }
        let columns = unsafe column.start.assumingMemoryBound(to: Int16.self)
        let (samples, count) = (UInt64(across.count * channels), UInt64(rowWeights.count))
        if keepsBytes {
            unsafe pixel_bytes_weigh_down(
                ring.start.assumingMemoryBound(to: UInt8.self), UInt64(stride), UInt64(slots), UInt64(first),
                rowWeights, count, columns, samples)
        } else {
            unsafe pixel_words_weigh_down(
                ring.start.assumingMemoryBound(to: Int16.self), UInt64(stride), UInt64(slots), UInt64(first),
                rowWeights, count, columns, samples)
        }
        let row = unsafe finished.start.assumingMemoryBound(to: Int16.self)
        if !across.isIdentity {
            unsafe pixel_words_weigh_across(
                columns, row, UInt64(target), Int32(channels), starts, weights, UInt64(taps))
        }
        let done = unsafe across.isIdentity ? columns : row
        let bytes = unsafe result.start.assumingMemoryBound(to: UInt8.self)
        switch alpha {
        case .none, .opaque: unsafe pixel_words_store(done, bytes, UInt64(target * channels))
        case .straight: unsafe pixel_words_store_alpha(done, bytes, UInt64(target), Int32(channels), 1)
        case .premultiplied: unsafe pixel_words_store_alpha(done, bytes, UInt64(target), Int32(channels), 0)
        }
    }

    func withRow<R>(_ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        let row = unsafe UnsafeRawBufferPointer(start: result.start, count: target * bytesPerPixel)
        return try unsafe body(row.bytes)
    }
}
