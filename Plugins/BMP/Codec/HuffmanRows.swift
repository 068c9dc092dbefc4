import CoderPluginKit
import ImageModel

/// Reads rows of black and white pixels in Huffman codes, one dimension, high bit first.
///
/// Every row ends with an end-of-line code; its missing pixels are white.
///
/// - Source: ITU-T T.4 (07/2003), 4.1; OS/2 Presentation Manager, `BCA_HUFFMAN1D`.
struct HuffmanRows {
    private let source: ByteSource
    private let bits: Int
    private var position = 0

    init(_ source: ByteSource) {
        self.source = source
        bits = source.available * 8
    }

    /// Eleven or more zeros and a 1.
    private static let zerosOfEnd = 11

    /// Returns the lengths of the runs of a row: white, black, white …; their sum is at most `width`.
    ///
    /// - Throws: `.truncated`, `.corrupt`.
    mutating func nextRow(width: Int) throws(CoderError) -> [Int] {
        skipEnds()
        guard position < bits else { throw .truncated("rows of the image are missing") }
        var (runs, filled): ([Int], Int) = ([], 0)
        while filled < width, !isAtEnd {
            let run = try nextRun(runs.count % 2 == 0 ? .white : .black)
            runs.append(min(run, width - filled))
            filled += runs[runs.count - 1]
        }
        // The end of a row is a code of its own; the end of the data is not.
        if filled < width, position + Self.zerosOfEnd >= bits { throw .truncated("a row of the image ends early") }
        return runs
    }

    private mutating func nextRun(_ codes: HuffmanCodes) throws(CoderError) -> Int {
        var length = 0
        while true {
            var (code, found): (Int, Int?) = (1, nil)
            for _ in 0..<HuffmanCodes.mostBits where found == nil {
                guard position < bits else { throw .truncated("a row of the image ends early") }
                code = code << 1 | bit(position)
                position += 1
                found = codes.run(code)
            }
            guard let found else { throw .corrupt("an invalid Huffman code") }
            (length, _) = length.addingReportingOverflow(found)
            if found < 64 { return length }
        }
    }

    private func bit(_ index: Int) -> Int { Int(source[index / 8] >> (7 - index % 8) & 1) }

    /// Whether an end-of-line code or nothing but zeros follows.
    private var isAtEnd: Bool {
        guard position + Self.zerosOfEnd <= bits else { return !(position..<bits).contains { bit($0) == 1 } }
        return !(position..<position + Self.zerosOfEnd).contains { bit($0) == 1 }
    }

    private mutating func skipEnds() {
        while position + Self.zerosOfEnd < bits, isAtEnd {
            while position < bits, bit(position) == 0 { position += 1 }
            position += 1
        }
    }
}
