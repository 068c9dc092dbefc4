import CoderPluginKit
import ImageModel

/// Lossless images: each sample is a prediction from its neighbors plus a difference.
///
/// - Source: ITU-T T.81 annex H.
extension ScanDecoder {
    /// Decodes a row of MCUs into the planes; samples are still without the bits that the scan leaves out.
    ///
    /// - Throws: `.corrupt`, `.truncated`, `.inputOutput`.
    mutating func losslessRow(_ row: Int, into planes: inout [SamplePlane]) throws(CoderError) {
        guard restarts.interval % header.columns == 0 else {
            throw .corrupt("restart markers of a lossless image are inside of rows")
        }
        let isFirst = try begin(header.columns) || row == 0
        try readDifferences()
        let perMCU = differences.count / header.columns
        var start = 0
        for part in header.parts {
            let component = frame.components[part.component]
            let (across, down) = header.isInterleaved ? (component.across, component.down) : (1, 1)
            for line in 0..<down {
                let y = row * down + line
                let width = planes[part.component].width
                let (at, above) = (planes[part.component].offset(y), planes[part.component].offset(max(0, y - 1)))
                var samples = planes[part.component].samples.mutableSpan
                gather(from: start + line * across, across, perMCU, into: &samples, at: at, width)
                let count = min(width, component.size.width)
                if isFirst, line == 0 {
                    let middle = UInt16(1) << UInt16(frame.precision - header.low - 1)
                    Prediction.first(&samples, at, count, from: middle)
                } else {
                    Prediction.next(&samples, at, above, count, header.first)
                }
            }
            start += across * down
        }
    }

    /// Reads the differences of a row of MCUs, in the order of the file.
    private mutating func readDifferences() throws(CoderError) {
        var order: [HuffmanTable] = []
        for (number, part) in header.parts.enumerated() {
            let component = frame.components[part.component]
            let count = header.isInterleaved ? component.across * component.down : 1
            order += Array(repeating: dc[number], count: count)
        }
        let columns = header.columns
        let count = columns * order.count
        if differences.count != count { differences = Array(repeating: 0, count: count) }
        var reader = self.reader
        var window = reader.window
        let table = order[0]
        if order.allSatisfy({ $0 === table }) {
            var target = differences.mutableSpan
            for index in target.indices { target[index] = Self.difference(&reader, &window, table) }
        } else {
            var target = differences.mutableSpan
            var index = 0
            for _ in 0..<columns {
                for table in order {
                    target[index] = Self.difference(&reader, &window, table)
                    index += 1
                }
            }
        }
        reader.window = window
        self.reader = reader
        try self.reader.check()
    }

    /// Reads one difference, modulo 2¹⁶.
    @inline(__always)
    private static func difference(
        _ reader: inout BitReader, _ window: inout BitWindow, _ table: HuffmanTable
    ) -> UInt16 {
        let length = reader.symbol(table, &window)
        if length == 0 { return 0 }
        if length < 16 { return UInt16(truncatingIfNeeded: window.signed(length)) }
        if length > 16 { reader.fail("an undefined difference") }
        return 0x8000
    }

    /// Copies the differences of one line of a component.
    private func gather(
        from start: Int, _ across: Int, _ perMCU: Int, into samples: inout MutableSpan<UInt16>, at: Int, _ width: Int
    ) {
        let source = differences.span
        if across == 1 {
            for x in 0..<min(header.columns, width) { samples[at &+ x] = source[start &+ x &* perMCU] }
            return
        }
        var (from, to) = (start, at)
        for _ in 0..<min(header.columns, width / across) {
            for offset in 0..<across { samples[to + offset] = source[from + offset] }
            from += perMCU
            to += across
        }
    }
}

/// The predictions from a = the sample to the left, b = above, c = above to the left.
///
/// - Source: ITU-T T.81 table H.1.
enum Prediction {
    /// Adds the predictions to the differences of the first row of a scan or restart interval.
    static func first(_ samples: inout MutableSpan<UInt16>, _ at: Int, _ count: Int, from middle: UInt16) {
        var a = middle
        for x in at..<at + count {
            a = a &+ samples[x]
            samples[x] = a
        }
    }

    /// Adds the predictions to the differences of another row.
    static func next(
        _ samples: inout MutableSpan<UInt16>, _ at: Int, _ above: Int, _ count: Int, _ predictor: Int
    ) {
        switch predictor {
        case 1: add(&samples, at, above, count) { a, _, _ in a }
        case 2: add(&samples, at, above, count) { _, b, _ in b }
        case 3: add(&samples, at, above, count) { _, _, c in c }
        case 4: add(&samples, at, above, count) { a, b, c in a + b - c }
        case 5: add(&samples, at, above, count) { a, b, c in a + (b - c) >> 1 }
        case 6: add(&samples, at, above, count) { a, b, c in b + (a - c) >> 1 }
        default: add(&samples, at, above, count) { a, b, _ in (a + b) >> 1 }
        }
    }

    @inline(__always)
    private static func add(
        _ samples: inout MutableSpan<UInt16>, _ at: Int, _ above: Int, _ count: Int,
        _ predict: (_ a: Int32, _ b: Int32, _ c: Int32) -> Int32
    ) {
        var b = Int32(samples[above])
        var a = Int32(UInt16(truncatingIfNeeded: b &+ Int32(samples[at])))
        samples[at] = UInt16(truncatingIfNeeded: a)
        for x in 1..<max(1, count) {
            let c = b
            b = Int32(samples[above + x])
            let sample = UInt16(truncatingIfNeeded: predict(a, b, c) &+ Int32(samples[at + x]))
            samples[at + x] = sample
            a = Int32(sample)
        }
    }
}
