import Glibc

/// One direction of a resampling: the source pixels of each target pixel and their weights.
///
/// Pixel `j` covers `j ..< j + 1`. Pixels outside the window are not read; their weights are distributed over the
/// others.
struct ResamplingAxis {
    /// Reductions beyond this factor are binned first, to at least half of it. Few rows then stay in memory, without
    /// loss of quality.
    static let mostScale = 16.0

    private let filter: ResamplingFilter
    /// The position where the target's first pixel begins, counted from the first source pixel that is read.
    private let start: Double
    /// The number of source pixels in one target pixel.
    let scale: Double
    /// The first source pixel that is read.
    let first: Int
    /// The number of source pixels (or bins) that are read.
    let count: Int
    let target: Int
    /// The number of source pixels summed into one bin; above 1 only for extreme reductions.
    let binning: Int
    /// The number of source pixels before binning.
    let sourceCount: Int
    /// The fullness of the last bin.
    private let lastBin: Double

    /// Returns the fullness of a bin, at most 1; only the last bin can be partly filled.
    func fullness(_ bin: Int) -> Double { bin == count - 1 ? lastBin : 1 }

    /// - Precondition: the window lies within `0 ... length` and is not empty; target is positive.
    init(start: Double, length: Double, within limit: Int, target: Int, filter: ResamplingFilter) {
        let low = min(max(0, Int(start.rounded(.down))), limit - 1)
        let high = min(limit, max(low + 1, Int((start + length).rounded(.up))))
        let scale = length / Double(target)
        let binning = scale > Self.mostScale && filter != .nearest ? Int(scale / (Self.mostScale / 2)) : 1
        self.filter = filter
        self.binning = binning
        self.first = low
        self.target = target
        self.scale = scale / Double(binning)
        self.start = (start - Double(low)) / Double(binning)
        sourceCount = high - low
        count = (high - low + binning - 1) / binning
        lastBin = Double((high - low) - (count - 1) * binning) / Double(binning)
    }

    /// Whether every target pixel equals the source pixel in the same position.
    var isIdentity: Bool { binning == 1 && count == target && scale == 1 && start == 0 }

    /// The largest number of source pixels for one target pixel.
    var mostTaps: Int {
        if filter == .nearest { return 1 }
        let reach = 2 * filter.radius * max(scale, filter == .box ? scale : 1)
        return reach >= Double(count) ? count : min(count, Int(reach.rounded(.up)) + 1)
    }

    /// Finds the weights of one target pixel, whose sum is 1.
    ///
    /// - Returns: the first source pixel, counted from ``first`` in bins; there are at most ``mostTaps``, at least one.
    func weights(of index: Int, into weights: inout [Double]) -> Int {
        weights.removeAll(keepingCapacity: true)
        let center = start + (Double(index) + 0.5) * scale
        if filter == .nearest {
            weights.append(1)
            return min(max(0, Int(center.rounded(.down))), count - 1)
        }
        let stretch = filter == .box ? scale : max(1, scale)
        let reach = filter.radius * stretch
        // Box measures areas, the other filters the distance between centers.
        let margin = filter == .box ? 0.0 : 0.5
        var low = min(max(0, Int((center - reach - margin).rounded(.up)) - (filter == .box ? 1 : 0)), count - 1)
        let high = max(low + 1, min(count, Int((center + reach - margin).rounded(.down)) + 1))
        for pixel in low..<high {
            let value =
                filter == .box
                ? max(0, min(center + reach, Double(pixel + 1)) - max(center - reach, Double(pixel)))
                : filter.value((Double(pixel) + 0.5 - center) / stretch)
            weights.append(pixel == count - 1 ? value * lastBin : value)
        }
        let sum = weights.reduce(0, +)
        guard sum > 1e-9 else {
            weights = [1]
            return min(max(0, Int(center.rounded(.down))), count - 1)
        }
        for index in weights.indices { weights[index] /= sum }
        // Remove zero weights at the ends, where positions are whole numbers.
        while weights.count > 1, abs(weights[weights.count - 1]) < 1e-9 { weights.removeLast() }
        let zeros = weights.prefix { abs($0) < 1e-9 }.count
        if zeros > 0 && zeros < weights.count {
            weights.removeFirst(zeros)
            low += zeros
        }
        return low
    }
}

extension ResamplingAxis {
    /// Converts weights to integers whose sum is exactly `one`.
    static func quantize(_ exact: [Double], one: Int, into weights: inout [Int16]) {
        var (sum, given) = (0.0, 0)
        for weight in exact {
            sum += weight
            let next = Int((sum * Double(one)).rounded())
            weights.append(Int16(clamping: next - given))
            given = next
        }
    }
}

extension ResamplingFilter {
    /// Returns the filter's value at a distance from its center.
    func value(_ distance: Double) -> Double {
        let x = abs(distance)
        switch self {
        case .nearest, .box: return x <= 0.5 ? 1 : 0
        case .bilinear: return max(0, 1 - x)
        case .bicubic:
            if x < 1 { return (1.5 * x - 2.5) * x * x + 1 }
            return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0
        case .lanczos3:
            guard x < 3 else { return 0 }
            guard x > 1e-8 else { return 1 }
            // sin(3t) = 3 sin t - 4 sin³ t saves one of two sines.
            let third = Double.pi * x / 3
            let sine = sin(third)
            return (3 - 4 * sine * sine) * sine * sine / (3 * third * third)
        }
    }
}
