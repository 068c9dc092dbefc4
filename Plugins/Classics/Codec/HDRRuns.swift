import CoderPluginKit
import ImageModel

/// The two ways in which Radiance packs a row.
enum HDRRuns {
    /// The widths that can be packed sample by sample.
    private static let widths = 8...0x7fff

    /// Decodes a row and returns the number of its bytes; nil if bytes are missing.
    ///
    /// - Parameter pixels: receives four bytes for each pixel.
    static func decode(_ bytes: RawSpan, width: Int, into pixels: inout [UInt8]) throws(CoderError) -> Int? {
        guard bytes.byteCount >= 4 else { return nil }
        let isPacked =
            widths.contains(width) && bytes.byte(at: 0) == 2 && bytes.byte(at: 1) == 2 && bytes.byte(at: 2) < 128
        guard isPacked else { return try decodeOld(bytes, width: width, into: &pixels) }
        guard Int(bytes.byte(at: 2)) << 8 | Int(bytes.byte(at: 3)) == width else {
            throw .corrupt("a row states another width than the header")
        }
        var at = 4
        var target = pixels.mutableSpan
        for channel in 0..<4 {
            var x = 0
            while x < width {
                guard at < bytes.byteCount else { return nil }
                let code = Int(bytes.byte(at: at))
                let (count, isRun) = code > 128 ? (code - 128, true) : (code, false)
                guard count > 0, count <= width - x else { throw .corrupt("a run is longer than its row") }
                guard bytes.byteCount - at > (isRun ? 1 : count) else { return nil }
                var place = 4 * x + channel
                if isRun {
                    let value = bytes.byte(at: at + 1)
                    for _ in 0..<count {
                        target[place] = value
                        place &+= 4
                    }
                } else {
                    for number in 0..<count {
                        target[place] = bytes.byte(at: at &+ 1 &+ number)
                        place &+= 4
                    }
                }
                at += isRun ? 2 : 1 + count
                x += count
            }
        }
        return at
    }

    /// Decodes pixels of four bytes; 1, 1, 1, n repeats the previous pixel n times, with more digits in a row.
    private static func decodeOld(
        _ bytes: RawSpan, width: Int, into pixels: inout [UInt8]
    ) throws(CoderError) -> Int? {
        var (at, x, shift) = (0, 0, 0)
        while x < width {
            guard bytes.byteCount - at >= 4 else { return nil }
            let isRepeat = (0..<3).allSatisfy { bytes.byte(at: at + $0) == 1 }
            if isRepeat {
                let count = Int(bytes.byte(at: at + 3)) << shift
                guard x > 0, count <= width - x else { throw .corrupt("a run is longer than its row") }
                for place in 4 * x..<4 * (x + count) { pixels[place] = pixels[place - 4] }
                x += count
                shift += 8
                guard shift <= 24 else { throw .corrupt("a run has too many digits") }
            } else {
                for place in 0..<4 { pixels[4 * x + place] = bytes.byte(at: at + place) }
                x += 1
                shift = 0
            }
            at += 4
        }
        return at
    }
}
