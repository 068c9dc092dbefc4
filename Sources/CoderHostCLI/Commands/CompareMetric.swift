import CoderHost
import CommandLineKit
import ImageProcessing

/// A metric for the difference between two images.
enum CompareMetric: String, CaseIterable {
    case psnr, ssim, max, mae, count

    func value(of comparison: ImageComparison) -> Double {
        switch self {
        case .psnr: comparison.psnr
        case .ssim: comparison.ssim ?? 1
        case .max: Double(comparison.maximum)
        case .mae: comparison.meanAbsoluteError
        case .count: Double(comparison.differingPixels)
        }
    }

    /// Whether a larger value means more similar images.
    var isHigherBetter: Bool { self == .psnr || self == .ssim }

    func isWorse(_ a: ImageComparison, than b: ImageComparison) -> Bool {
        isHigherBetter ? value(of: a) < value(of: b) : value(of: a) > value(of: b)
    }

    static func named(_ word: some StringProtocol) throws(UsageError) -> CompareMetric {
        if let metric = CompareMetric(rawValue: word.lowercased()) { return metric }
        let names = allCases.map(\.rawValue)
        throw UsageError(
            "unknown metric \(word)",
            hint: OptionCheck.nearest(word.lowercased(), names).map { "did you mean \($0)?" }
                ?? "metrics: \(names.joined(separator: ", "))")
    }

    /// Parses comma-separated lists; returns all metrics if there is no list.
    static func list(_ texts: [String]) throws(UsageError) -> [CompareMetric] {
        var wanted: Set<CompareMetric> = []
        for text in texts {
            for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                wanted.insert(try named(word))
            }
        }
        return wanted.isEmpty ? allCases : allCases.filter(wanted.contains)
    }

    // MARK: Text

    func text(_ comparison: ImageComparison) -> String {
        switch self {
        case .psnr: comparison.isSame ? "inf dB" : decimals(comparison.psnr, 2) + " dB"
        case .ssim: decimals(comparison.ssim ?? 1, 5)
        case .max: "\(comparison.maximum)"
        case .mae: decimals(comparison.meanAbsoluteError, 4)
        case .count: "\(comparison.differingPixels)"
        }
    }

    func note(_ comparison: ImageComparison) -> String {
        switch self {
        case .max:
            guard let place = comparison.place else { return "" }
            return "at \(place.x),\(place.y) in \(place.channelName)"
        case .count:
            let total = comparison.size.width * comparison.size.height
            return "of \(total) pixels, \(decimals(Double(comparison.differingPixels) * 100 / Double(total), 2)) %"
        default: return ""
        }
    }

    func json(_ comparison: ImageComparison) -> JSONValue {
        switch self {
        case .psnr: comparison.isSame ? .null : .real(comparison.psnr)
        case .ssim: .real(comparison.ssim ?? 1)
        case .max:
            .object([
                ("value", .integer(comparison.maximum)), ("x", comparison.place.map { .integer($0.x) } ?? .null),
                ("y", comparison.place.map { .integer($0.y) } ?? .null),
                ("channel", comparison.place.map { .string($0.channelName) } ?? .null),
            ])
        case .mae: .real(comparison.meanAbsoluteError)
        case .count: .integer(comparison.differingPixels)
        }
    }
}

extension ImageComparison.Place {
    var channelName: String { ["red", "green", "blue", "alpha"][channel] }
}

/// Formats a number with a fixed number of decimals.
func decimals(_ value: Double, _ digits: Int) -> String {
    var power = 1.0
    for _ in 0..<digits { power *= 10 }
    let scaled = (abs(value) * power).rounded()
    guard scaled < 1e15 else { return JSONValue.real(value).text }
    let number = Int(scaled)
    let (whole, rest) = number.quotientAndRemainder(dividingBy: Int(power))
    let fraction = String(rest)
    let sign = value < 0 && number > 0 ? "-" : ""
    return digits == 0
        ? "\(sign)\(whole)" : "\(sign)\(whole)." + String(repeating: "0", count: digits - fraction.count) + fraction
}

/// A bound of a metric: a minimum of similarity or a maximum of difference.
struct CompareBound {
    var metric: CompareMetric
    var limit: Double

    func holds(_ comparison: ImageComparison) -> Bool {
        let value = metric.value(of: comparison)
        return metric.isHigherBetter ? value >= limit : value <= limit
    }

    var text: String {
        "\(metric.isHigherBetter ? "at least" : "at most") \(JSONValue.real(limit).text)"
    }

    /// Parses the values of `--within`, for example `psnr=40,max=3`.
    static func list(_ texts: [String]) throws(UsageError) -> [CompareBound] {
        var bounds: [CompareBound] = []
        for text in texts {
            for part in text.split(separator: ",", omittingEmptySubsequences: false) {
                let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if pair.count == 1, Double(String(part)) != nil {
                    throw UsageError(
                        "invalid --within value \"\(part)\": no metric, expected METRIC=N",
                        hint: "for example --within ssim=\(part) or --within psnr=40,max=3")
                }
                let metric = try CompareMetric.named(pair[0])
                guard pair.count == 2, let limit = Double(String(pair[1])), limit.isFinite, limit >= 0 else {
                    throw UsageError(
                        "invalid --within value \"\(part)\": expected METRIC=N",
                        hint: "for example --within psnr=40,max=3")
                }
                bounds.append(CompareBound(metric: metric, limit: limit))
            }
        }
        return bounds
    }
}
