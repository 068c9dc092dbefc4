internal import CoderPluginKit
internal import ImageModel

/// Pixels, and a form that may store them.
struct PNGCandidate {
    var layout: PNGLayout
    var pixels: PixelBuffer
    var packing: StoredRows.Packing
    /// Whether it differs from the candidate before it only in the order of the palette.
    var isReordered = false

    /// Samples as in `pixels`, or with fewer channels.
    init(_ pixels: PixelBuffer, _ layout: PNGLayout) {
        self.layout = layout
        self.pixels = pixels
        packing = StoredRows.Packing(channels: layout.channels, depth: layout.depth)
        // A gray of fewer bits is in the upper bits of 8.
        if layout.depth < 8 { packing.values = (0..<256).map { UInt8($0 >> (8 - layout.depth)) } }
    }

    /// Indices, with the stored value of each.
    init(_ indices: PixelBuffer, _ layout: PNGLayout, values: [UInt8]) {
        self.layout = layout
        pixels = indices
        packing = StoredRows.Packing(channels: 1, depth: layout.depth, values: values)
    }

    var bytesPerRow: Int { packing.bytesPerRow(width: pixels.size.width) }
    /// The bytes of all rows with their filter bytes.
    var total: Int { pixels.size.height * (bytesPerRow + 1) }
}

/// Finds the best filters for pixels, and compresses them.
final class PNGShrinking {
    typealias Strategy = RowShrinker.Strategy

    /// A way to compress, and the approximate length of its result.
    struct Choice {
        var candidate: PNGCandidate
        var strategy: Strategy
        var length: Int
    }

    /// The number of parts in the sample of a large image.
    private static let sampleParts = 6
    private static let rowsAtOnce = 64
    private static let bytesAtOnce = 1 << 20

    private let host: HostServices
    private let shrinker: RowShrinker
    private let memory: MemoryReservation

    init(_ host: HostServices) throws(CoderError) {
        self.host = host
        shrinker = try RowShrinker()
        memory = MemoryReservation(host)
    }

    /// Tries several strategies on some rows.
    ///
    /// - Parameter parts: adjacent rows each, as from ``sample(of:bytes:)``.
    /// - Parameter extra: the bytes that the file needs in addition to the rows.
    func choices(
        for candidate: PNGCandidate, _ strategies: [Strategy], level: Int, parts: [Range<Int>], extra: Int
    ) throws(CoderError) -> [Choice] {
        let count = parts.reduce(0) { $0 + $1.count }
        var task = RowShrinker.Task(
            rowBytes: candidate.bytesPerRow, total: count * (candidate.bytesPerRow + 1), step: candidate.packing.step,
            strategy: .none, level: level, isTrial: true)
        try memory.grow(to: task.memory + task.total)
        var rows = StoredRows(capacity: count, bytesPerRow: candidate.bytesPerRow)
        for part in parts { rows.append(part, of: candidate.pixels, candidate.packing) }
        var choices: [Choice] = []
        for strategy in strategies {
            task.strategy = strategy
            try shrinker.start(task)
            var first = 0
            for part in parts {
                try shrinker.beginPart(rowBytes: task.rowBytes)
                try push(rows, first..<first + part.count)
                first += part.count
            }
            try shrinker.finish()
            let length = Double(shrinker.length) * Double(candidate.pixels.size.height) / Double(count)
            choices.append(Choice(candidate: candidate, strategy: strategy, length: Int(length) + extra))
        }
        return choices
    }

    /// Compresses all rows.
    func stream(of choice: Choice, level: Int) throws(CoderError) -> [UInt8] {
        let candidate = choice.candidate
        let task = RowShrinker.Task(
            rowBytes: candidate.bytesPerRow, total: candidate.total, step: candidate.packing.step,
            strategy: choice.strategy, level: level)
        let height = candidate.pixels.size.height
        let rowsAtOnce = max(1, min(Self.rowsAtOnce, Self.bytesAtOnce / candidate.bytesPerRow))
        try memory.grow(to: task.memory + rowsAtOnce * candidate.bytesPerRow)
        try shrinker.start(task)
        var rows = StoredRows(capacity: rowsAtOnce, bytesPerRow: candidate.bytesPerRow)
        for first in stride(from: 0, to: height, by: rowsAtOnce) {
            let range = first..<min(first + rowsAtOnce, height)
            rows.clear()
            rows.append(range, of: candidate.pixels, candidate.packing)
            try push(rows, 0..<range.count)
            host.progress(range.upperBound, of: height)
        }
        try shrinker.finish()
        return shrinker.take()
    }

    private func push(_ rows: borrowing StoredRows, _ range: Range<Int>) throws(CoderError) {
        for first in stride(from: range.lowerBound, to: range.upperBound, by: Self.rowsAtOnce) {
            try host.checkCancellation()
            try shrinker.push(rows, first..<min(first + Self.rowsAtOnce, range.upperBound))
        }
    }

    /// Returns all rows, or some from every part of the image, with this many bytes in the widest form.
    static func sample(of candidates: [PNGCandidate], bytes: Int) -> [Range<Int>] {
        guard let widest = candidates.max(by: { $0.total < $1.total }) else { return [] }
        let height = widest.pixels.size.height
        let rows = max(1, bytes / sampleParts / (widest.bytesPerRow + 1))
        if rows * sampleParts >= height { return [0..<height] }
        return (0..<sampleParts).map { part in
            let first = (height * (2 * part + 1) / sampleParts - rows) / 2
            return first..<first + rows
        }
    }
}
