import CoderPluginKit
import ImageModel

/// The header of one scan.
///
///     FF DA len | count 1 | id 1, tables 4+4 bits | … | first 1 | last 1 | high 4 bits, low 4 bits
///
/// - Source: ITU-T T.81 B.2.3.
struct ScanHeader {
    struct Part {
        /// The number of the component in the frame.
        let component: Int
        /// The numbers of the tables.
        let dc, ac: Int
    }

    let parts: [Part]
    /// Coefficients in the order of the file; `first` is the predictor of a lossless image.
    let first, last: Int
    /// The lowest bit of earlier scans; 0 for the first scan of these coefficients.
    let high: Int
    /// The lowest bit of this scan; the bits that a lossless image leaves out.
    let low: Int
    /// The position of the data.
    let data: Int
    /// The MCUs.
    let columns, rows: Int

    var isInterleaved: Bool { parts.count > 1 }

    /// - Throws: `.corrupt`.
    init(_ segment: JPEGSegment, _ source: JPEGSource, _ frame: ExtendedFrame) throws(CoderError) {
        let body = try source.bytes(segment.body)
        let count = Int(body.first ?? 0)
        guard 1...4 ~= count, body.count >= 4 + 2 * count else {
            throw .corrupt("invalid scan header", at: segment.bytes.lowerBound)
        }
        var parts: [Part] = []
        for number in 0..<count {
            let (id, numbers) = (body[1 + 2 * number], body[2 + 2 * number])
            guard let component = frame.components.firstIndex(where: { $0.id == id }),
                !parts.contains(where: { $0.component == component }), numbers >> 4 < 4, numbers & 15 < 4
            else { throw .corrupt("a scan names an invalid component", at: segment.bytes.lowerBound) }
            parts.append(Part(component: component, dc: Int(numbers >> 4), ac: Int(numbers & 15)))
        }
        self.parts = parts
        let rest = 1 + 2 * count
        (first, last) = (Int(body[rest]), Int(body[rest + 1]))
        (high, low) = (Int(body[rest + 2] >> 4), Int(body[rest + 2] & 15))
        data = segment.bytes.upperBound
        if count > 1 {
            (columns, rows) = (frame.columns, frame.rows)
        } else {
            let size = frame.components[parts[0].component].size
            columns = (size.width + frame.side - 1) / frame.side
            rows = (size.height + frame.side - 1) / frame.side
        }
        guard isValid(for: frame) else { throw .corrupt("invalid scan parameters", at: segment.bytes.lowerBound) }
    }

    private func isValid(for frame: ExtendedFrame) -> Bool {
        switch frame.process {
        case .lossless: return 1...7 ~= first && last == 0 && high == 0 && low < frame.precision
        // Writers fill the fields of sequential scans with anything; the library ignores them, too.
        case .sequential: return true
        case .progressive:
            let isBand = first == 0 ? last == 0 : last >= first && last < 64 && parts.count == 1
            return isBand && low <= 13 && (high == 0 || high == low + 1)
        }
    }
}
