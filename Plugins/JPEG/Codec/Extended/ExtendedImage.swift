import CoderPluginKit
import ImageModel

/// Decodes an image that the library does not decode, row by row: lossless, or of 12 bits.
///
/// A single scan is decoded as its rows are requested, and keeps three rows of MCUs. Several scans are read first:
/// then their coefficients stay, or the samples of a lossless image.
final class ExtendedImage {
    let header: ExtendedHeader
    private let source: JPEGSource
    private let session: DecoderSession
    private let colors: SampleColors
    private let upsamplings: [Upsampling]
    /// The first scan, if it is the only one that has to be read.
    private let onlyScan: ScanHeader?
    private var run: Run?
    /// The bytes reserved for the pass.
    private var reserved = 0

    /// The state of one pass over the image.
    private struct Run {
        /// The only scan, while it is decoded row by row.
        var scan: ScanDecoder?
        var scans: StoredScans
        var planes: [SamplePlane]
        /// The next row of MCUs.
        var next = 0
        /// The rows of the pixels' components.
        var rows: [[UInt16]]
    }

    /// Reads the headers; returns nil for a frame of the library or of an unsupported process.
    ///
    /// - Throws: `.needsInput`, `.truncated`, `.corrupt`, `.unsupportedFeature`.
    init?(_ session: DecoderSession) throws(CoderError) {
        let source = JPEGSource(session.source)
        guard let header = try ExtendedHeader(source, session.host) else { return nil }
        self.session = session
        self.source = source
        self.header = header
        colors = SampleColors(header)
        upsamplings = header.frame.components.map { Upsampling($0, of: header.frame) }
        let scan = try ScanHeader(header.scan, source, header.frame)
        let hasAll = scan.parts.count == header.frame.components.count
        onlyScan = hasAll && header.frame.process != .progressive ? scan : nil
    }

    /// The cost of a part of the image.
    var regionCost: RegionCost { onlyScan == nil ? .whole : .above }

    /// Frees the memory of a decode that has begun.
    func close() {
        if reserved > 0 { try? session.host.reserve(bytes: -reserved) }
        reserved = 0
        run = nil
    }

    /// Decodes a part of the image; the surface has its size and the format of the header.
    ///
    /// - Throws: `.needsInput`, `.truncated`, `.corrupt`, `.limitExceeded`, `.cancelled`.
    func decode(
        _ part: PixelRect, _ request: DecodeRequest, into surface: borrowing Surface
    ) throws(CoderError) -> DecodeOutcome {
        guard session.source.isComplete else { throw .needsInput }
        // Rows that are gone come again with the next pass.
        if let run, onlyScan != nil, (part.y / header.frame.rowHeight) + 2 < run.next { close() }
        var done = 0
        do throws(CoderError) {
            if run == nil { try begin() }
            for y in part.rows {
                if (y - part.y) % Self.pollInterval == 0 {
                    try session.host.checkCancellation()
                    session.host.progress(y, of: header.frame.size.height)
                }
                try prepare(y)
                write(y, part, into: surface)
                done += 1
            }
        } catch {
            close()
            guard error.code == .truncated, request.wantsPartial, done > 0 else { throw error }
            return .partial(PixelRect(x: 0, y: 0, width: part.width, height: done))
        }
        guard let run, run.scans.isTruncated else { return .complete }
        if request.wantsPartial { return .partial(PixelRect(part.size)) }
        throw .truncated("the image ends within its scans")
    }

    /// The number of rows between two polls.
    private static let pollInterval = 64

    private func begin() throws(CoderError) {
        let frame = header.frame
        let only = onlyScan
        let keepsAll = only == nil && frame.process == .lossless
        let stores = only == nil && !keepsAll
        let bytes = frame.planeBytes(keepsAll: keepsAll) + (stores ? frame.coefficientBytes : 0)
        try session.host.reserve(bytes: bytes)
        reserved = bytes
        var run = Run(
            scans: StoredScans(frame, holdsCoefficients: stores), planes: frame.planes(keepsAll: keepsAll),
            rows: frame.components.map { _ in Array(repeating: 0, count: frame.size.width) })
        if let only {
            run.scan = try ScanDecoder(frame, only, header.tables, source)
            try run.scans.latch(only, header.tables)
        } else {
            try run.scans.readAll(header, source, session, &run.planes)
        }
        self.run = run
    }

    /// Decodes rows of MCUs until row `y` can be written.
    private func prepare(_ y: Int) throws(CoderError) {
        let frame = header.frame
        let current = y / frame.rowHeight
        let needed = upsamplings.contains { $0.needsNeighbors } ? min(current + 1, frame.rows - 1) : current
        guard var run, run.next <= needed else { return }
        // The copy is the only reference to the planes.
        self.run = nil
        defer { self.run = run }
        while run.next <= needed {
            if run.next % Self.pollInterval == 0 { try session.host.checkCancellation() }
            if run.scan == nil {
                run.scans.transform(run.next, into: &run.planes)
            } else if frame.process == .lossless {
                try run.scan?.losslessRow(run.next, into: &run.planes)
            } else {
                try run.scan?.sampleRow(
                    run.next, into: &run.planes, run.scans.divisors, transforms: run.next + 2 > current)
            }
            run.next += 1
        }
    }

    private func write(_ y: Int, _ part: PixelRect, into surface: borrowing Surface) {
        guard var run else { return }
        self.run = nil
        var rows: [SampleRow] = []
        for (index, component) in header.frame.components.enumerated() {
            let (upsampling, shift) = (upsamplings[index], run.scans.shifts[index])
            if shift == 0, let start = upsampling.place(y, in: run.planes[index]) {
                rows.append(SampleRow(samples: run.planes[index].samples, start: start))
                continue
            }
            upsampling.fill(&run.rows[index], y, from: run.planes[index], component)
            if shift > 0 { for x in run.rows[index].indices { run.rows[index][x] <<= UInt16(shift) } }
            rows.append(SampleRow(samples: run.rows[index], start: 0))
        }
        surface.withMutableRow(y - part.y) { target in
            colors.write(rows, part.x..<part.x + part.width, into: &target)
        }
        self.run = run
    }
}
