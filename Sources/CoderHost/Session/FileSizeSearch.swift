import ImageModel

/// Finds the best quality whose file is not larger than wanted.
struct FileSizeSearch {
    let limit: Int
    /// Whole numbers, worst to best.
    let qualities: ClosedRange<Int>
    /// Who encodes.
    var coder: String?

    /// The bytes at the best quality that keeps to the limit, and that quality.
    ///
    /// Files grow with quality, so halving finds it: nine attempts at most.
    /// - Throws: `.limitExceeded` when even the worst quality is too large.
    func run(_ encode: (Int) throws(CoderError) -> [UInt8]) throws(CoderError) -> (bytes: [UInt8], quality: Int) {
        let best = try encode(qualities.upperBound)
        if best.count <= limit { return (best, qualities.upperBound) }
        var found = (bytes: try encode(qualities.lowerBound), quality: qualities.lowerBound)
        guard found.bytes.count <= limit else {
            throw Self.excess(limit, found.bytes.count, .lowestQuality, coder: coder)
        }
        var above = qualities.upperBound
        while above - found.quality > 1 {
            let middle = (above + found.quality) / 2
            let bytes = try encode(middle)
            if bytes.count <= limit { found = (bytes, middle) } else { above = middle }
        }
        return found
    }

    /// What is said when nothing keeps to the limit.
    enum Reason {
        case lowestQuality, noQuality, lossless, animation
    }

    static func excess(_ limit: Int, _ smallest: Int, _ reason: Reason, coder: String? = nil) -> CoderError {
        var error = CoderError.limit("file size", allowed: limit, requested: smallest)
        error.coder = coder
        error.hint =
            switch reason {
            case .lowestQuality: "at the lowest quality it has \(smallest) bytes: make the picture smaller"
            case .noQuality: "this format has no quality to lower: make the picture smaller, or choose a lossy format"
            case .lossless: "lossless has no quality to lower: make the picture smaller, or let it lose something"
            case .animation: "of an animation no quality is searched for: lower the quality, or make it smaller"
            }
        return error
    }
}
