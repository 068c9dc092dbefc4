import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// Compares two files frame by frame.
struct CompareRun {
    private struct Frame {
        var index: Int
        var comparison: ImageComparison
        var hasSameDuration: Bool
    }

    private let a: CompareInput
    private let b: CompareInput
    private let counts: (a: Int, b: Int)
    private let metrics: [CompareMetric]
    private let bounds: [CompareBound]
    private let isAnimation: Bool
    private var frames: [Frame] = []
    private(set) var warnings: [String] = []
    var diff: String?

    /// Decodes and compares the files.
    ///
    /// - Parameter subject: the file that caused an error.
    init(
        _ files: [String], _ host: CoderHost, coder: String?, metrics: [CompareMetric], bounds: [CompareBound],
        frame: Int?, _ subject: inout String
    ) throws(CoderError) {
        subject = files[0]
        a = try CompareInput(files[0], host, coder: coder)
        if frame == nil { counts.a = try a.frameCount() } else { counts.a = 1 }
        subject = files[1]
        b = try CompareInput(files[1], host, coder: coder)
        if frame == nil { counts.b = try b.frameCount() } else { counts.b = 1 }
        self.metrics = metrics
        self.bounds = bounds
        isAnimation = frame == nil && (a.isAnimation || b.isAnimation)
        if !a.describesColors(as: b) {
            warnings.append("the color profiles differ; stored values are compared")
        }
        guard a.size == b.size else { return }
        let needsSSIM = metrics.contains(.ssim) || bounds.contains { $0.metric == .ssim }
        let indices = frame.map { $0..<$0 + 1 } ?? 0..<min(counts.a, counts.b)
        var progress = ProgressLine(total: indices.count)
        defer { progress.clear() }
        for index in indices {
            progress.show(index - indices.lowerBound, "frame \(index)")
            subject = a.file
            let first = try a.image(index)
            subject = b.file
            let second = try b.image(index)
            frames.append(
                Frame(
                    index: index, comparison: try ImageComparison(first, second, measuresSSIM: needsSSIM),
                    hasSameDuration: isAnimation ? try Self.haveSameDuration(a, b, index) : true))
        }
    }

    private static func haveSameDuration(
        _ a: CompareInput, _ b: CompareInput, _ index: Int
    ) throws(CoderError) -> Bool {
        let first = try a.session.frameInfo(index)?.duration ?? .unknown
        let second = try b.session.frameInfo(index)?.duration ?? .unknown
        if first.denominator == 0 || second.denominator == 0 { return first.denominator == second.denominator }
        return UInt64(first.numerator) * UInt64(second.denominator)
            == UInt64(second.numerator) * UInt64(first.denominator)
    }

    // MARK: Results

    /// Whether the images have the same size.
    var isComparable: Bool { a.size == b.size }

    var isSame: Bool {
        isComparable && counts.a == counts.b
            && frames.allSatisfy { $0.comparison.isSame && $0.hasSameDuration }
    }

    /// Whether all bounds hold, or, without bounds, whether the images are identical.
    var passes: Bool {
        guard isComparable, counts.a == counts.b else { return false }
        if bounds.isEmpty { return isSame }
        return frames.allSatisfy { frame in bounds.allSatisfy { $0.holds(frame.comparison) } }
    }

    /// Returns the first frame with the worst value of a metric.
    private func worst(_ metric: CompareMetric) -> Frame {
        frames.dropFirst().reduce(frames[0]) { metric.isWorse($1.comparison, than: $0.comparison) ? $1 : $0 }
    }

    private var framesOfOtherDuration: Int { frames.count { !$0.hasSameDuration } }

    /// Returns the amplified difference of the frame with the lowest PSNR.
    func image(gain: Int) throws(CoderError) -> DecodedImage {
        let index = worst(.psnr).index
        let pixels = try ImageComparison.image(try a.image(index), try b.image(index), gain: gain)
        let info = ImageInfo(size: pixels.size, nativeFormat: pixels.format, bitDepth: pixels.format.bits)
        return DecodedImage(info: info, pixels: pixels, format: a.session.format, coder: a.session.coder.id)
    }

    // MARK: Output

    /// The differences in size, frame count and durations.
    var differences: [String] {
        guard isComparable else {
            return ["\(a.file) is \(a.size) and \(b.file) is \(b.size): cannot compare images of different sizes"]
        }
        var result: [String] = []
        if counts.a != counts.b {
            result.append("\(a.file) has \(frameCount(counts.a)) and \(b.file) has \(frameCount(counts.b))")
        }
        if framesOfOtherDuration > 0 {
            result.append("\(frameCount(framesOfOtherDuration)) of \(frames.count) have different durations")
        }
        return result
    }

    private func frameCount(_ count: Int) -> String { count == 1 ? "1 frame" : "\(count) frames" }

    private var verdict: String {
        isSame ? "identical" : bounds.isEmpty ? "different" : passes ? "different, within bounds" : "out of bounds"
    }

    /// The verdict and the worst values in one line.
    var summary: String {
        guard isComparable else { return "different sizes, \(a.size) and \(b.size)" }
        if isSame { return verdict }
        let values = metrics.map { "\($0.rawValue) \($0.text(worst($0).comparison))" }
        let (first, second) = (frameCount(counts.a), frameCount(counts.b))
        return (["\(verdict): " + values.joined(separator: ", ")] + (first == second ? [] : ["\(first) and \(second)"]))
            .joined(separator: "; ")
    }

    var lines: [String] {
        guard isComparable else { return [] }
        let bits = frames[0].comparison.bits
        let many = isAnimation ? ", \(frameCount(frames.count))" : ""
        var table = isAnimation ? TextTable("METRIC", "WORST", "FRAME", "NOTE") : TextTable("METRIC", "VALUE", "NOTE")
        for metric in metrics {
            let frame = worst(metric)
            var notes = [metric.note(frame.comparison)].filter { !$0.isEmpty }
            for bound in bounds where bound.metric == metric {
                notes.append("required: \(bound.text)\(bound.holds(frame.comparison) ? "" : ", FAILED")")
            }
            let (value, note) = (metric.text(frame.comparison), notes.joined(separator: "; "))
            if isAnimation {
                table.add(metric.rawValue, value, "\(frame.index)", note)
            } else {
                table.add(metric.rawValue, value, note)
            }
        }
        return [printable("\(a.file) and \(b.file): \(a.size), \(bits) bit\(many): \(verdict)")] + table.lines
            + differences.map(printable)
    }

    var json: JSONValue {
        func values(_ comparison: (CompareMetric) -> ImageComparison) -> JSONValue {
            .object(metrics.map { ($0.rawValue, $0.json(comparison($0))) })
        }
        var members: [(key: String, value: JSONValue)] = [
            ("a", a.json(counts.a)), ("b", b.json(counts.b)),
            ("bits", frames.first.map { .integer($0.comparison.bits) } ?? .null), ("same", .bool(isSame)),
            ("within", bounds.isEmpty ? .null : .bool(passes)),
            ("metrics", isComparable ? values { worst($0).comparison } : .null),
        ]
        if isAnimation, isComparable {
            members += [
                ("worst_frames", .object(metrics.map { ($0.rawValue, .integer(worst($0).index)) })),
                (
                    "frames",
                    .array(
                        frames.map { frame in
                            .object([
                                ("index", .integer(frame.index)), ("same_duration", .bool(frame.hasSameDuration)),
                                ("metrics", values { _ in frame.comparison }),
                            ])
                        })
                ),
            ]
        }
        members += [
            ("diff", diff.map(JSONValue.string) ?? .null), ("warnings", .array(warnings.map(JSONValue.string))),
        ]
        return .object(members)
    }
}
