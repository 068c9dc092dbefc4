import CoderPluginKit
import ImageModel

/// The coefficients of one component.
struct CoefficientPlane {
    /// The blocks of a row.
    let columns: Int
    var values: [Int16]

    init(columns: Int, rows: Int) {
        self.columns = columns
        values = Array(repeating: 0, count: 64 * columns * rows)
    }
}

extension ScanDecoder {
    /// Decodes a row of MCUs of a sequential scan with all components into the planes.
    ///
    /// - Parameter transforms: whether the samples are needed.
    /// - Throws: `.corrupt`, `.truncated`, `.inputOutput`.
    mutating func sampleRow(
        _ row: Int, into planes: inout [SamplePlane], _ divisors: [[Int32]], transforms: Bool
    ) throws(CoderError) {
        let order = ScanTables.zigzag
        var block = [Int16](repeating: 0, count: 64)
        for column in 0..<header.columns {
            _ = try begin(1)
            for (number, part) in header.parts.enumerated() {
                let component = frame.components[part.component]
                let table = divisors[part.component]
                for place in 0..<component.across * component.down {
                    for index in block.indices { block[index] = 0 }
                    var coefficients = block.mutableSpan
                    sequentialBlock(number, dc[number], ac[number], order.span, &coefficients, at: 0)
                    guard transforms else { continue }
                    let (x, y) = (place % component.across, place / component.across)
                    let width = planes[part.component].width
                    let at = planes[part.component].offset((row * component.down + y) * 8)
                    var samples = planes[part.component].samples.mutableSpan
                    InverseTransform.transform(
                        block.span, at: 0, table.span, into: &samples,
                        at: at + (column * component.across + x) * 8, width: width)
                }
            }
        }
        try reader.check()
    }

    /// Decodes a row of MCUs of any scan into coefficients.
    ///
    /// - Throws: `.corrupt`, `.truncated`, `.inputOutput`.
    mutating func coefficientRow(_ row: Int, into planes: inout [CoefficientPlane]) throws(CoderError) {
        let order = ScanTables.zigzag
        guard header.isInterleaved else {
            let component = header.parts[0].component
            let start = row * planes[component].columns
            var block = planes[component].values.mutableSpan
            for column in 0..<header.columns {
                _ = try begin(1)
                coefficients(0, dc.first, ac.first, order.span, &block, at: 64 * (start + column))
            }
            return try reader.check()
        }
        for column in 0..<header.columns {
            _ = try begin(1)
            for (number, part) in header.parts.enumerated() {
                let component = frame.components[part.component]
                let columns = planes[part.component].columns
                let codes = (dc: dc.isEmpty ? nil : dc[number], ac: ac.isEmpty ? nil : ac[number])
                var block = planes[part.component].values.mutableSpan
                for place in 0..<component.across * component.down {
                    let x = column * component.across + place % component.across
                    let y = row * component.down + place / component.across
                    coefficients(number, codes.dc, codes.ac, order.span, &block, at: 64 * (y * columns + x))
                }
            }
        }
        try reader.check()
    }

    /// Reads the coefficients that the scan has of a block; the tables are those of the scan.
    @inline(__always)
    private mutating func coefficients(
        _ part: Int, _ dc: HuffmanTable?, _ ac: HuffmanTable?, _ zigzag: Span<UInt8>,
        _ block: inout MutableSpan<Int16>, at start: Int
    ) {
        if let dc, let ac {
            sequentialBlock(part, dc, ac, zigzag, &block, at: start)
        } else if let dc {
            firstMean(part, dc, &block, at: start)
        } else if let ac {
            if header.high == 0 {
                firstBand(ac, zigzag, &block, at: start)
            } else {
                nextBand(ac, zigzag, &block, at: start)
            }
        } else {
            nextMean(&block, at: start)
        }
    }
}
