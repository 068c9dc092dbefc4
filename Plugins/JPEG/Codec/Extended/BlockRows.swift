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
        for column in 0..<header.columns {
            _ = try begin(1)
            for (number, part) in header.parts.enumerated() {
                let component = frame.components[part.component]
                let (across, down) = header.isInterleaved ? (component.across, component.down) : (1, 1)
                let columns = planes[part.component].columns
                var block = planes[part.component].values.mutableSpan
                for place in 0..<across * down {
                    let (x, y) = (column * across + place % across, row * down + place / across)
                    let at = 64 * (y * columns + x)
                    let zigzag = order.span
                    switch (frame.process == .sequential, header.first == 0, header.high == 0) {
                    case (true, _, _): sequentialBlock(number, dc[number], ac[number], zigzag, &block, at: at)
                    case (_, true, true): firstMean(number, dc[number], &block, at: at)
                    case (_, true, false): nextMean(&block, at: at)
                    case (_, false, true): firstBand(ac[number], zigzag, &block, at: at)
                    case (_, false, false): nextBand(ac[number], zigzag, &block, at: at)
                    }
                }
            }
        }
        try reader.check()
    }
}
