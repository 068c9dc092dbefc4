import CPixelKernels
import Glibc
import ImageModel

/// Resamples in single floats: supports every format and linear light.
final class FloatEngine: ResamplingEngine {
    private let target: Int
    private let channels: Int
    private let across: ResamplingAxis
    private let down: ResamplingAxis
    private let outside: pixel_row_format
    private let curves: (toLinear: [Float], fromLinear: [Float])?
    /// Samples from one row to the next.
    private let stride: Int
    private let slots: Int
    private let ring: AlignedMemory
    /// A row before binning, a row of weighted columns, a finished row, and that row in its own format.
    private let fresh: AlignedMemory
    private let column: AlignedMemory
    private let finished: AlignedMemory
    private let result: AlignedMemory
    private let resultCount: Int
    private var starts: [Int32] = []
    private var weights: [Float] = []
    private let taps: Int
    private var rowWeights: [Float] = []

    init(
        format: PixelFormat, across: ResamplingAxis, down: ResamplingAxis, linearLight: Bool
    ) throws(CoderError) {
        self.across = across
        self.down = down
        target = across.target
        channels = format.channels.count
        outside = pixel_row_format(format)
        curves = linearLight && outside.colors > 0 ? (SRGBCurve.toLinear, SRGBCurve.fromLinear) : nil
        let alignment = 16
        let (samples, overflow) = across.count.multipliedReportingOverflow(by: channels)
        guard !overflow, samples < Int.max - alignment else {
            throw CoderError(.outOfMemory, "rows of this size do not fit into memory")
        }
        stride = (samples + alignment - 1) / alignment * alignment
        slots = down.mostTaps
        resultCount = target * format.bytesPerPixel
        ring = try AlignedMemory(slots, stride, MemoryLayout<Float>.size)
        column = try AlignedMemory(stride, MemoryLayout<Float>.size)
        finished = try AlignedMemory(target, channels, MemoryLayout<Float>.size)
        result = try AlignedMemory(resultCount)
        let isBinned = across.binning > 1 || down.binning > 1
        fresh = try AlignedMemory(isBinned ? across.count * across.binning : 0, channels, MemoryLayout<Float>.size)
        taps = across.mostTaps
        try tabulate()
    }

    /// Stores the weights of all columns in rows of equal length.
    private func tabulate() throws(CoderError) {
        guard !across.isIdentity else { return }
        let (all, overflow) = target.multipliedReportingOverflow(by: taps)
        guard !overflow, all < Int.max / 4 else { throw CoderError(.outOfMemory, "too many weights") }
        starts.reserveCapacity(target)
        weights.reserveCapacity(all)
        var exact: [Double] = []
        for x in 0..<target {
            let first = across.weights(of: x, into: &exact)
            // The last ranges begin earlier, so that they stay within the row.
            let start = min(first, across.count - taps)
            starts.append(Int32(start))
            for _ in start..<first { weights.append(0) }
            for (index, weight) in exact.enumerated() {
                weights.append(Float(weight / across.fullness(first + index)))
            }
            for _ in first - start + exact.count..<taps { weights.append(0) }
        }
    }

    func take(_ row: RawSpan, _ number: Int) {
        let bin = number / down.binning
        let slot = unsafe ring.start.assumingMemoryBound(to: Float.self) + bin % slots * stride
        let width = min(across.count * across.binning, row.byteCount / (resultCount / target))
        unsafe row.withUnsafeBytes { bytes in
            let isBinned = across.binning > 1 || down.binning > 1
            let to = unsafe isBinned ? fresh.start.assumingMemoryBound(to: Float.self) : slot
            var outside = outside
            unsafe pixel_float_load(bytes.baseAddress, to, UInt64(width), &outside, curves?.toLinear)
            guard isBinned else { return }
            if number % down.binning == 0 { unsafe memset(slot, 0, stride * MemoryLayout<Float>.size) }
            unsafe pixel_float_add_bins(to, slot, UInt64(width), Int32(channels), UInt64(across.binning))
        }
    }

    func finish(first: Int, _ exact: [Double]) {
        // Bins hold sums. The last bin sums fewer pixels, so its weight is divided by its fullness.
        let full = Double(across.binning * down.binning)
        rowWeights.removeAll(keepingCapacity: true)
        for (index, weight) in exact.enumerated() {
            rowWeights.append(Float(weight / full / down.fullness(first + index)))
        }
        let floats = unsafe column.start.assumingMemoryBound(to: Float.self)
        let row = unsafe finished.start.assumingMemoryBound(to: Float.self)
        unsafe pixel_float_weigh_down(
            ring.start.assumingMemoryBound(to: Float.self), UInt64(stride), UInt64(slots), UInt64(first), rowWeights,
            UInt64(rowWeights.count), floats, UInt64(across.count * channels))
        if !across.isIdentity {
            unsafe pixel_float_weigh_across(
                floats, row, UInt64(target), Int32(channels), starts, weights, UInt64(taps))
        }
        let done = unsafe across.isIdentity ? floats : row
        var outside = outside
        unsafe pixel_float_store(done, result.start, UInt64(target), &outside, curves?.fromLinear)
    }

    func withRow<R>(_ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        let row = unsafe UnsafeRawBufferPointer(start: result.start, count: resultCount)
        return try unsafe body(row.bytes)
    }
}

extension pixel_row_format {
    init(_ format: PixelFormat) {
        let sample =
            switch (format.numeric, format.bits) {
            case (.unorm, 8): PIXEL_SAMPLE_8
            case (.unorm, _): PIXEL_SAMPLE_16
            case (.float, 16): PIXEL_SAMPLE_HALF
            case (.float, _): PIXEL_SAMPLE_FLOAT
            }
        let alpha =
            switch format.alpha {
            case .none: PIXEL_ALPHA_NONE
            case .straight: PIXEL_ALPHA_STRAIGHT
            case .premultiplied: PIXEL_ALPHA_PREMULTIPLIED
            case .opaque: PIXEL_ALPHA_OPAQUE
            }
        let channels = format.channels.count
        let colors = format.channels == .cmyk ? 0 : channels - (format.channels.hasAlpha ? 1 : 0)
        self.init(
            sample: Int32(sample), channels: Int32(channels), alpha: Int32(alpha), colors: Int32(colors))
    }
}
