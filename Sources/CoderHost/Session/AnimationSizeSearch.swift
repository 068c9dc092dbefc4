package import ImageModel
import PluginCatalogue
package import PluginRuntime

/// Finds the best quality at which an animation meets a file size limit.
///
/// An attempt costs a whole encode, so an attempt above the limit stops early, and the search ends at a result close
/// to the limit. The search interpolates the fourth root of the size, which grows evenly with
/// quality: about five attempts.
package struct AnimationSizeSearch {
    /// The part of the limit that a result must use to end the search.
    private static let enough = 0.97

    private let limit: Int
    private let limits: DecodeLimits
    private let coder: String
    private let options: CoderOptions
    /// The whole-number qualities, worst to best; nil if there is nothing to lower.
    private let qualities: ClosedRange<Int>?

    /// - Parameters:
    ///   - limit: the largest file size in bytes.
    ///   - options: the options of the encoder; a quality in them is the best that is tried.
    package init(limit: Int, _ encoder: CoderDescriptor, _ options: CoderOptions, _ limits: DecodeLimits) {
        self.limit = limit
        self.limits = limits
        self.options = options
        coder = encoder.id
        let scale = encoder.options.first { $0.key == OptionKey.quality && $0.scope.includesEncoding }
        guard let scale, options.bool(OptionKey.lossless) != true else {
            qualities = nil
            return
        }
        let lowest = Int((scale.minimum ?? 0).rounded(.up))
        let highest = Int(min(scale.maximum ?? 100, options.real(OptionKey.quality) ?? 100))
        qualities = lowest...max(lowest, highest)
    }

    /// A quality and the size of its file.
    private struct Size {
        var quality: Int
        var bytes: Double
    }

    /// Runs encodes, and returns the best result that meets the limit.
    ///
    /// - Parameter encode: writes the animation with some options; states in the sink how much it has encoded.
    /// - Throws: `.limitExceeded` if even the lowest quality is too large.
    package func run(
        _ encode: (CoderOptions, TrialSink) throws(CoderError) -> EncodeReport
    ) throws(CoderError) -> (bytes: [UInt8], report: EncodeReport) {
        guard let qualities else {
            let sink = TrialSink(limit: limit, .count, limits: limits)
            let report = try encode(options, sink)
            if !sink.isExceeded { return (sink.bytes, report) }
            let isLossless = options.bool(OptionKey.lossless) == true
            throw FileSizeSearch.excess(limit, sink.written, isLossless ? .lossless : .noQuality, coder: coder)
        }
        var below: (size: Size, bytes: [UInt8], report: EncodeReport)?
        var above: Size?
        var next = qualities.upperBound
        var width = qualities.count
        while true {
            // The size at the lowest quality is part of the error.
            let sink = TrialSink(limit: limit, next == qualities.lowerBound ? .count : .stop, limits: limits)
            var trial = options
            trial[OptionKey.quality] = .real(Double(next))
            var report: EncodeReport?
            do throws(CoderError) {
                report = try encode(trial, sink)
            } catch {
                guard sink.isExceeded else { throw error }
            }
            if !sink.isExceeded, let report {
                below = (Size(quality: next, bytes: Double(sink.written)), sink.bytes, report)
                if next == qualities.upperBound || Double(sink.written) >= Self.enough * Double(limit) { break }
            } else if next == qualities.lowerBound {
                throw FileSizeSearch.excess(limit, sink.written, .animation, coder: coder)
            } else {
                above = Size(quality: next, bytes: Double(sink.written) / max(sink.share, 0.01))
            }
            let low = below?.size.quality ?? qualities.lowerBound - 1
            guard let above, above.quality - low > 1 else { break }
            // A guess that leaves more than half of the range is followed by a bisection.
            let isSlow = (above.quality - low) * 2 > width
            width = above.quality - low
            next = isSlow ? (low + above.quality) / 2 : guess(below?.size, above, over: low)
        }
        guard let below else { throw FileSizeSearch.excess(limit, 0, .animation, coder: coder) }
        return (below.bytes, below.report)
    }

    /// Returns the next quality, between the bounds.
    private func guess(_ below: Size?, _ above: Size, over low: Int) -> Int {
        let middle = (low + above.quality) / 2
        guard let below, above.bytes > below.bytes else { return middle }
        // Aims a little below the limit, so that an estimate that is slightly too low still meets it.
        func root(_ bytes: Double) -> Double { bytes.squareRoot().squareRoot() }
        let share =
            (root(0.985 * Double(limit)) - root(below.bytes)) / (root(above.bytes) - root(below.bytes))
        let wanted = Double(below.quality) + share * Double(above.quality - below.quality)
        // Each attempt must exclude at least a tenth of the range.
        let margin = max(1, (above.quality - low) / 10)
        return min(max(Int(wanted.rounded()), low + margin), above.quality - margin)
    }
}
