import CoderPluginKit
import ImageModel

/// The facts that scans add to the frame, and the coefficients of several scans.
struct StoredScans {
    private let frame: ExtendedFrame
    private var coefficients: [CoefficientPlane] = []
    /// The divisors of each component, from its first scan on.
    private(set) var divisors: [[Int32]]
    /// The low bits that a lossless image leaves out of each component.
    private(set) var shifts: [Int]
    /// The components with a scan.
    private var seen: Set<Int> = []
    /// The coefficients of each component whose lowest bit has arrived.
    private var exact: [Set<Int>]
    /// Whether the file ends before all scans are complete.
    private(set) var isTruncated = false
    /// Whether the file has an end marker.
    private var hasEnd = false

    init(_ frame: ExtendedFrame, holdsCoefficients: Bool) {
        self.frame = frame
        divisors = frame.components.map { _ in [] }
        exact = frame.components.map { _ in [] }
        shifts = frame.components.map { _ in 0 }
        if holdsCoefficients {
            coefficients = frame.components.map {
                CoefficientPlane(columns: frame.columns * $0.across, rows: frame.rows * $0.down)
            }
        }
    }

    /// Keeps the tables of components that have no earlier scan.
    ///
    /// - Throws: `.corrupt`.
    mutating func latch(_ scan: ScanHeader, _ tables: ScanTables) throws(CoderError) {
        for part in scan.parts {
            if frame.process == .lossless {
                shifts[part.component] = scan.low
            } else if !seen.contains(part.component) {
                guard let table = tables.divisors[frame.components[part.component].divisors] else {
                    throw .corrupt("a component refers to missing divisors")
                }
                divisors[part.component] = table
            }
            seen.insert(part.component)
        }
    }

    /// Reads all scans into coefficients, or into the samples of a lossless image.
    ///
    /// - Throws: `.truncated` if no scan is complete, `.corrupt`, `.limitExceeded`, `.cancelled`.
    mutating func readAll(
        _ header: ExtendedHeader, _ source: JPEGSource, _ session: DecoderSession, _ planes: inout [SamplePlane]
    ) throws(CoderError) {
        var tables = header.tables
        var segment: JPEGSegment? = header.scan
        var count = 0
        while let scan = segment {
            count += 1
            let allowed = session.limits.maxScans
            if allowed > 0, count > allowed { throw .limit("scans", allowed: allowed, requested: count) }
            do throws(CoderError) {
                let end = try read(ScanHeader(scan, source, frame), tables, source, session, &planes)
                segment = try nextScan(at: end, &tables, source, session)
            } catch {
                guard error.code == .truncated, seen.count == frame.components.count else { throw error }
                isTruncated = true
                return
            }
        }
        guard seen.count == frame.components.count else {
            throw hasEnd ? .corrupt("a component has no scan") : .truncated()
        }
        // Without an end mark, later scans that refine a progressive image may be missing.
        let isRefined = exact.allSatisfy { $0.count == 64 }
        if !hasEnd, frame.process == .progressive, !isRefined { isTruncated = true }
    }

    /// Reads one scan; returns the position behind it.
    private mutating func read(
        _ scan: ScanHeader, _ tables: ScanTables, _ source: JPEGSource, _ session: DecoderSession,
        _ planes: inout [SamplePlane]
    ) throws(CoderError) -> Int {
        try latch(scan, tables)
        var decoder = try ScanDecoder(frame, scan, tables, source)
        for row in 0..<scan.rows {
            if row % 16 == 0 { try session.host.checkCancellation() }
            if frame.process == .lossless {
                try decoder.losslessRow(row, into: &planes)
            } else {
                try decoder.coefficientRow(row, into: &coefficients)
            }
        }
        if scan.low == 0, frame.process == .progressive {
            for part in scan.parts { exact[part.component].formUnion(scan.first...scan.last) }
        }
        return decoder.reader.offset
    }

    /// Walks to the next scan and reads the tables before it; returns nil at the end of the image.
    private mutating func nextScan(
        at offset: Int, _ tables: inout ScanTables, _ source: JPEGSource, _ session: DecoderSession
    ) throws(CoderError) -> JPEGSegment? {
        var walk = JPEGWalk(source, session.host, at: offset)
        // An image without its end marker is complete.
        while source.count - walk.offset >= 2 {
            switch try walk.next() {
            case .bytes: continue
            case .end:
                hasEnd = true
                return nil
            case .segment(let segment):
                switch segment.marker {
                case 0xDA: return segment
                case 0xC4, 0xDB, 0xDD: try tables.read(segment, source)
                default: continue
                }
            }
        }
        return nil
    }

    /// Transforms a row of MCUs into samples; a lossless image has them already.
    func transform(_ row: Int, into planes: inout [SamplePlane]) {
        if coefficients.isEmpty { return }
        for (index, component) in frame.components.enumerated() {
            let (values, factors) = (coefficients[index].values, divisors[index])
            let blocks = values.span
            let table = factors.span
            let (columns, width) = (coefficients[index].columns, planes[index].width)
            for y in row * component.down..<(row + 1) * component.down {
                let at = planes[index].offset(8 * y)
                var samples = planes[index].samples.mutableSpan
                for x in 0..<columns {
                    InverseTransform.transform(
                        blocks, at: 64 * (y * columns + x), table, into: &samples, at: at + 8 * x, width: width)
                }
            }
        }
    }
}
