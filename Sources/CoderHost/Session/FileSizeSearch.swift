import ImageModel

/// Finds the best quality that meets a file size limit.
struct FileSizeSearch {
    let limit: Int
    /// The integer qualities, worst to best.
    let qualities: ClosedRange<Int>
    /// The id of the encoder.
    var coder: String?

    /// Returns the bytes at the best quality that meets the limit, and that quality.
    ///
    /// File size grows with quality, so a binary search needs at most nine attempts.
    /// - Throws: `.limitExceeded` if even the lowest quality is too large.
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

    /// The reason why the limit cannot be met.
    enum Reason {
        case lowestQuality, noQuality, lossless, animation
    }

    static func excess(_ limit: Int, _ smallest: Int, _ reason: Reason, coder: String? = nil) -> CoderError {
        var error = CoderError.limit("file size", allowed: limit, requested: smallest)
        error.coder = coder
        error.hint =
            switch reason {
            case .lowestQuality: "at the lowest quality it has \(smallest) bytes: make the image smaller"
            case .noQuality: "this format has no quality to lower: make the image smaller, or choose a lossy format"
            case .lossless: "lossless has no quality to lower: make the image smaller, or use lossy compression"
            case .animation:
                "at the lowest quality it has \(smallest) bytes: make the image smaller, or write fewer frames, such as "
                    + "with --every 2"
            }
        return error
    }
}
